"""Checkpoints of a run that is being played: two files, written in turn.

The older one is overwritten, atomically; the newer one stays until the next is whole.  Every
checkpoint of a run is a right one, whoever wrote it: runs are deterministic, and what is resumed
from any of them ends with the same bytes.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from advmdp.archive import JSON, read_archive, write_archive
from advmdp.errors import AdvMDPError, StorageFailure

KIND = "checkpoint of a run"
log = logging.getLogger(__name__)


class Kept(NamedTuple):
    """A checkpoint that was read back."""

    episodes: int
    seconds: float
    """Time spent on these episodes, over all sittings."""
    snapshot: dict[str, NDArray[Any]]


class Checkpoints:
    """The checkpoints in the working folder of one run."""

    def __init__(self, folder: Path, run_hash: str) -> None:
        self._hash = run_hash
        self._next, self._other = (folder / f"checkpoint-{letter}.bin" for letter in "ab")

    def newest(self) -> Kept | None:
        """The last whole checkpoint; what is damaged is said in the log and passed over."""
        found = [(kept, path) for path in (self._next, self._other) if (kept := self._read(path))]
        if not found:
            return None
        kept, path = max(found, key=lambda pair: pair[0].episodes)
        if path == self._next:
            self._turn()
        return kept

    def write(self, episodes: int, seconds: float, snapshot: Mapping[str, NDArray[Any]]) -> None:
        """Add a checkpoint in the place of the older one."""
        header: dict[str, JSON] = {"hash": self._hash, "episodes": episodes, "seconds": seconds}
        write_archive(self._next, KIND, header, snapshot)
        self._turn()

    def _turn(self) -> None:
        self._next, self._other = self._other, self._next

    def _read(self, path: Path) -> Kept | None:
        if not path.exists():
            return None
        try:
            header, snapshot = read_archive(path, KIND)
        except StorageFailure:
            raise
        except AdvMDPError as problem:
            log.warning("checkpoint passed over: %s", problem)
            return None
        if header["hash"] != self._hash:
            log.warning("checkpoint passed over: %s belongs to another spec", path)
            return None
        return Kept(header["episodes"], header["seconds"], snapshot)
