"""Play one run of a store: from its newest checkpoint, with new ones on the way.

The engines of the CPU call this in whatever process they like.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from advmdp.errors import InvalidInput
from advmdp.evaluation.account import EvaluationPoint
from advmdp.evaluation.observations import Moment
from advmdp.evaluation.recorder import Snapshot
from advmdp.experiments.build import build, contexts_of
from advmdp.experiments.engines.interface import DEFAULT_OPTIONS, CheckpointSchedule
from advmdp.experiments.engines.results import CompletedRun, RunProgress, RunStopped
from advmdp.experiments.spec import RunSpec
from advmdp.experiments.specs.delay import delays_of
from advmdp.learners.base import HasEpochs, HasWidth, offers
from advmdp.play import play
from advmdp.playing.snapshots import NotResumable
from advmdp.playing.watch import Progress
from advmdp.store.checkpoints import Checkpoint, Checkpoints
from advmdp.store.outcome import outcome_of
from advmdp.store.progress.progress_note import TOTALS, NoteWriter

log = logging.getLogger(__name__)


def play_run(
    spec: RunSpec,
    checkpoints: Checkpoints,
    *,
    schedule: CheckpointSchedule = DEFAULT_OPTIONS.schedule,
    on_progress: Callable[[RunProgress], None] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> CompletedRun:
    """Play a run to its end, or write a checkpoint and raise ``RunStopped``.

    The outcome has the same bits however often the run was interrupted and resumed.
    """
    for saved in checkpoints.newest_first():
        try:
            return _play_from(saved, spec, checkpoints, schedule, on_progress, should_stop)
        except InvalidInput as problem:
            log.warning("checkpoint skipped: %s: %s", spec.id, problem)
    return _play_from(None, spec, checkpoints, schedule, on_progress, should_stop)


def _play_from(
    saved: Checkpoint | None,
    spec: RunSpec,
    checkpoints: Checkpoints,
    schedule: CheckpointSchedule,
    on_progress: Callable[[RunProgress], None] | None,
    should_stop: Callable[[], bool],
) -> CompletedRun:
    """From a checkpoint, or from the start without one; ``InvalidInput`` if it does not fit."""
    components = build(spec)
    if saved is not None:
        log.info("%s: resumed after %d episodes", spec.id, saved.episodes)
    resumed_at, resumed_seconds = (saved.episodes, saved.seconds) if saved else (0, 0.0)

    writer = _CheckpointWriter(checkpoints, schedule, should_stop, resumed_at, resumed_seconds)
    points = components.evaluation_points
    notes = _Notes(NoteWriter(checkpoints.folder, spec.hash, points), saved)

    def report(progress: Progress) -> None:
        account, rate = progress.account, progress.episodes_per_second
        notes.now(progress.episodes, writer.seconds, account)
        if on_progress is not None:
            on_progress(
                RunProgress(progress.episodes, rate, account.regret, progress.epoch, resumed_at)
            )

    run = play(
        components.mdp,
        components.losses,
        components.learner,
        spec.n_episodes,
        components.seed,
        checkpoints=points,
        progress=report,
        callback=notes.point,
        resume=saved.snapshot if saved else None,
        keep=writer,
        contexts=contexts_of(spec, components.learner),
        delays=None if spec.delay is None else delays_of(spec.delay),
    )
    outcome = outcome_of(run, spec.rewards, components.mdp.n_steps)
    return CompletedRun(outcome, writer.seconds, resumed_at, resumed_seconds)


class _Notes:
    """Notes for those who watch the run; the points of earlier sittings are in its checkpoint."""

    def __init__(self, writer: NoteWriter, saved: Checkpoint | None) -> None:
        self._writer = writer
        self._before = {} if saved is None else saved.snapshot

    def point(self, moment: Moment) -> None:
        """The account at an evaluation point."""
        self._add_earlier_points()
        figures = dict(zip(TOTALS, _totals_of(moment.account), strict=True))
        if offers(moment.learner, HasEpochs):
            figures["epoch"] = moment.learner.epoch
        if offers(moment.learner, HasWidth):
            figures["mean_width"] = moment.learner.mean_width
        self._writer.add(moment.episodes, figures)

    def now(self, episodes: int, seconds: float, account: EvaluationPoint) -> None:
        """The account a few times a second."""
        self._add_earlier_points()
        self._writer.write(episodes, seconds, _totals_of(account))

    def _add_earlier_points(self) -> None:
        """Once, and not before ``play`` has checked the checkpoint."""
        before, self._before = self._before, {}
        if not before:
            return
        columns = dict(zip(TOTALS, before["points.figures"].T, strict=False))
        columns |= {"epoch": before["points.epoch"], "mean_width": before["points.width"]}
        for i, episodes in enumerate(before["points.episodes"].tolist()):
            row = {name: float(values[i]) for name, values in columns.items() if len(values)}
            self._writer.add(episodes, row)


def _totals_of(account: EvaluationPoint) -> tuple[float, float, float]:
    return account.expected_loss, account.realised_loss, account.best_loss


class _CheckpointWriter:
    """Writes checkpoints when they are due, and when the run is asked to stop.

    A learner of the user's own may have no state to save: then there are none.
    """

    def __init__(
        self,
        checkpoints: Checkpoints,
        schedule: CheckpointSchedule,
        should_stop: Callable[[], bool],
        episodes: int,
        seconds: float,
    ) -> None:
        self._checkpoints, self._schedule = checkpoints, schedule
        self._should_stop = should_stop
        self._written_at, self._earlier_seconds = episodes, seconds
        self._begin = self._last = time.perf_counter()
        self._can_save = True

    @property
    def seconds(self) -> float:
        """Time spent on the run, over all sittings."""
        return self._earlier_seconds + time.perf_counter() - self._begin

    def __call__(self, episodes: int, snapshot: Callable[[], Snapshot]) -> None:
        stop = self._should_stop()
        if self._can_save and (stop or self._is_due(episodes)):
            self._save(episodes, snapshot)
        if stop:
            raise RunStopped(f"stopped after {episodes} episodes")

    def _save(self, episodes: int, snapshot: Callable[[], Snapshot]) -> None:
        try:
            taken = snapshot()
        except NotResumable as problem:
            log.warning("%s; a cut run begins anew", problem)
            self._can_save = False
            return
        self._checkpoints.write(episodes, self.seconds, taken)
        self._written_at, self._last = episodes, time.perf_counter()

    def _is_due(self, episodes: int) -> bool:
        if time.perf_counter() - self._last >= self._schedule.seconds:
            return True
        every = self._schedule.episodes
        return every is not None and episodes - self._written_at >= every
