"""How far a run in an environment is, told a few times a second."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from advmdp.evaluation.reward_run import Earned
from advmdp.gym.recorder import RewardRecorder
from advmdp.learners.base import HasEpochs, offers

REPORT_SECONDS = 0.2


class EnvironmentProgress(NamedTuple):
    """What ``advmdp.gym.play(progress=...)`` reports."""

    episodes: int
    episodes_per_second: float
    earned: Earned
    epoch: int | None


def mean_reward(now: Any) -> str:
    """The figure of a line of progress."""
    return f"mean reward {now.earned.mean:.4g}, of the last hundred {now.earned.recent:.4g}"


class Reporter:
    """Calls a function with the progress of a run, not more often than is of use."""

    def __init__(
        self, report: Callable[[EnvironmentProgress], None] | None, recorder: RewardRecorder
    ) -> None:
        self._report, self._recorder = report, recorder
        self._begin = self._last = time.perf_counter()
        self._before = recorder.episodes

    def __call__(self) -> None:
        now, recorder = time.perf_counter(), self._recorder
        last = recorder.episodes == recorder.n_episodes
        if self._report is None or (now - self._last < REPORT_SECONDS and not last):
            return
        self._last = now
        rate = (recorder.episodes - self._before) / max(now - self._begin, 1e-9)
        learner = recorder.learner
        epoch = learner.epoch if offers(learner, HasEpochs) else None
        self._report(EnvironmentProgress(recorder.episodes, rate, recorder.evaluate(), epoch))
