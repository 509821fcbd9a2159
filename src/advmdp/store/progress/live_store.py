"""A store that is read again and again while sweeps write into it, at little cost each time.

Finished runs never change, so each is read once; of the runs under way only what is new is read.  A
reading takes a bounded time however large the store is, and goes on where it stopped the next time.
Nothing is written, and no lock is held.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from advmdp.errors import AdvMDPError, DamagedFile
from advmdp.evaluation.schema import CUT, RUNNING
from advmdp.files.plain import read_plain
from advmdp.store import manifest as manifests
from advmdp.store.folder import RUNS, WORK, open_folder
from advmdp.store.progress.announcement import AnnouncedRun, announced_runs
from advmdp.store.progress.progress_note import NAME as NOTE
from advmdp.store.progress.progress_note import OPTIONAL, TOTALS, ProgressNote, read_note
from advmdp.store.run_lock import is_locked
from advmdp.store.store import CURVES

READING_SECONDS = 0.5  # of one ``refresh``
SETTLED_SECONDS = 2.0  # after which a folder's time of change tells whether it has changed again
MOST_NAMES = 200_000  # runs of a store that are looked at
MOST_UNDER_WAY = 5_000  # unfinished runs that are looked at
MOST_CURVES = 5_000  # finished runs whose curves are kept in memory
MOST_POINTS = 5_000  # of a curve
LARGEST_MANIFEST, LARGEST_CURVES = 2**22, 2**26  # bytes

Curves = dict[str, NDArray[np.float64]]
"""``episodes``, ``TOTALS`` and, where the learner has them, ``OPTIONAL``."""


class LiveRun(NamedTuple):
    """A run that has begun."""

    manifest: dict[str, Any]
    """With the status as it is: ``cut`` where no process plays an unfinished run."""
    curves: Curves | None = None
    """At the evaluation points so far."""
    note: ProgressNote | None = None
    """Of a run under way."""


class LiveStore:
    """The runs of a folder, as of the last ``refresh``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem: str | None = None
        """Why the store cannot be read, if it cannot."""
        self.unread = 0
        """Finished runs that the next ``refresh`` goes on with."""
        self.damaged: dict[str, str] = {}
        self.waiting: list[AnnouncedRun] = []
        """What sweeps that are under way have not begun yet."""
        self._finished: dict[str, LiveRun] = {}
        self._under_way: dict[str, LiveRun] = {}
        self._damaged_at: dict[str, int] = {}
        self._stamps: dict[str, tuple[int, int]] = {}
        self._names: list[str] = []
        self._scanned: tuple[int, float] | None = None
        self._n_curves = 0

    @property
    def runs(self) -> Iterator[LiveRun]:
        """All runs that have begun, the unfinished ones first."""
        yield from self._under_way.values()
        yield from self._finished.values()

    def refresh(self) -> None:
        """Look at the folder again; what cannot be read is told in ``problem`` or ``damaged``."""
        try:
            open_folder(self.path, create=False)
            self._read_finished(time.monotonic() + READING_SECONDS)
            self._read_under_way()
            begun = self._finished.keys() | self._under_way.keys()
            self.waiting = [one for one in announced_runs(self.path) if one.run not in begun]
            self.problem = None
        except (AdvMDPError, OSError) as problem:
            self.problem = str(problem)

    # ------------------------------------------------------------------ finished runs

    def _read_finished(self, until: float) -> None:
        self._list_finished()
        for name, place in list(self._damaged_at.items()):
            if _place(self.path / RUNS / name) != place:  # it was moved away, or played again
                del self._damaged_at[name], self.damaged[name]
        known = self._finished.keys() | self._damaged_at.keys()
        new = [name for name in self._names if name not in known]
        self.unread = len(new)
        for name in new:
            self._finish(name)
            self.unread -= 1
            if time.monotonic() > until:
                return

    def _list_finished(self) -> None:
        """The names of the finished runs, unless the folder says that it has not changed."""
        folder = self.path / RUNS
        if not folder.is_dir():  # the store is being created
            return
        changed = os.stat(folder).st_mtime_ns
        if self._scanned is not None and self._scanned[0] == changed:
            settled = self._scanned[1] - changed / 1e9 > SETTLED_SECONDS
            if settled:
                return
        self._scanned = changed, time.time()
        self._names = _names(folder)
        for gone in self._finished.keys() - set(self._names):
            self._n_curves -= self._finished.pop(gone).curves is not None

    def _finish(self, name: str) -> None:
        folder = self.path / RUNS / name
        try:
            _check_size(folder / manifests.NAME, LARGEST_MANIFEST)
            manifest = manifests.read_own(folder)
            curves = None
            if self._n_curves < MOST_CURVES:
                curves = _curves(folder / CURVES, manifest["files"].get(CURVES))
        except manifests.MissingManifest:
            return  # it is being removed
        except (AdvMDPError, OSError, pl.exceptions.PolarsError) as problem:
            self.damaged[name] = str(problem)
            self._damaged_at[name] = _place(folder)
            return
        self._n_curves += curves is not None
        self._finished[name] = LiveRun(manifest, curves)

    # ------------------------------------------------------------------ runs under way

    def _read_under_way(self) -> None:
        folder = self.path / WORK
        there = [n for n in _names(folder) if n not in self._finished] if folder.is_dir() else []
        for gone in self._under_way.keys() - set(there):
            del self._under_way[gone]
        for gone in self.damaged.keys() - self._damaged_at.keys() - set(there):
            del self.damaged[gone]
        for name in there[:MOST_UNDER_WAY]:
            self._look_at(name)

    def _look_at(self, name: str) -> None:
        folder = self.path / WORK / name
        stamps = _stamp(folder / manifests.NAME), _stamp(folder / NOTE)
        before = self._under_way.get(name)
        try:
            if before is None or self._stamps.get(name, (0, 0))[0] != stamps[0]:
                _check_size(folder / manifests.NAME, LARGEST_MANIFEST)
                before = LiveRun(manifests.read_own(folder))
                self.damaged.pop(name, None)
            elif self._stamps[name][1] == stamps[1] and before.manifest["status"] != RUNNING:
                return
        except manifests.MissingManifest:
            return  # it is about to begin, or is being removed
        except (AdvMDPError, OSError) as problem:
            self.damaged[name] = str(problem)
            self._under_way.pop(name, None)
            return
        manifest = before.manifest
        note = before.note
        if note is None or self._stamps.get(name, (0, 0))[1] != stamps[1]:
            note = read_note(folder, manifest["hash"])
        if note is not None and note.episodes > manifest["n_episodes"]:
            note = None
        if manifest["status"] == RUNNING and not is_locked(folder):
            manifest = {**manifest, "status": CUT}
        self._stamps[name] = stamps
        self._under_way[name] = LiveRun(manifest, None if note is None else note.curves, note)


