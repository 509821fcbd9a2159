"""Finite-horizon MDPs as layered ones, by expansion over time.

A *place* is a state of the finite-horizon MDP; a state of the layered MDP is a place at a step, so
that layer k holds the places that are possible after k steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.arguments import flag, is_sequence
from advmdp.checks.numbers import float_array, whole_number
from advmdp.errors import InvalidInput
from advmdp.layout import Floats, Layout
from advmdp.layout.checks import MAX_LAYERS, refuse_too_large
from advmdp.world.mdp import ROW_SUM_TOLERANCE, LayeredMDP


def mdp_with_support(
    transitions: Sequence[Floats],
    natural_loss: Sequence[Floats] | None,
    *,
    per_action: bool = False,
    shared_rows: Sequence[Any] | None = None,
    opening: int = 0,
) -> LayeredMDP:
    """The MDP whose layout declares, for every state, the successors under *some* action.

    A learner thus knows the neighbours of a state but not the effect of its actions: all actions
    of a state have the same declared successors, including those that they never reach.  With
    ``per_action`` the layout declares the successors of every action separately.
    """
    sizes = [step.shape[0] for step in transitions] + [1]
    possible = [step != 0.0 for step in transitions]
    if not per_action:
        possible = [np.broadcast_to(m.any(axis=1, keepdims=True), m.shape) for m in possible]
    layout = Layout(sizes, transitions[0].shape[1], possible, shared_rows)
    return LayeredMDP(layout, transitions, natural_loss=natural_loss, opening=opening)


def time_expand(
    transition: Any,
    horizon: int,
    start: Any = 0,
    loss: Any | None = None,
    *,
    per_action: bool = False,
    pooled: bool = False,
    state_names: Sequence[str] | None = None,
    action_names: Sequence[str] | None = None,
) -> LayeredMDP:
    """Expand a finite-horizon MDP over time: a state of the layered MDP is a place at a step.

    Parameters
    ----------
    transition
        The probability of every next place: shape ``(S, A, S)`` for stationary dynamics, otherwise
        ``(horizon - 1, S, A, S)``.  The last action leads to the single end state.
    horizon
        The number of actions in an episode (the paper's L).
    start
        The first place, or a distribution over places.  A distribution over several places adds
        an *opening layer* in front: one state in which every action draws the first place and has
        loss zero.  This stays within the paper's setting: the start is one more transition to
        learn, and episodes are one layer longer.
    loss
        Optional mean loss of shape ``(S, A)`` or ``(horizon, S, A)``; it becomes the natural loss.
    per_action
        Whether the layout declares the possible successors of every action.  By default it
        declares only which places can follow a place under some action.
    pooled
        Whether learners may use that the dynamics are stationary.  The visits of a place and an
        action are then counted over all steps together, with one confidence set for all of them,
        as in UCBVI (see ``Layout.shared_rows``).
    state_names, action_names
        Names of the S places and the A actions, for tables and messages.

    Places that cannot be reached in k steps are pruned from layer k; ``layout.original_state[k]``
    lists the remaining ones.

    >>> stay_or_go = [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]]
    >>> time_expand(stay_or_go, horizon=3).layout
    Layout(layer_sizes=(1, 2, 2, 1), n_actions=2, 16 declared triples)
    >>> time_expand(stay_or_go, horizon=3, start=[0.5, 0.5]).layout
    Layout(layer_sizes=(1, 2, 2, 2, 1), n_actions=2, 24 declared triples)
    """
    horizon = whole_number(horizon, "horizon", most=MAX_LAYERS)
    per_action, pooled = flag(per_action, "per_action"), flag(pooled, "pooled")
    steps = _over_time(transition, horizon - 1, "transition", "(S, A, S)")
    n_places, n_actions = steps.shape[1:3]
    if steps.shape[3] != n_places:
        raise InvalidInput(f"transition: shape {np.shape(transition)} does not end in (S, A, S)")
    refuse_too_large((n_places,) * horizon + (1,), n_actions, is_dense=False)
    transitions = [*steps, np.ones((n_places, n_actions, 1))]
    costs = None
    if loss is not None:
        costs = [*_over_time(loss, horizon, "loss", "(S, A)")]
        if costs[0].shape != (n_places, n_actions):
            raise InvalidInput(f"loss: shape {costs[0].shape}, expected {(n_places, n_actions)}")
    if pooled and np.ndim(transition) != 3:
        raise InvalidInput("pooled: the transition changes over time; leave pooled=False")
    places = _start_distribution(start, n_places)
    first = places != 0.0
    if costs is not None:
        costs = begin_with(first, costs, np.zeros((1, n_actions)))
    mdp = mdp_with_support(
        begin_with(first, transitions, np.broadcast_to(places, (1, n_actions, n_places))),
        costs,
        per_action=per_action,
        shared_rows=stationary_rows(first, n_actions, horizon) if pooled else None,
        opening=int(np.count_nonzero(first) > 1),
    )
    if state_names is None and action_names is None:
        return mdp
    layout = mdp.layout.named(names_over_time(state_names, first, horizon), action_names)
    return LayeredMDP(layout, mdp.flat, natural_loss=mdp.natural_loss, opening=mdp.opening)


def names_over_time(
    names: Any, first: NDArray[np.bool_], horizon: int
) -> list[NDArray[np.object_]] | None:
    """Names of places for every layer of an MDP whose episodes begin in ``first``."""
    if names is None:
        return None
    if not is_sequence(names) or len(names) != len(first) or isinstance(names, str | bytes):
        raise InvalidInput(f"give {len(first)} names, one for each place", field="state_names")
    given = np.array([*names, None], dtype=np.object_)[:-1]  # stays an array of objects
    return begin_with(first, [given] * horizon, np.array(["opening"], dtype=np.object_))


def begin_with(first: NDArray[np.bool_], layers: Sequence[Any], opening: Any) -> list[Any]:
    """Let tables over layers, each over all places, begin with the places of a mask.

    The first layer is restricted to the only such place; if there are several, the table
    ``opening`` of an opening layer is put in front.
    """
    if np.count_nonzero(first) == 1:
        return [layers[0][first], *layers[1:]]
    return [opening, *layers]


def stationary_rows(
    first: NDArray[np.bool_], n_actions: int, horizon: int
) -> list[NDArray[np.int64]]:
    """The rows that share their counts in a stationary MDP whose episodes begin in ``first``.

    Each place and action has one pool for all steps but the last, whose rows lead to the end; the
    rows of an opening layer form a pool of their own.
    """
    n_rows = len(first) * n_actions
    pool = np.arange(n_rows).reshape(-1, n_actions)
    layers = [pool] * (horizon - 1) + [np.full_like(pool, -1)]
    return begin_with(first, layers, np.full((1, n_actions), n_rows))


def _over_time(table: Any, n_steps: int, name: str, form: str) -> Floats:
    """One array for each step; views of a single one if it does not change over time."""
    array = float_array(table, name)
    n_axes = form.count(",") + 1
    if array.ndim == n_axes and array.size:
        return np.broadcast_to(array, (n_steps, *array.shape))
    if array.ndim == n_axes + 1 and len(array) == n_steps and array.size:
        return array
    raise InvalidInput(
        f"{name}: shape {array.shape} is not of the form {form}, with {n_steps} steps before it "
        "if it changes over time"
    )


def _start_distribution(start: Any, n_places: int) -> Floats:
    if not is_sequence(start):
        place = whole_number(start, "start", least=0)
        if place >= n_places:
            raise InvalidInput(f"start: {place} is not one of the places 0..{n_places - 1}")
        return np.asarray(np.arange(n_places) == place, dtype=np.float64)
    places = float_array(start, "start")
    if places.shape != (n_places,) or not places.min() >= 0.0:
        raise InvalidInput(f"start: give a place, or one probability for each of {n_places} places")
    if not abs(places.sum() - 1.0) <= ROW_SUM_TOLERANCE:
        raise InvalidInput(
            f"start: probabilities sum to {places.sum()}; divide by the sum, in float64"
        )
    return places
