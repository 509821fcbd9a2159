"""The result of a run: curves over its checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.numbers import whole_array
from advmdp.checks.range_policy import LossRange
from advmdp.display.pictures import curve_picture
from advmdp.display.shown import Shown
from advmdp.errors import InvalidInput
from advmdp.evaluation.account import Decomposition, SolverStatistics
from advmdp.evaluation.comparator import Comparator
from advmdp.evaluation.schema import curves_of
from advmdp.frames import frame_in
from advmdp.layout import Floats


@dataclass(frozen=True, repr=False)
class Run(Shown):
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
    regret_bound: Floats | None = None
    """What the regret cannot exceed by the learner's own certificate, where it has one."""
    estimated_losses: Floats | None = None
    """The sum of all loss estimates by pair, flat, for learners that estimate losses; a learner's
    ``to_frame(run=run)`` shows their means."""
    recorded: Any = None
    """What ``play(record=...)`` recorded (``evaluation.observations.Recorded``), or None."""
    feedback_times: Any = None
    """When late feedback came (``playing.late_queue.FeedbackTimes``); None: all at once."""
    clipped: int = 0
    """How many losses ``play(losses_outside="clip")`` moved into [0, 1], of pairs and episodes."""
    loss_range: LossRange | None = None
    """The range that ``play(losses_outside="adapt")`` ended with, and its doublings."""

    def to_frame(self, library: str = "polars") -> Any:
        """The curves as a frame, one row per checkpoint; ``library="pandas"`` for one of pandas."""
        kept = {name: values for name, values in curves_of(self).items() if values is not None}
        return frame_in(library, kept)

    def plot(self, ax: Any = None, label: str = "regret") -> Any:
        """Draw the regret over episodes into Matplotlib axes, which are returned.

        ``advmdp.reports.figures.regret_plot`` draws several runs with all that a figure needs.
        """
        from advmdp.evaluation.regret_curve import draw_regret_curve

        return draw_regret_curve(self, ax, label)

    def _facts(self) -> dict[str, Any]:
        outside = {"clipped": f"{self.clipped:,} losses"} if self.clipped else {}
        if self.loss_range is not None:
            outside["loss_range"] = str(self.loss_range)
        bound = self.regret_bound
        certified = {} if bound is None else {"regret_bound": f"{bound[-1]:,.1f}"}
        return {
            "episodes": f"{self.episodes[-1]:,}",
            "regret": f"{self.regret[-1]:,.1f}",
            **certified,
            "expected_loss": f"{self.expected_loss[-1]:,.1f}",
            "best_loss": f"{self.best_loss[-1]:,.1f}",
            "seconds": f"{self.seconds:.3g}",
            "compiled": self.compiled,
            **outside,
        }

    def _picture(self) -> str:
        return curve_picture(self.episodes.tolist(), self.regret.tolist(), "regret over episodes")


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
    points = np.sort(whole_array(checkpoints, "checkpoints"), axis=None)
    if not len(points) or points[0] < 1 or points[-1] > n_episodes:
        raise InvalidInput(f"checkpoints: give whole numbers between 1 and {n_episodes}")
    points = np.append(points, n_episodes)
    once: NDArray[np.int64] = points[np.append(True, np.diff(points) > 0)]
    return once
