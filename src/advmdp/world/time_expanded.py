"""Walks on a fixed set of places, unrolled in time: layer k holds the places after k steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from advmdp.errors import InvalidInput
from advmdp.layout import Floats, Layout
from advmdp.world.checks import unit_number, whole_number
from advmdp.world.mdp import LayeredMDP


def on_map(transitions: list[Floats], natural_loss: list[Floats] | None) -> LayeredMDP:
    """The MDP that declares, for every state, the successors that some action can lead to.

    The map is public, the effect of the actions is not: all actions of a state have the same
    declared successors, even those that can never reach some of them.
    """
    sizes = [step.shape[0] for step in transitions] + [1]
    possible = [(step != 0.0).any(axis=1, keepdims=True) for step in transitions]
    support = [np.broadcast_to(m, t.shape) for m, t in zip(possible, transitions, strict=True)]
    layout = Layout(sizes, transitions[0].shape[1], successors=support)
    return LayeredMDP(layout, transitions, natural_loss=natural_loss)


def time_expanded(step: Any, horizon: int, start: int = 0, loss: Any | None = None) -> LayeredMDP:
    """Unroll a stationary transition over ``horizon`` steps.

    Layer 0 is the place ``start``, layers 1 to ``horizon - 1`` hold every place that can be
    reached in that many steps, and the last action leads to the single end state.  The declared
    successors of a place are those that some action can lead to.

    Parameters
    ----------
    step
        Array of shape ``(S, A, S)``, the probability of every next place.
    horizon
        The number of actions in an episode (the paper's L).
    start
        The first place.
    loss
        Optional mean loss of shape ``(S, A)``; it becomes the natural loss of every layer.

    >>> stay_or_go = [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]]
    >>> time_expanded(stay_or_go, horizon=3).layout
    Layout(layer_sizes=(1, 2, 2, 1), n_actions=2, 16 declared triples)
    """
    try:
        array = np.asarray(step, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput("step: give an array of numbers of shape (S, A, S)") from None
    if array.ndim != 3 or array.shape[0] != array.shape[2] or 0 in array.shape:
        raise InvalidInput(f"step: shape {array.shape} is not of the form (S, A, S)")
    n_places, n_actions, _ = array.shape
    whole_number(horizon, "horizon")
    if whole_number(start, "start", least=0) >= n_places:
        raise InvalidInput(f"start: {start} is not one of the places 0..{n_places - 1}")
    end = np.ones((n_places, n_actions, 1))
    first = slice(start, start + 1)
    transitions = [array] * (horizon - 1) + [end]
    transitions[0] = transitions[0][first]
    natural_loss = None
    if loss is not None:
        table = np.asarray(loss, dtype=np.float64)
        if table.shape != (n_places, n_actions):
            raise InvalidInput(f"loss: shape {table.shape}, expected {(n_places, n_actions)}")
        natural_loss = [table[first]] + [table] * (horizon - 1)
    return on_map(transitions, natural_loss)


def grid(width: int, height: int, horizon: int, slip: float = 0.1) -> LayeredMDP:
    """A walk on a grid from the corner (0, 0) to the opposite corner.

    The five actions are up, right, down, left (numbers 0 to 3) and stay (4).  A move succeeds with
    probability ``1 - slip``; otherwise the walker goes to one of the two sides, each with
    probability ``slip / 2``.  A move into the wall leaves the walker where it is, and staying
    never slips.  The natural loss is 1 in every cell but the goal, where it is 0: without slips
    the best policy loses ``min(width + height - 2, horizon)``.

    >>> grid(2, 2, horizon=3).layout
    Layout(layer_sizes=(1, 3, 4, 1), n_actions=5, 80 declared triples)
    """
    whole_number(width, "width")
    whole_number(height, "height")
    unit_number(slip, "slip")
    moves = [(0, 1), (1, 0), (0, -1), (-1, 0)]

    def cell_after(x: int, y: int, direction: int) -> int:
        dx, dy = moves[direction % 4]
        column, row = min(max(x + dx, 0), width - 1), min(max(y + dy, 0), height - 1)
        return row * width + column

    n_cells = width * height
    step = np.zeros((n_cells, 5, n_cells))
    for y in range(height):
        for x in range(width):
            cell = y * width + x
            step[cell, 4, cell] = 1.0
            for direction in range(4):
                step[cell, direction, cell_after(x, y, direction)] += 1.0 - slip
                step[cell, direction, cell_after(x, y, direction + 1)] += slip / 2
                step[cell, direction, cell_after(x, y, direction - 1)] += slip / 2
    loss = np.ones((n_cells, 5))
    loss[-1] = 0.0
    return time_expanded(step, horizon, start=0, loss=loss)


def river_swim(length: int, horizon: int) -> LayeredMDP:
    """A swimmer who starts at the left bank of a river with a current to the left.

    Action 0 drifts one place to the left, for certain.  Action 1 swims right: from a place in
    the middle it advances with probability 0.35, holds with 0.6 and is carried back with 0.05;
    at the left bank it advances with 0.6, at the right bank it holds with 0.6.  A small reward
    of 0.005 waits at the left bank (action 0) and a reward of 1 at the right bank (action 1);
    the natural loss is one minus the reward.

    After Strehl and Littman (2008), with the numbers of Osband, Russo and Van Roy (2013).

    >>> mdp = river_swim(length=6, horizon=20)
    >>> mdp.layout.layer_sizes[:8]
    (1, 2, 3, 4, 5, 6, 6, 6)
    >>> mdp.natural_loss[0]
    array([[0.995, 1.   ]])
    """
    whole_number(length, "length", least=2)
    step = np.zeros((length, 2, length))
    left, right = 0, 1
    for place in range(length):
        step[place, left, max(place - 1, 0)] = 1.0
        step[place, right] = _swim_right(place, length)
    loss = np.ones((length, 2))
    loss[0, left] = 1.0 - 0.005
    loss[-1, right] = 0.0
    return time_expanded(step, horizon, start=0, loss=loss)


def _swim_right(place: int, length: int) -> Floats:
    probability = np.zeros(length)
    if place == 0:
        probability[[0, 1]] = 0.4, 0.6
    elif place == length - 1:
        probability[[-2, -1]] = 0.4, 0.6
    else:
        probability[[place - 1, place, place + 1]] = 0.05, 0.6, 0.35
    return probability
