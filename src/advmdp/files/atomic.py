"""Files that are replaced in one step: a reader finds the old content or the new one, never a part.

The new content goes to a hidden file in the same folder, reaches the disk, and only then takes the
name.  A process that is killed meanwhile can leave the hidden ``.partial`` file behind; nothing
reads it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from advmdp.errors import StorageFailure

NOT_A_FILE = "exists and is not a plain file"


def write_atomically(path: str | Path, pieces: Iterable[bytes]) -> None:
    """Write a file that consists of these pieces.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(f"{folder}/a.txt", [b"one ", b"two"])
    ...     [(file.name, file.read_text()) for file in Path(folder).iterdir()]
    [('a.txt', 'one two')]
    """
    with replacing(path) as draft, open(draft, "xb") as file:
        file.writelines(pieces)


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a hidden path to write to; when the block ends, the file there replaces ``path``.

    If the block raises, ``path`` stays as it was.  A refusal of the system, in the block or
    afterwards, becomes a ``StorageFailure``.
    """
    if not takes_a_file(path):
        raise StorageFailure(f"{path}: {NOT_A_FILE}; give another path")
    try:
        target = Path(path).resolve()  # a link keeps pointing at the file
    except (OSError, RuntimeError):  # links in a circle; no working folder to begin from
        raise StorageFailure(f"{path}: leads nowhere; give another path") from None
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}.partial")
    try:
        yield draft
        _sync(draft, os.O_RDWR)
        os.replace(draft, target)
    except BaseException as error:
        with suppress(OSError):  # a disk that refused the file may refuse its removal as well
            draft.unlink()
        if isinstance(error, OSError) and not isinstance(error, StorageFailure):
            raise StorageFailure(
                f"{path}: cannot be written ({error.strerror or error}); "
                "what was there is untouched"
            ) from error
        raise
    sync_folder(target.parent)


def takes_a_file(path: str | os.PathLike[str]) -> bool:
    """Whether ``path`` is free or a plain file; a folder, a device or a pipe is not replaced."""
    return not os.path.exists(path) or os.path.isfile(path)


def sync_folder(folder: Path) -> None:
    """Make a new name in the folder survive a loss of power, where folders can be synchronised."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows has no such operation
        return
    try:
        _sync(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise StorageFailure(
            f"{folder}: the file is written, but its name may not survive a loss of power "
            f"({error.strerror}); check the folder's permissions"
        ) from error


def _sync(path: Path, flags: int) -> None:
    """Wait until what was written to ``path`` is on the disk."""
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
