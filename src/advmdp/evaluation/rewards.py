"""Rewards in any known range: to losses on the way in, back to rewards in every report.

Learners minimise losses in [0, 1].  A reward r in [low, high] becomes the loss

    l = (high - r) / (high - low),        and back        r = high - (high - low) l,

so an episode of L steps with the total loss l has the total reward ``L high - (high - low) l``, and
a regret of R in losses is a regret of ``(high - low) R`` in rewards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.errors import InvalidInput
from advmdp.evaluation.run import Run
from advmdp.layout import Floats
from advmdp.world.checks import real_number, whole_number


def total_reward(losses: Any, steps: Any, low: Any, high: Any) -> Any:
    """The total reward of ``steps`` steps whose losses add up to ``losses``.

    Numbers, arrays and columns of a frame will do: it is plain arithmetic.
    """
    return high * steps - (high - low) * losses


@dataclass(frozen=True)
class RewardCurves:
    """A run in rewards; entry i of every array belongs to ``episodes[i]``."""

    episodes: NDArray[np.int64]
    """Numbers of episodes played at the checkpoints."""
    expected_reward: Floats
    """Sum over episodes of the exact expectation of the policy played."""
    realised_reward: Floats
    """Sum of the rewards on the trajectories drawn."""
    best_reward: Floats
    """Total reward of the best fixed policy in hindsight."""
    regret: Floats
    """``best_reward - expected_reward``."""


@dataclass(frozen=True)
class Rewards:
    """The known range of the rewards of one step.

    >>> taxi = Rewards(-10.0, 20.0)
    >>> taxi.to_losses([20.0, -1.0, -10.0])
    array([0. , 0.7, 1. ])
    >>> taxi.to_rewards([0.0, 0.7, 1.0])
    array([ 20.,  -1., -10.])
    >>> float(taxi.total(losses=1.7, steps=3))          # the three of them
    9.0
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if real_number(self.low, "low") >= real_number(self.high, "high"):
            raise InvalidInput(
                f"low, high: {self.low!r} is not below {self.high!r}; give the range of the rewards"
            )
        if not np.isfinite(self.span):
            raise InvalidInput(f"low, high: the range {self.low!r} to {self.high!r} is too wide")

    @property
    def span(self) -> float:
        """``high - low``: what one unit of loss, or of regret, is worth."""
        return float(self.high) - float(self.low)

    def to_losses(self, rewards: Any) -> Floats:
        """Losses in [0, 1] of rewards of any shape; rewards outside the range are refused."""
        array = np.asarray(rewards, dtype=np.float64)
        outside = ~((array >= self.low) & (array <= self.high))  # also true for what is no number
        if outside.any():
            raise InvalidInput(
                f"rewards: {array[outside].flat[0]} is outside [{self.low}, {self.high}]; "
                "widen the range"
            )
        losses: Floats = (self.high - array) / self.span
        return losses

    def to_rewards(self, losses: Any) -> Floats:
        """The rewards behind losses of any shape."""
        rewards: Floats = self.high - self.span * np.asarray(losses, dtype=np.float64)
        return rewards

    def total(self, losses: Any, steps: Any) -> Floats:
        """The total reward of ``steps`` steps whose losses add up to ``losses``."""
        rewards: Floats = total_reward(
            np.asarray(losses), np.asarray(steps), float(self.low), float(self.high)
        )
        return rewards

    def report(self, run: Run, steps: int | None = None) -> RewardCurves:
        """A run in rewards.

        ``steps`` is the number of steps of an episode that earn a reward: all layers by default,
        one less for an MDP with an opening layer (``mdp.n_steps``, see ``advmdp.time_expand``).

        >>> import advmdp as am
        >>> mdp = am.families.random_mdp((1, 2, 1), n_actions=2, seed=0)
        >>> rewards = am.Rewards(0.0, 10.0)
        >>> mean = rewards.to_losses(np.full(mdp.layout.n_rows, 7.5))
        >>> run = am.play(mdp, am.losses.Switching([mean], 1), am.Uniform(mdp.layout), 100)
        >>> curves = rewards.report(run)
        >>> float(curves.expected_reward[-1]), float(curves.regret[-1])
        (1500.0, 0.0)
        """
        layers = len(run.best.policy)
        per_episode = layers if steps is None else whole_number(steps, "steps")
        if per_episode > layers:
            raise InvalidInput(f"steps: {steps} in an episode of {layers}; give at most that")
        n_steps = run.episodes * per_episode
        return RewardCurves(
            episodes=run.episodes,
            expected_reward=self.total(run.expected_loss, n_steps),
            realised_reward=self.total(run.realised_loss, n_steps),
            best_reward=self.total(run.best_loss, n_steps),
            regret=self.span * run.regret,
        )
