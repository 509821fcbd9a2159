"""Runs on a GPU: those of one layout, learner and length are played as one batch.

The arithmetic of a GPU rounds differently, so that results agree with the CPU's up to rounding (see
docs/gpu.md) and not to the last bit; the manifest of a run names the card that played it.
"""

from __future__ import annotations

import hashlib
import logging
import resource
import time
from collections.abc import Hashable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from advmdp.batch import BatchProgress, BatchRun, RefusedRuns, card_name, play_batch
from advmdp.batch.card import require_gpu
from advmdp.batch.resuming import position_of
from advmdp.errors import AdvMDPError, InvalidInput, StorageFailure
from advmdp.evaluation.run import Run
from advmdp.experiments.build import Components, build
from advmdp.experiments.engines.interface import DEFAULT_OPTIONS, Engine, EngineOptions
from advmdp.experiments.engines.results import (
    CompletedRun,
    OnProgress,
    RunProgress,
    RunResult,
    RunStopped,
    describe_error,
    result_of_error,
)
from advmdp.experiments.spec import RunSpec
from advmdp.files.archive import Arrays, read_archive, write_archive
from advmdp.store.folder import WORK
from advmdp.store.outcome import Outcome, outcome_of
from advmdp.store.progress.progress_note import NoteWriter

MOST_RUNS = 10_000  # in a batch; every run that is claimed holds a file open
SPARE_FILES = 200
NOTE_SECONDS = 5.0  # between two notes of a run
REPORT_SECONDS = 0.5  # between reports, each of which is about all runs of a wave
KIND = "checkpoint of a batch"
log = logging.getLogger(__name__)


class PreparedRun(NamedTuple):
    """A spec and what was built from it."""

    spec: RunSpec
    components: Components


class CudaEngine(Engine):
    """Batches on the GPU of this machine."""

    batched = True

    def __init__(self, store: Path, options: EngineOptions = DEFAULT_OPTIONS) -> None:
        super().__init__(store, options)
        self.require()
        self.capacity = min(MOST_RUNS, _raise_file_limit() - SPARE_FILES)
        self._groups: dict[Hashable, list[PreparedRun]] = {}
        self._unbuildable: list[RunResult] = []
        self._stopping = False

    @classmethod
    def require(cls) -> None:
        """Reject the engine where no GPU can be used."""
        require_gpu()

    def submit(self, spec: RunSpec) -> None:
        try:
            if spec.delay is not None:
                raise InvalidInput(
                    "batches have no late feedback; use --engine local", field="delay"
                )
            run = PreparedRun(spec, build(spec))
            self._groups.setdefault(_batch_key(run), []).append(run)
        except Exception as problem:  # of this run alone: the others are played
            self._unbuildable.append(result_of_error(spec, problem))

    def poll(self, on_progress: OnProgress) -> list[RunResult]:
        results, self._unbuildable = self._unbuildable, []
        if self._groups:
            largest = max(self._groups, key=lambda key: len(self._groups[key]))
            results += self._play(self._groups.pop(largest), on_progress)
        return results

    def stop(self) -> None:
        self._stopping = True

    def close(self) -> None:
        """Holds no resources between batches."""

    def _play(self, batch: list[PreparedRun], on_progress: OnProgress) -> list[RunResult]:
        """Play a batch, and classify how each of its runs ended."""
        specs = [run.spec for run in batch]
        if self._stopping:
            return [RunResult(spec) for spec in specs]
        begin = time.perf_counter()
        try:
            runs, resumed_at = self._play_or_resume(batch, on_progress)
        except AdvMDPError as problem:
            return [result_of_error(spec, problem) for spec in specs]
        except Exception as problem:  # of the card or its driver: no run is to blame
            log.exception("a batch of %d runs failed", len(batch))
            lost = f"its batch failed ({describe_error(problem)})"
            return [RunResult(spec, lost=lost) for spec in specs]
        seconds = (time.perf_counter() - begin) / len(batch)  # a run's share of the card
        played = zip(batch, runs, resumed_at, strict=True)
        return [_result(prepared, run, seconds, at) for prepared, run, at in played]

    def _play_or_resume(
        self, batch: list[PreparedRun], on_progress: OnProgress
    ) -> tuple[list[Run | None], list[int]]:
        """The runs (None: a step could not be certified), and where each was resumed."""
        file = batch_checkpoint(self.store, [run.spec for run in batch])
        saved = _read(file)
        try:
            runs, resumed_at = self._play_from(saved, file, batch, on_progress)
        except InvalidInput as problem:
            if saved is None:
                raise
            log.warning("checkpoint passed over: %s: %s", file, problem)
            runs, resumed_at = self._play_from(None, file, batch, on_progress)
        file.unlink(missing_ok=True)
        return runs, resumed_at

    def _play_from(
        self, saved: Arrays | None, file: Path, batch: list[PreparedRun], on_progress: OnProgress
    ) -> tuple[list[Run | None], list[int]]:
        """From a checkpoint, or from the start without one."""
        reporter = _Reporter(batch, saved, _noting(self.store, batch, on_progress))

        def observe(progress: BatchProgress) -> None:
            rate = progress.episodes_per_second
            log.info(
                "batch of %d runs: %d episodes, %.3g a second", len(batch), progress.episodes, rate
            )
            reporter(progress)
            if self._stopping:
                raise RunStopped("stopped; the last checkpoint of the batch is kept")

        try:
            runs: list[Run | None] = [
                *play_batch(
                    [BatchRun(c.mdp, c.losses, c.learner, c.seed) for _, c in batch],
                    batch[0].spec.n_episodes,
                    checkpoints=batch[0].components.evaluation_points,
                    progress=observe,
                    save=lambda arrays: write_archive(file, KIND, {}, arrays),
                    save_seconds=self.options.schedule.seconds,
                    resume=saved,
                )
            ]
        except RefusedRuns as problem:
            runs = problem.runs
        return runs, reporter.resumed_at


