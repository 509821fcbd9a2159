"""The lock of a run: at most one process plays it.

The operating system releases the lock when its holder dies.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from advmdp.plain_files import open_plain

LOCK = "lock"


class RunLock:
    """The exclusive right to play one run of a store; held until ``release``."""

    def __init__(self, folder: Path, descriptor: int) -> None:
        self.folder = folder
        """The working folder of the run: its checkpoints while it is played."""
        self._descriptor = descriptor

    @classmethod
    def acquire(cls, folder: Path) -> RunLock | None:
        """Lock the run with that working folder; None if another process holds the lock."""
        while True:
            folder.mkdir(parents=True, exist_ok=True)
            try:
                descriptor = open_plain(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
            except FileNotFoundError:  # a holder that finished removed the folder meanwhile
                continue
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # The previous holder may have removed the file: then this lock protects nothing.
                if os.path.samestat(os.fstat(descriptor), os.stat(folder / LOCK)):
                    return cls(folder, descriptor)
            except BlockingIOError:
                os.close(descriptor)
                return None
            except FileNotFoundError:
                pass
            os.close(descriptor)

    def release(self) -> None:
        """Give up the lock."""
        os.close(self._descriptor)


def is_locked(folder: Path) -> bool:
    """Whether a process is playing the run with that working folder."""
    try:
        descriptor = open_plain(folder / LOCK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
