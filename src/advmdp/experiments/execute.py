"""Play one run of a store: from its newest checkpoint, with new ones on the way.

This is what every engine calls, in whatever process it likes.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from advmdp.errors import AdvMDPError
from advmdp.evaluation.run import Snapshot
from advmdp.experiments.build import build
from advmdp.experiments.spec import RunSpec
from advmdp.play import Progress, play
from advmdp.store.checkpoints import Checkpoints
from advmdp.store.outcome import Outcome, outcome_of

log = logging.getLogger(__name__)


class Stopped(AdvMDPError):
    """The run was asked to stop; what it had done is in its checkpoint."""


@dataclass(frozen=True)
class Saving:
    """When checkpoints are written: whichever comes first.  ``episodes`` None: by time alone."""

    seconds: float = 30.0
    episodes: int | None = None


@dataclass(frozen=True)
class Played:
    """A run that was played to its end."""

    outcome: Outcome
    seconds: float
    resumed_at: int = field(default=0)
    """Episodes that a checkpoint had behind it."""


class _Keeper:
    """Writes checkpoints when they are due, and when the run is asked to stop."""

    def __init__(
        self,
        checkpoints: Checkpoints,
        saving: Saving,
        should_stop: Callable[[], bool],
        episodes: int,
        seconds: float,
    ) -> None:
        self._checkpoints, self._saving, self._should_stop = checkpoints, saving, should_stop
        self._saved_at, self._seconds = episodes, seconds
        self._begin = self._last = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Time spent on the run, over all sittings."""
        return self._seconds + time.perf_counter() - self._begin

    def __call__(self, episodes: int, snapshot: Callable[[], Snapshot]) -> None:
        stop = self._should_stop()
        due = time.perf_counter() - self._last >= self._saving.seconds or (
            self._saving.episodes is not None and episodes - self._saved_at >= self._saving.episodes
        )
        if stop or due:
            self._checkpoints.write(episodes, self.seconds, snapshot())
            self._saved_at, self._last = episodes, time.perf_counter()
        if stop:
            raise Stopped(f"stopped after {episodes} episodes")


def execute(
    spec: RunSpec,
    checkpoints: Checkpoints,
    *,
    saving: Saving = Saving(),  # noqa: B008  (frozen)
    progress: Callable[[Progress], None] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Played:
    """Play a run to its end, or raise ``Stopped`` with a checkpoint written.

    The result is the same to the last bit however often the run was cut and resumed.
    """
    parts = build(spec)
    kept = checkpoints.newest()
    if kept is not None:
        log.info("%s: resumed after %d episodes", spec.id, kept.episodes)
    done, seconds = (kept.episodes, kept.seconds) if kept else (0, 0.0)
    keeper = _Keeper(checkpoints, saving, should_stop, done, seconds)
    run = play(
        parts.mdp,
        parts.losses,
        parts.learner,
        spec.n_episodes,
        parts.seed,
        checkpoints=parts.checkpoints,
        progress=progress,
        resume=kept.snapshot if kept else None,
        keep=keeper,
    )
    return Played(outcome_of(run, spec.rewards, parts.mdp.n_steps), keeper.seconds, done)
