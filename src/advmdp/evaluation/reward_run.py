"""The result of episodes in an environment: rewards alone, for nobody knows the best policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.range_policy import LossRange
from advmdp.display.pictures import curve_picture
from advmdp.display.shown import Shown
from advmdp.evaluation.run import log_spaced
from advmdp.frames import frame_in
from advmdp.layout import Floats

RECENT = 100  # episodes


class Earned(NamedTuple):
    """The rewards after some episodes."""

    total: float
    mean: float
    """An episode, over all of them."""
    recent: float
    """An episode, over the last hundred."""


@dataclass(frozen=True, repr=False)
class EnvironmentRun(Shown):
    """The episodes of an environment; entry t of every array belongs to episode t."""

    reward: Floats
    """The total reward of the episode."""
    steps: NDArray[np.int64]
    """The number of calls of ``env.step``: less than the horizon if the episode ended early."""
    seconds: float = 0.0
    """Time spent playing, over all sittings."""
    stopped: bool = False
    """Whether Ctrl-C ended the run before its last episode."""
    clipped: int = 0
    """How many rewards were outside the range and moved to its nearest end."""
    reward_range: LossRange | None = None
    """The range that ``play(rewards_outside="adapt")`` ended with, in rewards."""
    recorded: Any = None
    """What ``play(record=...)`` recorded (``evaluation.observations.Recorded``), or None."""

    def earned(self, episodes: int | None = None) -> Earned:
        """The rewards after so many episodes; of the whole run by default."""
        return earned(self.reward[:episodes])

    def mean_curve(self) -> tuple[NDArray[np.int64], Floats]:
        """Numbers of episodes, evenly spaced in the logarithm, and the mean reward up to each."""
        points = log_spaced(max(len(self.reward), 1))[: len(self.reward)]
        return points, np.cumsum(self.reward)[points - 1] / points

    def to_frame(self, library: str = "polars") -> Any:
        """A row for each episode; ``library="pandas"`` for a frame of pandas."""
        episodes = np.arange(1, len(self.reward) + 1)
        columns = {"episode": episodes, "reward": self.reward, "steps": self.steps}
        return frame_in(library, columns)

    def plot(self, ax: Any = None, label: str = "mean reward an episode") -> Any:
        """Draw the mean reward so far over episodes into Matplotlib axes, which are returned."""
        from matplotlib import pyplot

        axes = pyplot.subplots(layout="constrained")[1] if ax is None else ax
        axes.plot(*self.mean_curve(), label=label)
        axes.set_xlabel("episodes")
        axes.set_ylabel("mean reward an episode")
        return axes

    def _facts(self) -> dict[str, Any]:
        now = self.earned()
        facts: dict[str, Any] = {
            "episodes": f"{len(self.reward):,}",
            "mean_reward": f"{now.mean:.4g}",
            f"mean_of_last_{RECENT}": f"{now.recent:.4g}",
            "seconds": f"{self.seconds:.3g}",
        }
        if self.clipped:
            facts["clipped"] = f"{self.clipped:,} rewards"
        if self.reward_range is not None:
            facts["reward_range"] = str(self.reward_range)
        return {**facts, "stopped": True} if self.stopped else facts

    def _picture(self) -> str:
        if not len(self.reward):
            return ""
        points, mean = self.mean_curve()
        return curve_picture(points.tolist(), mean.tolist(), "mean reward over episodes")


def earned(reward: Floats) -> Earned:
    """The account of so many rewards."""
    if not len(reward):
        return Earned(0.0, 0.0, 0.0)
    return Earned(float(reward.sum()), float(reward.mean()), float(reward[-RECENT:].mean()))
