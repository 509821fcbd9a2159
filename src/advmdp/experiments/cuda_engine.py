"""Runs of a sweep on a GPU: those of one layout, learner and length are played as one batch.

The card's arithmetic rounds differently, so that results agree with the CPU's up to rounding (see
docs/gpu.md) and not to the last bit; the manifest of a run says where it was played.
"""

from __future__ import annotations

import hashlib
import logging
import resource
import time
from collections.abc import Hashable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from advmdp.archive import read_archive, write_archive
from advmdp.batch import BatchProgress, BatchRun, RefusedRuns, card_name, play_batch
from advmdp.batch.card import require_gpu
from advmdp.errors import AdvMDPError, StorageFailure
from advmdp.evaluation.run import Run
from advmdp.experiments.build import Parts, build
from advmdp.experiments.engines import Ended, OnProgress
from advmdp.experiments.execute import Played, Saving, Stopped
from advmdp.experiments.spec import RunSpec
from advmdp.store.outcome import Outcome, outcome_of

MOST_RUNS = 10_000  # in a batch; every claimed run holds a file open
SPARE_FILES = 200
KIND = "checkpoint of a batch"
log = logging.getLogger(__name__)


class CudaEngine:
    """Batches on the card of this machine."""

    def __init__(self, store: Path, saving: Saving) -> None:
        require_gpu()
        self._store, self._saving = store, saving
        self.capacity = min(MOST_RUNS, _most_open_files() - SPARE_FILES)
        self._groups: dict[Hashable, list[tuple[RunSpec, Parts]]] = {}
        self._stop = False

    def check(self, specs: Sequence[RunSpec]) -> None:
        for spec in specs:
            build(spec)

    def submit(self, spec: RunSpec) -> None:
        parts = build(spec)
        program = parts.losses.begin(parts.mdp.layout, parts.seed).program
        shape = None if program is None else program.tables.shape
        points = parts.checkpoints.tobytes()
        key = (parts.mdp.layout, type(parts.learner), spec.n_episodes, points, shape)
        self._groups.setdefault(key, []).append((spec, parts))

    def poll(self, on_progress: OnProgress) -> list[Ended]:
        if not self._groups:
            return []
        group = self._groups.pop(max(self._groups, key=lambda key: len(self._groups[key])))
        specs = [spec for spec, _ in group]
        if self._stop:
            return [Ended(spec) for spec in specs]
        begin = time.perf_counter()
        try:
            runs = self._play(group)
        except Stopped:
            return [Ended(spec) for spec in specs]
        except StorageFailure as problem:
            return [Ended(spec, storage=problem) for spec in specs]
        except AdvMDPError as problem:
            return [Ended(spec, reason=str(problem)) for spec in specs]
        seconds = (time.perf_counter() - begin) / len(specs)  # a run's share of the card
        return [
            _ended(spec, parts, run, seconds)
            for (spec, parts), run in zip(group, runs, strict=True)
        ]

    def stop(self) -> None:
        self._stop = True

    def close(self) -> None:
        """Nothing is held between batches."""

    def _play(self, group: list[tuple[RunSpec, Parts]]) -> list[Run | None]:
        file = self._checkpoint(group)
        n_episodes, points = group[0][0].n_episodes, group[0][1].checkpoints

        def look(progress: BatchProgress) -> None:
            log.info(
                "batch of %d runs: %d episodes, %.3g a second",
                len(group),
                progress.episodes,
                progress.episodes_per_second,
            )
            if self._stop:
                raise Stopped("stopped; what was saved last is kept")

        try:
            runs: list[Run | None] = [
                *play_batch(
                    [BatchRun(p.mdp, p.losses, p.learner, p.seed) for _, p in group],
                    n_episodes,
                    checkpoints=points,
                    progress=look,
                    save=lambda arrays: write_archive(file, KIND, {}, arrays),
                    save_seconds=self._saving.seconds,
                    resume=_read(file),
                )
            ]
        except RefusedRuns as problem:
            runs = problem.runs
        file.unlink(missing_ok=True)
        return runs

    def _checkpoint(self, group: list[tuple[RunSpec, Parts]]) -> Path:
        """The file of a batch of exactly these runs, in this order."""
        names = hashlib.sha256("\n".join(spec.hash for spec, _ in group).encode()).hexdigest()
        return self._store / "work" / f".batch-{names[:16]}.bin"


def _ended(spec: RunSpec, parts: Parts, run: Run | None, seconds: float) -> Ended:
    if run is None:
        return Ended(spec, reason="no certified projection: lower eta or raise gamma or log_scale")
    outcome = outcome_of(run, spec.rewards, parts.mdp.n_steps)
    where: dict[str, Any] = {"played_on": card_name()}
    return Ended(spec, played=Played(Outcome(outcome.curves, outcome.figures | where), seconds))


def _read(file: Path) -> dict[str, NDArray[Any]] | None:
    if not file.exists():
        return None
    try:
        return read_archive(file, KIND)[1]
    except AdvMDPError as problem:
        log.warning("checkpoint passed over: %s", problem)
        return None


def _most_open_files() -> int:
    """As many as the system lets this process ask for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_RUNS + SPARE_FILES if hard == resource.RLIM_INFINITY else hard
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(wanted, 65_536)), hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
