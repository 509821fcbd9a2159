"""Rewards in a known range: converted to losses for the learner, back to rewards for every report.

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

from advmdp.checks.arguments import instance
from advmdp.checks.numbers import float_array, real_number, whole_array, whole_number
from advmdp.errors import InvalidInput
from advmdp.evaluation.run import Run
from advmdp.evaluation.schema import Kind, Level, reward_columns, value_of
from advmdp.layout import Floats


def in_rewards(kind: Kind, values: Any, n_steps: Any, low: Any, high: Any) -> Any:
    """Express ``values`` in rewards.

    Every conversion of losses to rewards goes through here.  It is plain arithmetic: numbers,
    arrays and expressions of a data frame are all accepted.

    Parameters
    ----------
    kind
        What the values are: total losses over ``n_steps`` steps, differences of two such totals,
        or no losses at all.
    low, high
        The range of the rewards of one step.

    >>> in_rewards(Kind.TOTAL_LOSS, 1.5, n_steps=2, low=-1.0, high=3.0)
    0.0
    >>> in_rewards(Kind.LOSS_DIFFERENCE, 1.5, n_steps=2, low=-1.0, high=3.0)
    6.0
    """
    if kind is Kind.PLAIN:
        return values
    scaled = (high - low) * values
    return high * n_steps - scaled if kind is Kind.TOTAL_LOSS else scaled


@dataclass(frozen=True)
class RewardCurves:
    """A run in rewards; entry i of every array belongs to ``episodes[i]``."""

    episodes: NDArray[np.int64]
    """Numbers of episodes played at the evaluation points."""
    expected_reward: Floats
    """Sum over episodes of the exact expected reward of the policy played."""
    realised_reward: Floats
    """Sum of the rewards on the sampled trajectories."""
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
    >>> float(taxi.total(losses=1.7, steps=3))          # the sum of the three rewards
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
        """``high - low``: the reward that one unit of loss, or of regret, stands for."""
        return float(self.high) - float(self.low)

    def to_losses(self, rewards: Any) -> Floats:
        """Losses in [0, 1] from rewards of any shape; rejects rewards outside the range."""
        array = float_array(rewards, "rewards")
        outside = ~((array >= self.low) & (array <= self.high))  # true for NaN as well
        if outside.any():
            if not np.isfinite(wrong := array[outside].flat[0]):
                raise InvalidInput(f"rewards: {wrong} is not finite; find out where it comes from")
            raise InvalidInput(
                f"rewards: {wrong} is outside [{self.low}, {self.high}]; widen the range"
            )
        losses: Floats = (self.high - array) / self.span
        return losses

    def to_rewards(self, losses: Any) -> Floats:
        """The rewards of single steps, from losses of any shape."""
        return self.total(losses, 1)

    def total(self, losses: Any, steps: Any) -> Floats:
        """The total reward of ``steps`` steps whose losses sum to ``losses``."""
        totals: Floats = self._convert(
            Kind.TOTAL_LOSS, float_array(losses, "losses"), whole_array(steps, "steps")
        )
        return totals

    def curves(self, run: Run, steps: int | None = None) -> dict[str, Floats]:
        """The curves of a run in rewards, under their names in the schema; see ``report``."""
        per_episode = reward_steps(run, steps)
        n_steps = run.episodes * per_episode
        return {
            reward.name: self._convert(loss.kind, value_of(run, loss), n_steps)
            for reward, loss in reward_columns(Level.POINT)
        }

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
        curves = self.curves(run, steps)
        return RewardCurves(
            episodes=run.episodes,
            expected_reward=curves["expected_reward"],
            realised_reward=curves["realised_reward"],
            best_reward=curves["best_reward"],
            regret=curves["reward_regret"],
        )

    def _convert(self, kind: Kind, values: Any, n_steps: Any) -> Any:
        return in_rewards(kind, values, n_steps, float(self.low), float(self.high))


def reward_steps(run: Run, steps: int | None = None) -> int:
    """The number of steps of an episode that earn a reward: ``steps``, or all layers."""
    layers = len(instance(run, Run, "run").best.policy)
    if steps is None:
        return layers
    given = whole_number(steps, "steps")
    if given > layers:
        raise InvalidInput(f"steps: {given} in an episode of {layers}; give at most that")
    return given
