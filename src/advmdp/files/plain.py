"""Read plain files only: a pipe, a device or a folder in the place of a file is an error.

Opening a pipe waits for its other end, and a device may never end; a file of somebody else's folder
can be either.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

NOT_PLAIN = "not a plain file"


def open_plain(path: str | Path, flags: int = os.O_RDONLY, mode: int = 0o666) -> int:
    """The descriptor of a plain file, or of a link to one; never waits."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, mode)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, NOT_PLAIN, os.fspath(path))
    return descriptor


def read_plain(path: str | Path) -> bytes:
    """The contents of a plain file; ``OSError`` for anything else."""
    with open(open_plain(path), "rb") as file:
        return file.read()
