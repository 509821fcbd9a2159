"""Where reports and figures are written: paths that are checked before the work begins."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from advmdp.errors import InvalidInput
from advmdp.files.atomic import NOT_A_FILE, takes_a_file

FIGURE_FORMATS = (".png", ".pdf", ".svg")


def checked_path(path: str | os.PathLike[str], endings: Sequence[str], name: str = "path") -> Path:
    """A writable path with one of the endings; missing folders are created.

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
        with target.open("ab"):  # the only test of permission that works on every file system
            pass
        if is_new:
            target.unlink()
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise InvalidInput(
            f"cannot write '{target}' ({reason}); choose another place", field=name
        ) from None
    return target


def checked_figure_path(path: str | os.PathLike[str], name: str = "path") -> Path:
    """A writable path for a figure; missing folders are created.

    Call it before a long run, so that a wrong path is rejected at once.

    >>> checked_figure_path("regret.jpg", "output")
    Traceback (most recent call last):
    ...
    advmdp.errors.InvalidInput: output: 'regret.jpg' should end in .png, .pdf, .svg
    """
    return checked_path(path, FIGURE_FORMATS, name)
