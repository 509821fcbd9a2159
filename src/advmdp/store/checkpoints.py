"""Checkpoints from which a run is resumed: two files, written in turn.

Each write replaces the older file, atomically; the newer one stays until the next is complete.
Runs are deterministic, so every checkpoint of a run is valid, whichever process wrote it: a run
resumed from any of them ends with the same bytes.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from advmdp.errors import AdvMDPError, StorageFailure
from advmdp.files.archive import JSON, read_archive, write_archive

KIND = "checkpoint of a run"
LONGEST = 1e12  # seconds; a duration that a file claims is added to
log = logging.getLogger(__name__)


class Checkpoint(NamedTuple):
    """A checkpoint that was read back."""

    episodes: int
    seconds: float
    """Time spent on these episodes, over all sittings."""
    snapshot: dict[str, NDArray[Any]]


class Checkpoints:
    """The checkpoint files in the working folder of one run."""

    def __init__(self, folder: Path, run_hash: str) -> None:
        self.folder, self._hash = folder, run_hash
        self._next, self._other = (folder / f"checkpoint-{letter}.bin" for letter in "ab")

    def newest(self) -> Checkpoint | None:
        """The latest complete checkpoint; damaged files are logged and skipped."""
        return next(iter(self.newest_first()), None)

    def newest_first(self) -> list[Checkpoint]:
        """The complete checkpoints; the next ``write`` replaces the last of two."""
        found = [
            (checkpoint, path)
            for path in (self._next, self._other)
            if (checkpoint := self._read(path))
        ]
        found.sort(key=lambda pair: pair[0].episodes, reverse=True)
        if found and found[0][1] == self._next:
            self._swap()
        return [checkpoint for checkpoint, _ in found]

    def write(self, episodes: int, seconds: float, snapshot: Mapping[str, NDArray[Any]]) -> None:
        """Replace the older checkpoint by a new one."""
        header: dict[str, JSON] = {"hash": self._hash, "episodes": episodes, "seconds": seconds}
        write_archive(self._next, KIND, header, snapshot)
        self._swap()

    def _swap(self) -> None:
        self._next, self._other = self._other, self._next

    def _read(self, path: Path) -> Checkpoint | None:
        if not path.exists():
            return None
        try:
            header, snapshot = read_archive(path, KIND)
        except StorageFailure:
            raise
        except AdvMDPError as problem:
            log.warning("checkpoint skipped: %s", problem)
            return None
        if header.get("hash") != self._hash:
            log.warning("checkpoint skipped: %s belongs to another spec", path)
            return None
        episodes: Any = header.get("episodes")
        seconds: Any = header.get("seconds")
        if not (_is_count(episodes) and _is_duration(seconds)):
            log.warning("checkpoint skipped: %s does not say where its run was", path)
            return None
        return Checkpoint(episodes, seconds, snapshot)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _is_duration(value: Any) -> bool:
    return type(value) in (int, float) and 0.0 <= value < LONGEST