def batch_checkpoint(store: Path, specs: Sequence[RunSpec]) -> Path:
    """The file of a batch of exactly these runs, in this order."""
    names = hashlib.sha256("\n".join(spec.hash for spec in specs).encode()).hexdigest()
    return store / "work" / f".batch-{names[:16]}.bin"


class _Reporter:
    """Reports the progress of a batch as that of its runs.

    A batch is played in waves, and the runs of a wave go in step: the episodes of a batch are those
    of the finished waves and, in equal shares, those of the runs in the current wave.
    """

    def __init__(
        self,
        batch: Sequence[PreparedRun],
        saved: Arrays | None,
        on_progress: OnProgress,
    ) -> None:
        self._ids = [run.spec.id for run in batch]
        self._n_episodes, self._on_progress = batch[0].spec.n_episodes, on_progress
        self._begin = self._end = 0  # of the current wave
        self._due = 0.0
        self.resumed_at = [0] * len(batch)
        if saved is not None:
            position = position_of(saved)
            self._begin = min(position.wave, len(batch))
            self._end = min(self._begin + position.per_wave, len(batch))
            self.resumed_at[: self._begin] = [self._n_episodes] * self._begin
            in_wave = [position.episodes] * (self._end - self._begin)
            self.resumed_at[self._begin : self._end] = in_wave

    def __call__(self, progress: BatchProgress) -> None:
        if progress.runs != self._end:
            self._begin, self._end = self._end, progress.runs
        n_runs = self._end - self._begin
        played = (progress.episodes - self._begin * self._n_episodes) // n_runs
        now = time.perf_counter()
        if now < self._due and played < self._n_episodes:
            return
        self._due = now + REPORT_SECONDS
        rate = progress.episodes_per_second / n_runs
        for i in range(self._begin, self._end):
            report = RunProgress(played, rate, resumed_at=self.resumed_at[i])
            self._on_progress(self._ids[i], report)


def _noting(store: Path, batch: Sequence[PreparedRun], on_progress: OnProgress) -> OnProgress:
    """Reports that also leave notes for those who watch; there may be thousands of runs."""
    writers = {
        spec.id: NoteWriter(store / WORK / spec.id, spec.hash, made.evaluation_points, NOTE_SECONDS)
        for spec, made in batch
    }

    def report(run: str, progress: RunProgress) -> None:
        on_progress(run, progress)
        if progress.episodes and progress.episodes_per_second:
            seconds = progress.episodes / progress.episodes_per_second
            writers[run].write(progress.episodes, seconds, None)

    return report


def _batch_key(run: PreparedRun) -> Hashable:
    """Equal for runs that one batch can hold."""
    mdp, losses, learner, seed, points = run.components
    program = losses.begin(mdp.layout, seed).program
    shape = None if program is None else program.tables.shape
    return mdp.layout, type(learner), run.spec.n_episodes, points.tobytes(), shape


def _result(prepared: PreparedRun, run: Run | None, seconds: float, resumed_at: int) -> RunResult:
    spec = prepared.spec
    if run is None:
        failure = "no certified projection: lower eta or raise gamma or log_scale"
        return RunResult(spec, failure=failure)
    outcome = outcome_of(run, spec.rewards, prepared.components.mdp.n_steps)
    figures = outcome.figures | {"played_on": card_name()}
    return RunResult(spec, CompletedRun(Outcome(outcome.curves, figures), seconds, resumed_at))


def _read(file: Path) -> Arrays | None:
    """The checkpoint of a batch; None without one, or with a damaged one."""
    if not file.exists():
        return None
    try:
        return read_archive(file, KIND)[1]
    except StorageFailure:
        raise
    except AdvMDPError as problem:
        log.warning("checkpoint passed over: %s", problem)
        return None


def _raise_file_limit() -> int:
    """Raise the number of files this process may open, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_RUNS + SPARE_FILES if hard == resource.RLIM_INFINITY else hard
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(wanted, 65_536)), hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
