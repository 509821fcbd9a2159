"""Environments with discrete spaces as layered MDPs: a state is an observation at a step.

The *places* of a layer are the numbers of the observations and, last, the place *finished*: after
the end of an episode every action stays there and has reward zero, up to the horizon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.argument_checks import flag, function, instance, is_iterable, with_methods
from advmdp.errors import InvalidInput
from advmdp.evaluation.rewards import Rewards
from advmdp.gym.numbering import Numbering, numbering
from advmdp.layout import Layout
from advmdp.layout_checks import MAX_LAYERS
from advmdp.number_checks import shown, whole_number
from advmdp.world.time_expand import begin_with, stationary_rows


@dataclass(frozen=True)
class Unrolled:
    """A layout for the episodes of an environment, and the map from observations to its states."""

    layout: Layout
    """The layout on which a learner is built."""
    horizon: int
    """The number of actions in an episode."""
    rewards: Rewards
    """The range of the rewards of one step."""
    observations: Numbering
    actions: Numbering
    start: int | None
    """The place of the first observation, if there is only one."""

    @property
    def opening(self) -> int:
        """1 if an opening layer draws the first observation, else 0."""
        return self.layout.n_layers - self.horizon

    @property
    def finished(self) -> int:
        """The place after the end of an episode."""
        return self.observations.size

    def place(self, observation: Any) -> int:
        """The number of an observation; rejects what is not in the space."""
        return self.observations.checked(observation, "env")

    def state(self, step: int, place: int) -> int:
        """The number within its layer of the state that is ``place`` at ``step``."""
        if step == 0 and self.start is not None:
            if place == self.start:
                return 0
        else:
            kept = self.layout.original_state[self.opening + step]
            i = int(np.searchsorted(kept, place))
            if i < len(kept) and kept[i] == place:
                return i
        what = "the end" if place == self.finished else f"{self.observations.element(place)}"
        raise InvalidInput(
            f"env: {what} at step {step} is not among the declared observations; "
            "add it to starts or successors"
        )


def unroll(
    env: Any,
    horizon: int,
    rewards: Rewards,
    *,
    starts: Iterable[Any] | None = None,
    successors: Callable[[Any], Iterable[Any]] | None = None,
    pooled: bool = False,
) -> Unrolled:
    """The layout of an environment's episodes, from its spaces alone.

    Parameters
    ----------
    env
        A Gymnasium environment with discrete spaces.
    horizon
        The number of actions in an episode.  Episodes that the environment would continue are
        truncated there.
    rewards
        The range of the rewards of one step; it contains 0, the reward after the end.
    starts
        The observations with which an episode can begin; by default all of them.
    successors
        ``successors(observation)`` lists the observations that can follow under some action; by
        default all of them.  The episode can always end.  Fewer successors make play faster.
    pooled
        Whether learners share visit counts over all steps, see ``advmdp.time_expand``; valid for
        environments that do not change over time and do not truncate before the horizon.

    >>> import gymnasium
    >>> blackjack = gymnasium.make("Blackjack-v1")
    >>> def later(hand):                      # the sum changes, the dealer's card does not
    ...     total, card, ace = hand
    ...     return [(t, card, a) for t in range(4, 22) for a in (0, 1)]
    >>> hands = [(t, card, a) for t in range(4, 22) for card in range(1, 11) for a in (0, 1)]
    >>> unroll(blackjack, 4, Rewards(-1, 1), starts=hands, successors=later).layout
    Layout(layer_sizes=(1, 360, 361, 361, 361, 1), n_actions=2, 81366 declared triples)
    """
    horizon, pooled = whole_number(horizon, "horizon", most=MAX_LAYERS), flag(pooled, "pooled")
    with_methods(env, "env", "a Gymnasium environment", "reset", "step")
    instance(rewards, Rewards, "rewards")
    if starts is not None and not is_iterable(starts):
        raise InvalidInput(f"starts: give a list of observations, not {shown(starts)}")
    if successors is not None:
        function(successors, "successors", "successors(observation)")
    observations = numbering(env.observation_space, "observation_space")
    actions = numbering(env.action_space, "action_space")
    if not rewards.low <= 0.0 <= rewards.high:
        raise InvalidInput(
            f"rewards: the range [{rewards.low}, {rewards.high}] must contain 0, "
            "the reward after the end; widen it"
        )
    n_places, n_actions = observations.size + 1, actions.size
    follows = _followers(observations, successors)
    first = np.zeros(n_places, dtype=np.bool_)
    first[:-1] = starts is None
    first[[observations.checked(x, "starts") for x in (() if starts is None else starts)]] = True
    if not first.any():
        raise InvalidInput("starts: name at least one observation")
    layers = [follows] * (horizon - 1) + [np.ones((n_places, 1, 1), dtype=np.bool_)]
    layers = begin_with(first, layers, first[np.newaxis, np.newaxis])
    layout = Layout(
        [layer.shape[0] for layer in layers] + [1],
        n_actions,
        successors=[_for_all_actions(layer, n_actions) for layer in layers],
        shared_rows=stationary_rows(first, n_actions, horizon) if pooled else None,
    )
    start = int(first.argmax()) if np.count_nonzero(first) == 1 else None
    return Unrolled(layout, horizon, rewards, observations, actions, start)


def _followers(
    observations: Numbering, successors: Callable[[Any], Iterable[Any]] | None
) -> NDArray[np.bool_]:
    """Which places can follow a place, whatever the action: shape (places, 1, places)."""
    n_places = observations.size + 1
    follows = np.zeros((n_places, 1, n_places), dtype=np.bool_)
    follows[:, :, -1] = True
    for place in range(observations.size):
        if successors is None:
            follows[place] = True
        else:
            seen = observations.element(place)
            where = f"successors({seen})"
            listed = successors(seen)
            if not is_iterable(listed):
                raise InvalidInput(f"{where}: give a list of observations, not {shown(listed)}")
            follows[place, 0, [observations.checked(x, where) for x in listed]] = True
    return follows


def _for_all_actions(mask: NDArray[np.bool_], n_actions: int) -> NDArray[np.bool_]:
    return np.broadcast_to(mask, (mask.shape[0], n_actions, mask.shape[2]))
