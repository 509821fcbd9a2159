"""The lock of a run: at most one process plays it.

The operating system releases the lock when its holder dies.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from advmdp.files.plain import open_plain

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
                # A reader that asks whether the run is locked (``is_locked``) holds a shared lock
                # for a moment; only a process that plays the run refuses a shared one.
                is_played = not _is_shared(descriptor)
                os.close(descriptor)
                if is_played:
                    return None
                continue
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
        return not _is_shared(descriptor)
    finally:
        os.close(descriptor)


def _is_shared(descriptor: int) -> bool:
    """Whether a shared lock is granted, so that nobody holds the exclusive one."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
