"""Tabular environments: a layered MDP from the transition table ``env.unwrapped.P``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from advmdp.checks.arguments import instance, is_sequence
from advmdp.checks.numbers import float_array, whole_number
from advmdp.errors import InvalidInput
from advmdp.evaluation.rewards import Rewards
from advmdp.gym.checks import checked_environment
from advmdp.gym.numbering import Numbering, numbering
from advmdp.gym.unrolled import Unrolled, element_names
from advmdp.layout import Floats
from advmdp.layout.checks import MAX_LAYERS
from advmdp.world.mdp import LayeredMDP
from advmdp.world.time_expand import time_expand


@dataclass(frozen=True, repr=False)
class Tabular(Unrolled):
    """An environment with a known transition table; a learner sees only ``layout``."""

    mdp: LayeredMDP
    """The unrolled table; its natural loss is the mean reward, mapped to a loss."""


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

    FrozenLake, CliffWalking and Taxi have one: ``P[s][a]`` lists ``(probability, next state,
    reward, terminated)``.  Layer k holds the observations that are possible after k actions, and an
    absorbing *finished* state (number S) with reward zero, to which every terminating transition
    leads.  Wrappers are ignored: only the table and ``horizon`` count.

    Parameters
    ----------
    env
        A Gymnasium environment, or the id of one.
    horizon
        The number of actions in an episode.
    start
        The first observation or a distribution over them; by default the environment's own
        ``initial_state_distrib``.  Several first observations require an opening layer (see
        ``advmdp.time_expand``).
    rewards
        The range of the rewards; by default that of the table, including zero if it terminates.
    per_action
        Whether the layout declares the possible successors of every action; in a deterministic
        environment this leaves nothing to learn.
    pooled
        Whether learners share visit counts over all steps, see ``advmdp.time_expand``.

    >>> import gymnasium
    >>> lake = from_gymnasium(gymnasium.make("FrozenLake-v1"), horizon=20)
    >>> lake.rewards, lake.mdp.layout.layer_sizes[:5]
    (Rewards(low=0.0, high=1.0), (1, 3, 6, 9, 11))
    """
    horizon = whole_number(horizon, "horizon", most=MAX_LAYERS)
    env = checked_environment(env)
    if rewards is not None:
        instance(rewards, Rewards, "rewards")
    bare = env.unwrapped
    table = _table_of(bare)
    observations = numbering(bare.observation_space, "observation_space")
    actions = numbering(bare.action_space, "action_space")
    step, mean, seen = _read(table, observations.size, actions.size)
    low, high = float(seen.min()), float(seen.max())
    if rewards is None:
        rewards = Rewards(low, high if high > low else low + 1.0)
    elif not rewards.low <= low <= high <= rewards.high:
        raise InvalidInput(f"rewards: the table has rewards from {low} to {high}; widen the range")
    first = _start_of(bare, start, observations)
    loss = rewards.to_losses(np.clip(mean, low, high))  # rounding may move a mean out of the range
    mdp = time_expand(
        step,
        horizon,
        first,
        loss,
        per_action=per_action,
        pooled=pooled,
        state_names=element_names(observations, "finished"),
        action_names=element_names(actions),
    )
    certain = int(first) if np.ndim(first) == 0 else int(np.argmax(first))
    return Tabular(
        layout=mdp.layout,
        horizon=horizon,
        rewards=rewards,
        observations=observations,
        actions=actions,
        start=None if mdp.opening else certain,
        mdp=mdp,
    )


def _table_of(bare: Any) -> Any:
    """The transition table of an environment without wrappers."""
    name = type(bare).__name__
    table = getattr(bare, "P", None)
    if table is None:
        raise InvalidInput(
            f"env: {name} has no transition table P; "
            "use advmdp.gym.unroll and advmdp.gym.play, which need none"
        )
    if getattr(bare, "fickle_passenger", False):
        raise InvalidInput(
            f"env: the table of {name} does not contain fickle passengers; make it without them"
        )
    return table


def _start_of(bare: Any, start: Any, observations: Numbering) -> Any:
    """The number of the first observation, or the distribution over places."""
    if start is None:
        start = getattr(bare, "initial_state_distrib", None)
    if start is None:
        raise InvalidInput(
            f"start: {type(bare).__name__} does not tell where it starts; give a distribution"
        )
    if isinstance(start, bool | np.bool_):
        raise InvalidInput(f"start: {start!r} is not an observation")
    if not is_sequence(start):
        return observations.checked(start, "start")
    places = float_array(start, "start")
    if places.shape != (observations.size,):
        raise InvalidInput(
            "start: give an observation, or one probability for each of "
            f"{observations.size} observations"
        )
    return np.append(places, 0.0)  # nothing begins finished


def _read(table: Any, n_observations: int, n_actions: int) -> tuple[Floats, Floats, Floats]:
    """Transition, mean rewards (both with the finished state), and all rewards that can occur."""
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
