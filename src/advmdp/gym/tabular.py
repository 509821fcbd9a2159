"""Tabular environments: from the table ``env.unwrapped.P`` to a layered MDP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from advmdp.errors import InvalidInput
from advmdp.evaluation.rewards import Rewards
from advmdp.gym.numbering import numbering
from advmdp.gym.unrolled import Unrolled
from advmdp.layout import Floats
from advmdp.world.mdp import LayeredMDP
from advmdp.world.time_expand import time_expand


@dataclass(frozen=True)
class Tabular(Unrolled):
    """An environment whose transition is known to us (a learner sees only ``layout``)."""

    mdp: LayeredMDP
    """The unrolled table; its natural loss is the mean of the mapped reward."""


def from_gymnasium(
    env: Any,
    horizon: int,
    *,
    start: Any | None = None,
    rewards: Rewards | None = None,
    per_action: bool = False,
    pooled: bool = False,
) -> Tabular:
    """Read the transition table of a tabular environment and unroll it over time.

    FrozenLake, CliffWalking and Taxi carry one: ``P[s][a]`` lists ``(probability, next state,
    reward, terminated)``.  Layer k holds the observations that can be seen after k actions, and a
    *finished* place (number S) that every terminating transition leads to; it absorbs and has the
    reward zero.  Wrappers are ignored: what counts is the table and ``horizon``.

    Parameters
    ----------
    env
        A Gymnasium environment.
    horizon
        The number of actions in an episode.
    start
        The first observation or a distribution over them; by default the environment's own
        ``initial_state_distrib``.  Several first observations put an opening layer in front (see
        ``advmdp.time_expand``).
    rewards
        The range of the rewards; by default what occurs in the table, with zero if it terminates.
    per_action
        Whether learners are told the possible successors of every action: nothing would be left to
        learn in an environment without chance.
    pooled
        Whether learners count visits over all steps together, see ``advmdp.time_expand``.

    >>> import gymnasium
    >>> lake = from_gymnasium(gymnasium.make("FrozenLake-v1"), horizon=20)
    >>> lake.rewards, lake.mdp.layout.layer_sizes[:5]
    (Rewards(low=0.0, high=1.0), (1, 3, 6, 9, 11))
    """
    bare = env.unwrapped
    name = type(bare).__name__
    table = getattr(bare, "P", None)
    if table is None:
        raise InvalidInput(
            f"env: {name} has no transition table P; "
            "drive it without one: advmdp.gym.unroll and advmdp.gym.play"
        )
    if getattr(bare, "fickle_passenger", False):
        raise InvalidInput(
            f"env: the table of {name} does not contain fickle passengers; make it without them"
        )
    observations = numbering(bare.observation_space, "observation_space")
    actions = numbering(bare.action_space, "action_space")
    step, mean, seen = _read(table, observations.size, actions.size)
    low, high = float(seen.min()), float(seen.max())
    if rewards is None:
        rewards = Rewards(low, high if high > low else low + 1.0)
    elif not rewards.low <= low <= high <= rewards.high:
        raise InvalidInput(f"rewards: the table has rewards from {low} to {high}; widen the range")
    if start is None:
        start = getattr(bare, "initial_state_distrib", None)
        if start is None:
            raise InvalidInput(f"start: {name} does not tell where it starts; give a distribution")
    if np.ndim(start) == 0:
        start = observations.checked(start, "start")
    elif np.shape(start) != (observations.size,):
        raise InvalidInput(
            "start: give an observation, or one probability for each of "
            f"{observations.size} observations"
        )
    else:
        start = np.append(np.asarray(start, dtype=np.float64), 0.0)
    loss = rewards.to_losses(np.clip(mean, low, high))  # a mean may be off by rounding
    mdp = time_expand(step, horizon, start, loss, per_action=per_action, pooled=pooled)
    first = int(start) if np.ndim(start) == 0 else int(np.argmax(start))
    return Tabular(
        layout=mdp.layout,
        horizon=horizon,
        rewards=rewards,
        observations=observations,
        actions=actions,
        start=None if mdp.opening else first,
        mdp=mdp,
    )


def _read(table: Any, n_observations: int, n_actions: int) -> tuple[Floats, Floats, Floats]:
    """Probabilities and mean rewards with the finished place, and all rewards that can occur."""
    finished = n_observations
    step = np.zeros((n_observations + 1, n_actions, n_observations + 1))
    mean = np.zeros((n_observations + 1, n_actions))
    step[finished, :, finished] = 1.0
    seen: set[float] = set()
    for s in range(n_observations):
        for a in range(n_actions):
            for chance, after, reward, terminated in table[s][a]:
                if chance > 0.0:
                    step[s, a, finished if terminated else after] += chance
                    mean[s, a] += chance * reward
                    seen.add(float(reward))
                    if terminated:
                        seen.add(0.0)
    return step, mean, np.array(sorted(seen))
