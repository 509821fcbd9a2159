"""Files that reports are written to: checked before the work, replaced in one step after it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from advmdp.archive import NOT_A_FILE, takes_a_file
from advmdp.errors import InvalidInput


def checked_path(path: str | os.PathLike[str], endings: Sequence[str], name: str = "path") -> Path:
    """A path with one of the endings that can be written to; missing folders are made.

    >>> checked_path("report.txt", [".html"], "output")
    Traceback (most recent call last):
    ...
    advmdp.errors.InvalidInput: output: 'report.txt' should end in .html
    """
    target = Path(path)
    if target.suffix.lower() not in endings:
        raise InvalidInput(f"'{target}' should end in {', '.join(endings)}", field=name)
    if not takes_a_file(target):
        raise InvalidInput(f"'{target}' {NOT_A_FILE}; choose another place", field=name)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        is_new = not target.exists()
        with target.open("ab"):  # the only test of permission that no file system fools
            pass
        if is_new:
            target.unlink()
    except OSError as problem:
        raise _cannot_write(target, problem, name) from None
    return target


@contextmanager
def replacing(target: Path, name: str = "path") -> Iterator[Path]:
    """A file beside ``target`` to write to, which takes its place at the end if nothing failed.

    A reader sees the old content or the new one, never half of it.
    """
    target = target.resolve()  # a link stays a link
    draft = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        yield draft
        os.replace(draft, target)
    except OSError as problem:
        raise _cannot_write(target, problem, name) from None
    finally:
        with suppress(OSError):  # it has taken its place, or the disk refuses this as well
            draft.unlink()


def _cannot_write(target: Path, problem: OSError, name: str) -> InvalidInput:
    reason = problem.strerror or str(problem)
    return InvalidInput(f"cannot write '{target}' ({reason}); choose another place", field=name)