def _curves(path: Path, checksum: str | None) -> Curves:
    """The curves of a finished run, at most ``MOST_POINTS`` of each."""
    _check_size(path, LARGEST_CURVES)
    data = read_plain(path)
    if manifests.checksum(data) != checksum:
        raise DamagedFile(f"{path}: the checksum does not match")
    names = ("episodes", *TOTALS, *OPTIONAL)
    frame = pl.read_parquet(io.BytesIO(data), n_rows=MOST_POINTS)
    curves = {
        name: frame[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
        for name in names
        if name in frame.columns
    }
    for name in ("episodes", *TOTALS):
        if name not in curves or not np.isfinite(curves[name]).all():
            raise DamagedFile(f"{path}: {name} is not a curve")
    return {name: values for name, values in curves.items() if np.isfinite(values).all()}


def _names(folder: Path) -> list[str]:
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.startswith("."):
                found.append(entry.name)
            if len(found) >= MOST_NAMES:
                break
    return sorted(found)


def _check_size(path: Path, largest: int) -> None:
    try:
        size = os.stat(path).st_size
    except FileNotFoundError:
        raise manifests.MissingManifest(f"{path}: missing") from None
    if size > largest:
        raise DamagedFile(f"{path}: {size:,} bytes are more than a run writes")


def _place(folder: Path) -> int:
    """The number of a folder on its disk, which a new one of the same name does not have."""
    try:
        return os.stat(folder).st_ino
    except OSError:
        return 0


def _stamp(path: Path) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
