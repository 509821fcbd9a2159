"""Environments with discrete spaces as layered MDPs: a state is an observation at a step.

The *places* of a layer are the numbers of the observations and, last, the place *finished*: after
the end of an episode every action stays there and has reward zero, up to the horizon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.arguments import flag, function, instance, is_iterable
from advmdp.checks.numbers import shown, whole_number
from advmdp.display.shown import Shown
from advmdp.errors import InvalidInput
from advmdp.evaluation.rewards import Rewards
from advmdp.gym.checks import checked_environment, refuse_early_end
from advmdp.gym.numbering import Numbering, numbering
from advmdp.layout import Floats, Layout
from advmdp.layout.checks import MAX_LAYERS
from advmdp.layout.names import LONGEST
from advmdp.world.time_expand import begin_with, names_over_time, stationary_rows

MOST_NAMES = 10_000  # of a space; with more, numbers do


@dataclass(frozen=True, repr=False)
class Unrolled(Shown):
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

    def _facts(self) -> dict[str, Any]:
        return {
            "observations": self.observations.size,
            "actions": self.actions.size,
            "horizon": self.horizon,
            "rewards": f"{self.rewards.low:g} to {self.rewards.high:g}",
            "states": f"{self.layout.n_states:,}",
            "triples": f"{self.layout.n_entries:,}",
            "pooled": self.pooled,
        }

    @property
    def opening(self) -> int:
        """1 if an opening layer draws the first observation, else 0."""
        return self.layout.n_layers - self.horizon

    @property
    def finished(self) -> int:
        """The place after the end of an episode."""
        return self.observations.size

    @property
    def pooled(self) -> bool:
        """Whether visits are counted over all steps together."""
        return self.layout.counter_row is not None

    def losses_of(self, rewards: Sequence[float], outside: str) -> tuple[Floats, int]:
        """The losses of the steps of an episode, and how many rewards were clipped for them."""
        given = np.array(rewards)
        if outside == "adapt":
            return (self.rewards.high - given) / self.rewards.span, 0
        if outside == "refuse":
            return self.rewards.to_losses(given), 0
        inside = np.clip(given, self.rewards.low, self.rewards.high)
        return self.rewards.to_losses(inside), int(np.count_nonzero(inside != given))

    def place(self, observation: Any) -> int:
        """The number of an observation; rejects what is not in the space."""
        return self.observations.checked(observation, "env")

    @cached_property
    def _numbers(self) -> list[list[int]]:
        """For every step the number within its layer of each place, -1 if it has none."""
        by_states: dict[bytes, list[int]] = {}
        tables = []
        for step in range(self.horizon):
            kept = self.layout.original_state[self.opening + step]
            if step == 0 and self.start is not None:
                kept = np.array([self.start])
            key = kept.tobytes()  # most layers hold the same places
            if key not in by_states:
                table = np.full(self.finished + 1, -1)
                table[kept] = np.arange(len(kept))
                by_states[key] = table.tolist()
            tables.append(by_states[key])
        return tables

    def state(self, step: int, place: int) -> int:
        """The number within its layer of the state that is ``place`` at ``step``."""
        number = self._numbers[step][place]
        if number >= 0:
            return number
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
        A Gymnasium environment with discrete spaces, or the id of one.
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
    env = checked_environment(env)
    instance(rewards, Rewards, "rewards")
    if starts is not None and not is_iterable(starts):
        raise InvalidInput(f"starts: give a list of observations, not {shown(starts)}")
    if successors is not None:
        function(successors, "successors", "successors(observation)")
    observations = numbering(env.observation_space, "observation_space")
    actions = numbering(env.action_space, "action_space")
    if pooled:
        refuse_early_end(env, horizon, "pooled counts are for what does not change over time")
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
    names = names_over_time(element_names(observations, "finished"), first, horizon)
    layout = layout.named(names, element_names(actions))
    start = int(first.argmax()) if np.count_nonzero(first) == 1 else None
    return Unrolled(layout, horizon, rewards, observations, actions, start)


def element_names(numbering: Numbering, *more: str) -> list[str] | None:
    """The elements of a space as names, and further ones; None where they make none."""
    if numbering.size > MOST_NAMES:
        return None
    texts = (" ".join(str(numbering.element(i)).split()) for i in range(numbering.size))
    names = [*texts, *more]
    fits = all(len(name) <= LONGEST and name.isprintable() for name in names)
    return names if fits and len(set(names)) == len(names) else None


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
