"""Who works on a run: a lock that the operating system releases when its holder dies."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

LOCK = "lock"


class Claim:
    """The exclusive right to play one run of a store; held until ``release``."""

    def __init__(self, folder: Path, descriptor: int) -> None:
        self.folder = folder
        """Where the run keeps its checkpoints while it is played."""
        self._descriptor = descriptor

    @classmethod
    def take(cls, folder: Path) -> Claim | None:
        """Claim the run of that folder; None if somebody else has."""
        while True:
            folder.mkdir(parents=True, exist_ok=True)
            try:
                descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
            except FileNotFoundError:  # the folder went between the two calls: a run was finished
                continue
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # The holder before us may have removed the file: then this lock locks nothing.
                if os.path.samestat(os.fstat(descriptor), os.stat(folder / LOCK)):
                    return cls(folder, descriptor)
            except BlockingIOError:
                os.close(descriptor)
                return None
            except FileNotFoundError:
                pass
            os.close(descriptor)

    def release(self) -> None:
        """Let others have it."""
        os.close(self._descriptor)


def is_claimed(folder: Path) -> bool:
    """Whether somebody is playing the run of that folder now."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
