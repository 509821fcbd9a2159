"""A folder of runs.

    store.json                    the schema version
    log.txt                       one line per event
    runs/<id>/manifest.json       spec, hash, versions, machine, times, status, final figures
    runs/<id>/curves.parquet      the curves
    work/<id>/                    a run in progress or interrupted: manifest, checkpoints, lock
    damaged/                      runs that failed their checksum, moved out of the way

A finished run is written under a temporary name and then renamed, in one step; it is never written
again.  Any number of sweeps and readers can use one store at the same time.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from advmdp.display.shown import Shown
from advmdp.errors import DamagedFile, InvalidInput, StorageFailure
from advmdp.evaluation.schema import CUT, FAILED, FINISHED, RUNNING
from advmdp.files.atomic import sync_folder, write_atomically
from advmdp.files.plain import read_plain
from advmdp.store import manifest as manifests
from advmdp.store.checkpoints import Checkpoints
from advmdp.store.folder import (
    PARTIAL,
    REMOVED,
    RUNS,
    SUBFOLDERS,
    WORK,
    make_folder,
    open_folder,
    remove_leftovers,
    storage_failure,
)
from advmdp.store.identity import Identity
from advmdp.store.outcome import Outcome
from advmdp.store.run_lock import RunLock, is_locked

if TYPE_CHECKING:
    import polars as pl

CURVES = "curves.parquet"
log = logging.getLogger(__name__)


class Store(Shown):
    """The runs in a folder.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(folder + "/results", create=True)
    ...     store.runs().height
    0
    """

    def __init__(self, path: str | Path, *, create: bool = False) -> None:
        self.path = Path(path)
        open_folder(self.path, create)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    def _facts(self) -> dict[str, Any]:
        """Numbers of folders, which are counted at once however large the store is."""
        places = ((self.path / name) for name in SUBFOLDERS)
        finished, others = (
            sum(not name.startswith(".") for name in os.listdir(place)) if place.is_dir() else 0
            for place in places
        )
        return {"path": self.path, "finished runs": finished, "under way, cut or failed": others}

    # ------------------------------------------------------------------ writing

    def lock(self, identity: Identity) -> RunLock | None:
        """Lock a run to play it; None if it is finished or another process plays it."""
        folder = self._work(identity)
        try:
            lock = RunLock.acquire(folder)
        except OSError as problem:
            raise storage_failure(folder, problem) from None
        if lock is not None and self.is_finished(identity):
            self.drop(lock)
            return None
        return lock

    def is_finished(self, identity: Identity) -> bool:
        """Whether the store holds the run, undamaged; a damaged run is moved out of the way."""
        folder = self.path / RUNS / identity.run
        if not folder.exists():
            return False
        try:
            manifest = self._checked(folder)
        except DamagedFile as problem:
            aside = self.path / "damaged" / f"{identity.run}-{secrets.token_hex(4)}"
            make_folder(aside.parent)
            try:
                folder.rename(aside)
            except FileNotFoundError:  # another sweep moved it first
                return False
            except OSError as refusal:
                raise storage_failure(aside, refusal) from None
            log.warning("%s; the run is played again, the damaged one is in %s", problem, aside)
            return False
        if manifest["hash"] != identity.hash:
            raise InvalidInput(f"{folder} holds another spec; use another store", field="store")
        return True

    def begin(self, identity: Identity, lock: RunLock) -> None:
        """Record that a run is being played, and remove what a killed writer left behind."""
        remove_leftovers(lock.folder, PARTIAL)
        started, sittings = self._history(lock)
        content = manifests.manifest_of(identity, RUNNING, started=started, sittings=sittings + 1)
        manifests.write(lock.folder, content)

    def finish(self, identity: Identity, lock: RunLock, outcome: Outcome, seconds: float) -> None:
        """Add a finished run to the store, in one step, and remove its working folder."""
        from advmdp.store.frames import curve_file

        started, sittings = self._history(lock)
        curves = curve_file(identity.run, outcome.curves)
        content = manifests.manifest_of(
            identity,
            FINISHED,
            started=started,
            finished=manifests.now(),
            seconds=seconds,
            sittings=sittings,
            figures=outcome.figures,
            files={CURVES: manifests.checksum(curves)},
        )
        target = self.path / RUNS / identity.run
        partial = lock.folder / f".{secrets.token_hex(4)}{PARTIAL}"
        try:
            partial.mkdir()
            write_atomically(partial / CURVES, [curves])
            write_atomically(partial / manifests.NAME, [manifests.encode(content)])
            partial.rename(target)
        except OSError as problem:
            shutil.rmtree(partial, ignore_errors=True)
            if not target.exists():  # otherwise another process stored the same bytes first
                raise StorageFailure(
                    f"{identity.run} cannot be written ({problem.strerror or problem}); "
                    "make room and run the same command again: nothing finished is lost",
                    field="store",
                ) from None
        sync_folder(target.parent)
        self.drop(lock)

    def fail(self, identity: Identity, lock: RunLock, reason: str) -> None:
        """Record why a run could not be played; the next sweep tries again."""
        started, sittings = self._history(lock)
        content = manifests.manifest_of(
            identity, FAILED, started=started, sittings=sittings, reason=reason
        )
        manifests.write(lock.folder, content)
        lock.release()

    def _history(self, lock: RunLock) -> tuple[str, int]:
        """When the run was first started, and how many times since."""
        try:
            old = manifests.read(lock.folder)
        except DamagedFile:
            return manifests.now(), 0
        return old["started"], old["sittings"]

    def drop(self, lock: RunLock) -> None:
        """Remove the working folder of a run and release its lock.

        The folder is renamed first, in one step: a worker that outlives its sweep by a moment may
        still write a checkpoint into it, and a folder that grows cannot be removed.
        """
        aside = lock.folder.with_name(f".{lock.folder.name}.{secrets.token_hex(4)}{REMOVED}")
        with suppress(OSError):
            lock.folder.rename(aside)
        for folder in (aside, lock.folder):
            shutil.rmtree(folder, ignore_errors=True)
        lock.release()

    def remove_left_work(self, identity: Identity) -> None:
        """Remove the working folder of a finished run whose process was killed before it could."""
        if self._work(identity).is_dir():
            self.lock(identity)  # which removes it, unless a process is still about to

    def checkpoints(self, identity: Identity) -> Checkpoints:
        """The checkpoints of a run in progress."""
        return Checkpoints(self._work(identity), identity.hash)

    def _work(self, identity: Identity) -> Path:
        return self.path / WORK / identity.run

    # ------------------------------------------------------------------ reading

    def manifests(self) -> Iterator[dict[str, Any]]:
        """The manifests of all runs, finished or not; damaged ones are logged and skipped."""
        listed: set[str] = set()
        for subfolder in SUBFOLDERS:
            if not (self.path / subfolder).is_dir():  # the store is being created
                continue
            with os.scandir(self.path / subfolder) as entries:
                names = sorted(entry.name for entry in entries if not entry.name.startswith("."))
            for name in names:
                folder = self.path / subfolder / name
                if name in listed:
                    continue  # its process was killed before it removed the working folder
                try:
                    manifest = manifests.read_own(folder)
                except DamagedFile as problem:
                    if subfolder == RUNS or not isinstance(problem, manifests.MissingManifest):
                        log.warning("%s; left out, 'advmdp sweep' plays it again", problem)
                    continue
                if manifest["status"] == RUNNING and not is_locked(folder):
                    manifest["status"] = CUT
                listed.add(name)
                yield manifest

    def manifest(self, run: str) -> dict[str, Any]:
        """The manifest of one run, by its id or by a prefix that only its id has."""
        found = [m for m in self.manifests() if m["run"].startswith(run)]
        exact = [m for m in found if m["run"] == run]
        if len(exact or found) != 1:
            what = f"{len(found)} runs begin" if found else "no run begins"
            more = "give more of its id, " if found else ""
            raise InvalidInput(f"run: {what} with {run!r}; {more}see 'advmdp ls {self.path}'")
        return (exact or found)[0]

    def runs(self) -> pl.DataFrame:
        """One row per run: identity, status, final figures, effort, machine."""
        from advmdp.store.frames import runs_frame

        return runs_frame(self.manifests())

    def curves(self, runs: Any = None) -> pl.DataFrame:
        """One row per run and evaluation point, of all finished runs or of those named."""
        from advmdp.store.frames import curves_frame, runs_frame

        wanted = None if runs is None else set(runs)
        kept = [
            manifest
            for manifest in self.manifests()
            if manifest["status"] == FINISHED and (wanted is None or manifest["run"] in wanted)
        ]
        folders = [self.path / RUNS / manifest["run"] for manifest in kept]
        return curves_frame(self._undamaged(folders), runs_frame(kept))

    def _undamaged(self, folders: list[Path]) -> Iterator[Path]:
        for folder in folders:
            try:
                self._checked(folder)
            except DamagedFile as problem:
                log.warning("%s; left out, 'advmdp sweep' plays it again", problem)
            else:
                yield folder / CURVES

    def _checked(self, folder: Path) -> dict[str, Any]:
        """The manifest of a finished run; ``DamagedFile`` if a file does not match it."""
        manifest = manifests.read(folder)
        for name, expected in manifest["files"].items():
            try:
                data = read_plain(folder / name)
            except OSError as problem:
                raise DamagedFile(f"{folder / name}: {problem.strerror}") from None
            if manifests.checksum(data) != expected:
                raise DamagedFile(f"{folder / name}: the checksum does not match")
        return manifest
