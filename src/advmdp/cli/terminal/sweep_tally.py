"""Counts of the runs and episodes of a sweep, and an estimate of the time left."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from advmdp.display.durations import duration
from advmdp.experiments.engines.results import CompletedRun, RunProgress
from advmdp.experiments.spec import RunSpec


class SweepTally:
    """Keeps count of one list of runs; ``begin`` starts anew.

    The rate of a sweep is the number of episodes played in this sitting, over all workers, per
    second of this sitting: episodes that a checkpoint has behind it were played in another one.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self.begin((), ())

    def begin(self, specs: Sequence[RunSpec], unfinished: Sequence[RunSpec]) -> None:
        """A list of runs begins."""
        self.n_runs, self.n_done = len(specs), len(specs) - len(unfinished)
        self.under_way: dict[str, RunProgress] = {}
        self._n_left = sum(spec.n_episodes for spec in unfinished)
        self._n_reached = 0  # episodes that the runs under way have behind them
        self._n_played = 0  # episodes played in this sitting
        self._begin = self._clock()

    def progress(self, run: str, progress: RunProgress) -> None:
        """A run has advanced."""
        before = self.under_way.get(run)
        same_sitting = before is not None and before.resumed_at == progress.resumed_at
        last = before.episodes if before and same_sitting else progress.resumed_at
        self._n_played += max(progress.episodes - last, 0)
        self._n_reached += progress.episodes - (before.episodes if before else 0)
        self.under_way[run] = progress

    def finished(self, spec: RunSpec, completed: CompletedRun) -> None:
        """A run was played to its end."""
        last = self.under_way.get(spec.id)
        reached = completed.resumed_at if last is None else last.episodes
        self._n_played += spec.n_episodes - reached
        self.settled(spec)

    def settled(self, spec: RunSpec) -> None:
        """Nothing of a run is left to play: it is finished, found or failed."""
        self.lost(spec)
        self.n_done += 1
        self._n_left -= spec.n_episodes

    def lost(self, spec: RunSpec) -> None:
        """A run is not under way any more, and has to be played again."""
        progress = self.under_way.pop(spec.id, None)
        self._n_reached -= progress.episodes if progress else 0

    def time_left(self) -> str:
        """From the rate so far; empty while there is none, and when nothing is left."""
        left = self._n_left - self._n_reached
        if left <= 0 or self._n_played <= 0:
            return ""
        rate = self._n_played / max(self._clock() - self._begin, 1e-9)
        return f"{duration(left / rate)} left"
