"""Walks on a fixed set of places, expanded over time; see ``time_expand`` for ``pooled``."""

from __future__ import annotations

import numpy as np

from advmdp.checks.numbers import unit_number, whole_number
from advmdp.layout import Floats
from advmdp.layout.checks import MAX_ENTRIES, MAX_LAYERS, refuse_too_large, refuse_too_many
from advmdp.world.mdp import LayeredMDP
from advmdp.world.time_expand import time_expand


def grid(
    width: int, height: int, horizon: int, slip: float = 0.1, *, pooled: bool = False
) -> LayeredMDP:
    """Grid world: a walk from the corner (0, 0) to the opposite corner.

    The five actions are up, right, down, left (numbers 0 to 3) and stay (4).  A move succeeds with
    probability ``1 - slip``; otherwise the walker goes to one of the two sides, each with
    probability ``slip / 2``.  A move into the wall leaves the walker where it is, and staying
    never slips.  The natural loss is 1 in every cell but the goal, where it is 0: without slips
    the best policy loses ``min(width + height - 2, horizon)``.

    >>> grid(2, 2, horizon=3).layout
    Layout(layer_sizes=(1, 3, 4, 1), n_actions=5, 80 declared triples)
    """
    width = whole_number(width, "width", most=MAX_ENTRIES)
    height = whole_number(height, "height", most=MAX_ENTRIES)
    horizon, slip = whole_number(horizon, "horizon", most=MAX_LAYERS), unit_number(slip, "slip")
    refuse_too_many(5 * (width * height) ** 2)
    refuse_too_large((width * height,) * horizon + (1,), 5, is_dense=False)
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
    return time_expand(step, horizon, start=0, loss=loss, pooled=pooled)


def river_swim(length: int, horizon: int, *, pooled: bool = False) -> LayeredMDP:
    """River swim: a swimmer starts at the left bank, and the current flows to the left.

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
    length = whole_number(length, "length", least=2, most=MAX_ENTRIES)
    horizon = whole_number(horizon, "horizon", most=MAX_LAYERS)
    refuse_too_many(2 * length**2)
    refuse_too_large((length,) * horizon + (1,), 2, is_dense=False)
    step = np.zeros((length, 2, length))
    left, right = 0, 1
    for place in range(length):
        step[place, left, max(place - 1, 0)] = 1.0
        step[place, right] = _swim_right(place, length)
    loss = np.ones((length, 2))
    loss[0, left] = 1.0 - 0.005
    loss[-1, right] = 0.0
    return time_expand(step, horizon, start=0, loss=loss, pooled=pooled)


def _swim_right(place: int, length: int) -> Floats:
    probability = np.zeros(length)
    if place == 0:
        probability[[0, 1]] = 0.4, 0.6
    elif place == length - 1:
        probability[[-2, -1]] = 0.4, 0.6
    else:
        probability[[place - 1, place, place + 1]] = 0.05, 0.6, 0.35
    return probability
