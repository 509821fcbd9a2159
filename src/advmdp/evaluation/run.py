"""The result of a run, and the recorder that fills it at checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.errors import InvalidInput
from advmdp.evaluation.account import (
    Checkpoint,
    Decomposition,
    SolverStatistics,
    new_ledger,
    solver_statistics,
    take_stock,
)
from advmdp.evaluation.comparator import Comparator
from advmdp.layout import Floats
from advmdp.world.mdp import LayeredMDP


@dataclass(frozen=True)
class Run:
    """Curves over checkpoints: entry i of every array belongs to ``episodes[i]``."""

    episodes: NDArray[np.int64]
    """Numbers of episodes played at the checkpoints; the last is the whole run."""
    regret: Floats
    """Expected loss minus that of the best fixed policy for the losses so far, Eq. (regdef)."""
    expected_loss: Floats
    """Sum of <q_t, l_t>: the exact expectation of each policy under the true transition."""
    realised_loss: Floats
    """Sum of the losses on the trajectories drawn."""
    best_loss: Floats
    """Total loss of the best fixed policy in hindsight at each checkpoint."""
    decomposition: Decomposition | None
    """The four terms of the regret, for learners that estimate losses."""
    epoch: NDArray[np.int64] | None
    """The learner's epoch at the checkpoints."""
    mean_width: Floats | None
    """Mean width of the confidence intervals at the checkpoints."""
    epoch_starts: NDArray[np.int64] | None
    """Number of episodes before each epoch."""
    solver: SolverStatistics | None
    """Effort and certificates of the projections."""
    best: Comparator
    """The best fixed policy of the whole run."""
    seconds: float
    """Time spent playing."""
    compiled: bool
    """Whether the run stayed in compiled code."""


def log_spaced(n_episodes: int, per_decade: int = 12) -> NDArray[np.int64]:
    """Checkpoints 1 .. n_episodes, evenly spaced in the logarithm."""
    n_points = 2 + int(per_decade * np.log10(n_episodes))
    points = np.unique(np.geomspace(1, n_episodes, n_points).round().astype(np.int64))
    points[-1] = n_episodes
    return points


def checked_checkpoints(checkpoints: Any, n_episodes: int) -> NDArray[np.int64]:
    """Sorted checkpoints that end with the run itself."""
    if checkpoints is None:
        return log_spaced(n_episodes)
    points = np.unique(np.asarray(checkpoints))
    if points.dtype.kind not in "iu" or not len(points) or points[0] < 1 or points[-1] > n_episodes:
        raise InvalidInput(f"checkpoints: give whole numbers between 1 and {n_episodes}")
    return np.union1d(points, [n_episodes]).astype(np.int64)


class Recorder:
    """Collects a ``Run``."""

    def __init__(self, mdp: LayeredMDP, learner: Any) -> None:
        self.mdp = mdp
        self.learner = learner
        self.ledger = new_ledger(mdp)
        self._episodes: list[int] = []
        self._points: list[Checkpoint] = []
        self._epoch: list[int] = []
        self._width: list[float] = []

    def stock(self) -> Checkpoint:
        """The account now (nothing is recorded)."""
        return take_stock(self.mdp, self.ledger)[0]

    def record(self, episodes: int) -> None:
        """Add a checkpoint."""
        point, self._best = take_stock(self.mdp, self.ledger)
        self._episodes.append(episodes)
        self._points.append(point)
        if hasattr(self.learner, "epoch"):
            self._epoch.append(self.learner.epoch)
        if hasattr(self.learner, "mean_width"):
            self._width.append(self.learner.mean_width)

    def run(self, seconds: float, *, compiled: bool) -> Run:
        """Everything recorded."""
        points = self._points
        estimates = hasattr(self.learner, "last_path")
        terms = np.array([point.terms for point in points]).T
        return Run(
            episodes=np.array(self._episodes, dtype=np.int64),
            regret=np.array([point.regret for point in points]),
            expected_loss=np.array([point.expected_loss for point in points]),
            realised_loss=np.array([point.realised_loss for point in points]),
            best_loss=np.array([point.best_loss for point in points]),
            decomposition=Decomposition(*terms) if estimates else None,
            epoch=np.array(self._epoch, dtype=np.int64) if self._epoch else None,
            mean_width=np.array(self._width) if self._width else None,
            epoch_starts=getattr(self.learner, "epoch_starts", None),
            solver=solver_statistics(self.ledger) if estimates else None,
            best=self._best,
            seconds=seconds,
            compiled=compiled,
        )
