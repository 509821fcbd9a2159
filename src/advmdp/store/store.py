"""A folder of runs.

    store.json                    the schema version
    log.txt                       what happened, one line each
    runs/<id>/manifest.json       spec, hash, versions, machine, times, status, final figures
    runs/<id>/curves.parquet      the curves
    work/<id>/                    a run being played, or cut: manifest, checkpoints, lock
    damaged/                      what failed its checksum, moved out of the way

A finished run is put together under a temporary name and then renamed, in one step; it is never
written again.  Any number of sweeps and readers may use one store at once.
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

from advmdp.archive import settle_folder, write_atomically
from advmdp.errors import DamagedFile, InvalidInput, StorageFailure
from advmdp.store import manifest as manifests
from advmdp.store.checkpoints import Checkpoints
from advmdp.store.claims import Claim, is_claimed
from advmdp.store.folder import (
    PARTS,
    REMOVED,
    make_folder,
    open_folder,
    refused,
    remove_folders,
)
from advmdp.store.identity import Identity
from advmdp.store.outcome import Outcome, checksum, parquet_of

if TYPE_CHECKING:
    import polars as pl

CURVES = "curves.parquet"
log = logging.getLogger(__name__)


class Store:
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

    # ------------------------------------------------------------------ writing

    def claim(self, identity: Identity) -> Claim | None:
        """The right to play a run, or None: somebody else plays it, or it is finished."""
        folder = self.path / "work" / identity.run
        try:
            claim = Claim.take(folder)
        except OSError as problem:
            raise refused(folder, problem) from None
        if claim is not None and self.is_finished(identity):
            self.drop(claim)
            return None
        return claim

    def is_finished(self, identity: Identity) -> bool:
        """Whether the run is there and whole; a damaged one is moved out of the way."""
        folder = self.path / "runs" / identity.run
        if not folder.exists():
            return False
        try:
            manifest = self._checked(folder)
        except DamagedFile as problem:
            aside = self.path / "damaged" / f"{identity.run}-{secrets.token_hex(4)}"
            make_folder(aside.parent)
            try:
                folder.rename(aside)
            except FileNotFoundError:  # another sweep has moved it already
                return False
            except OSError as refusal:
                raise refused(aside, refusal) from None
            log.warning("%s; it is played again, the damaged one is kept in %s", problem, aside)
            return False
        if manifest["hash"] != identity.hash:
            raise InvalidInput(f"{folder} holds another spec; use another store", field="store")
        return True

    def begin(self, identity: Identity, claim: Claim) -> None:
        """Note that a run is being played, and clear what a killed writer left behind."""
        remove_folders(claim.folder, ".partial")
        started, sittings = self._history(claim)
        content = manifests.manifest_of(
            identity, manifests.RUNNING, started=started, sittings=sittings + 1
        )
        manifests.write(claim.folder, content)

    def finish(self, identity: Identity, claim: Claim, outcome: Outcome, seconds: float) -> None:
        """Put a finished run into the store, in one step, and clear its working folder."""
        started, sittings = self._history(claim)
        curves = parquet_of(identity.run, outcome.curves)
        content = manifests.manifest_of(
            identity,
            manifests.FINISHED,
            started=started,
            finished=manifests.now(),
            seconds=seconds,
            sittings=sittings,
            figures=outcome.figures,
            files={CURVES: checksum(curves)},
        )
        target = self.path / "runs" / identity.run
        partial = claim.folder / f".{secrets.token_hex(4)}.partial"
        try:
            partial.mkdir()
            write_atomically(partial / CURVES, [curves])
            write_atomically(partial / manifests.NAME, [manifests.encode(content)])
            partial.rename(target)
        except OSError as problem:
            shutil.rmtree(partial, ignore_errors=True)
            if not target.exists():  # otherwise somebody was faster, with the same bytes
                raise StorageFailure(
                    f"{identity.run} cannot be written ({problem.strerror or problem}); "
                    "make room and run the same command again: nothing finished is lost",
                    field="store",
                ) from None
        settle_folder(target.parent)
        self.drop(claim)

    def fail(self, identity: Identity, claim: Claim, reason: str) -> None:
        """Note why a run could not be played; the next sweep tries it again."""
        started, sittings = self._history(claim)
        content = manifests.manifest_of(
            identity, manifests.FAILED, started=started, sittings=sittings, reason=reason
        )
        manifests.write(claim.folder, content)
        claim.release()

    def _history(self, claim: Claim) -> tuple[str, int]:
        """When the run was first begun, and how often it was."""
        try:
            old = manifests.read(claim.folder)
        except DamagedFile:
            return manifests.now(), 0
        return old["started"], old["sittings"]

    def drop(self, claim: Claim) -> None:
        """Remove the working folder of a run and give up the claim.

        It is put aside first, in one step: a worker that outlived its sweep by a moment may be
        writing a checkpoint into it, and a folder that grows cannot be removed.
        """
        aside = claim.folder.with_name(f".{claim.folder.name}.{secrets.token_hex(4)}{REMOVED}")
        with suppress(OSError):
            claim.folder.rename(aside)
        for folder in (aside, claim.folder):
            shutil.rmtree(folder, ignore_errors=True)
        claim.release()

    def checkpoints(self, identity: Identity) -> Checkpoints:
        """The checkpoints of a run that is being played."""
        return Checkpoints(self.path / "work" / identity.run, identity.hash)

    # ------------------------------------------------------------------ reading

    def manifests(self) -> Iterator[dict[str, Any]]:
        """The manifests of all runs, finished or not; damaged ones are said in the log."""
        listed: set[str] = set()
        for part in PARTS:
            if not (self.path / part).is_dir():  # created a moment ago
                continue
            with os.scandir(self.path / part) as entries:
                names = sorted(entry.name for entry in entries if not entry.name.startswith("."))
            for name in names:
                folder = self.path / part / name
                if name in listed:
                    continue  # finished, and killed before its working folder was removed
                try:
                    manifest = manifests.read(folder)
                except DamagedFile as problem:
                    if part == "runs":
                        log.warning("%s; 'advmdp sweep' plays it again", problem)
                    continue
                if manifest["status"] == manifests.RUNNING and not is_claimed(folder):
                    manifest["status"] = manifests.CUT
                listed.add(name)
                yield manifest

    def manifest(self, run: str) -> dict[str, Any]:
        """The manifest of one run, by its id or by a beginning of it that no other has."""
        found = [m for m in self.manifests() if m["run"].startswith(run)]
        exact = [m for m in found if m["run"] == run]
        if len(exact or found) != 1:
            what = "no run" if not found else f"{len(found)} runs"
            raise InvalidInput(f"run: {what} of {self.path} begin with {run!r}; see 'advmdp ls'")
        return (exact or found)[0]

    def runs(self) -> pl.DataFrame:
        """One row per run: identity, status, final figures, effort, surroundings."""
        from advmdp.store.frames import runs_frame

        return runs_frame(self.manifests())

    def curves(self, runs: Any = None) -> pl.DataFrame:
        """One row per run and checkpoint, of the finished runs or of those named."""
        from advmdp.store.frames import curves_frame, runs_frame

        wanted = None if runs is None else set(runs)
        kept = [
            manifest
            for manifest in self.manifests()
            if manifest["status"] == manifests.FINISHED
            and (wanted is None or manifest["run"] in wanted)
        ]
        folders = [self.path / "runs" / manifest["run"] for manifest in kept]
        return curves_frame(self._whole(folders), runs_frame(kept))

    def _whole(self, folders: list[Path]) -> Iterator[Path]:
        for folder in folders:
            try:
                self._checked(folder)
            except DamagedFile as problem:
                log.warning("%s; left out, 'advmdp sweep' plays it again", problem)
            else:
                yield folder / CURVES

    def _checked(self, folder: Path) -> dict[str, Any]:
        """The manifest of a finished run whose files fit their checksums."""
        manifest = manifests.read(folder)
        for name, expected in manifest["files"].items():
            try:
                data = (folder / name).read_bytes()
            except OSError:
                raise DamagedFile(f"{folder / name}: missing") from None
            if checksum(data) != expected:
                raise DamagedFile(f"{folder / name}: the checksum does not fit")
        return manifest
