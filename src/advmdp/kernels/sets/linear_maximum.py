"""The largest <p, f> over the set of one row, for any f: the inner maximum of COMP-UOB.

For a box it starts from ``lower`` and fills the states in descending order of f until the row sums
to one.  Unlike GREEDY as printed (which moves mass away from P-bar) this needs no special case for
rows never visited, where P-bar is not a distribution.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model.graph import (
    Floats,
    Graph,
    is_scattered,
    layer_begin,
    layer_end,
    row_begin,
    row_dot,
    row_size,
    successor_of,
)
from ..runtime.targets import kernel, leaf
from ..runtime.threads import MAY_SHARE, barrier, n_threads, shared
from .rows import BALL, BOX, FIXED, SIMPLEX, TransitionSet


class Reach(NamedTuple):
    """Work space of one backward pass."""

    value: Floats  # (S,) f
    part: Floats  # (R,) what a row adds to it
    keys: Floats  # (widest layer,) f of the states being sorted
    order: NDArray[np.int64]  # (widest layer,) positions in a full row, f descending
    row_order: NDArray[np.int64]  # (widest layer,) the same for one row with fewer successors


@kernel
def sort_descending(keys: Floats, order: NDArray[np.int64], n: int) -> None:
    """order[:n] = the positions 0 .. n-1 by descending keys (Shell sort)."""
    for i in range(n):
        order[i] = i
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap >= 1:
        for i in range(gap, n):
            item = order[i]
            j = i
            while j >= gap and keys[order[j - gap]] < keys[item]:
                order[j] = order[j - gap]
                j -= gap
            order[j] = item
        gap //= 3


@leaf
def sort_layer(graph: Graph, k: int, reach: Reach) -> None:
    """Sort the states of layer k by f."""
    begin = layer_begin(graph, k)
    width = layer_end(graph, k) - begin
    if MAY_SHARE and n_threads() > 1:  # each counts for some states how many come before them
        for i in shared(0, width):
            before = 0
            for j in range(width):
                ahead = reach.value[begin + j] > reach.value[begin + i]
                equal = reach.value[begin + j] == reach.value[begin + i]
                before += 1 if ahead or (equal and j < i) else 0
            reach.order[before] = i
        barrier()
        return
    for i in range(width):
        reach.keys[i] = reach.value[begin + i]
    sort_descending(reach.keys, reach.order, width)


@leaf
def sort_row(graph: Graph, r: int, reach: Reach) -> None:
    """Sort the successors of one row by f."""
    size = row_size(graph, r)
    for j in range(size):
        reach.keys[j] = reach.value[successor_of(graph, r, j)]
    sort_descending(reach.keys, reach.row_order, size)


@leaf
def fill_box(
    graph: Graph, r: int, rows: TransitionSet, value: Floats, order: NDArray[np.int64]
) -> float:
    """max <p, value> over a box row: a fractional knapsack."""
    begin = row_begin(graph, r)
    total = row_dot(graph, r, rows.lower, value)
    left = rows.slack[r]
    for i in range(row_size(graph, r)):
        j = order[i]
        best = value[successor_of(graph, r, j)]
        if left <= 0.0 or best <= 0.0:
            break
        take = min(left, rows.upper[begin + j] - rows.lower[begin + j])
        total += take * best
        left -= take
    return total


@leaf
def shift_ball(
    graph: Graph, r: int, rows: TransitionSet, value: Floats, order: NDArray[np.int64]
) -> float:
    """max <p, value> over an L1 ball row: half the width moves from the worst to the best state.

    No successor is left with less than the least probability of the row.
    """
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    least = rows.slack[r]
    total = row_dot(graph, r, rows.lower, value)
    j = order[0]
    left = min(0.5 * rows.width[r], 1.0 - least * (size - 1) - rows.lower[begin + j])
    total += left * value[successor_of(graph, r, j)]
    for back in range(size - 1):
        j = order[size - 1 - back]
        if left <= 0.0:
            break
        take = min(left, rows.lower[begin + j] - least)
        total -= take * value[successor_of(graph, r, j)]
        left -= take
    return total


@leaf
def printed_ball(
    graph: Graph, r: int, rows: TransitionSet, value: Floats, order: NDArray[np.int64]
) -> float:
    """Comp-Prob-UB of the supplement as it is printed, for comparison only.

    Its branch at width 1 overestimates for widths between 1 and 2, and with a single successor it
    takes away mass that it could not add, which underestimates.
    """
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    width = rows.width[r]
    if width > 1.0:
        return value[successor_of(graph, r, order[0])]
    total = row_dot(graph, r, rows.lower, value)
    left = 0.5 * width
    for i in range(size):
        take = min(left, 1.0 - rows.lower[begin + order[i]])
        total += take * value[successor_of(graph, r, order[i])]
        left -= take
    left = 0.5 * width
    for back in range(size):
        j = order[size - 1 - back]
        take = min(left, rows.lower[begin + j])
        total -= take * value[successor_of(graph, r, j)]
        left -= take
    return total


@leaf
def best_printed_row(graph: Graph, r: int, k: int, rows: TransitionSet, reach: Reach) -> float:
    """``printed_ball`` with the successors sorted, as in ``best_row``."""
    if row_size(graph, r) < layer_end(graph, k + 1) - layer_begin(graph, k + 1):
        sort_row(graph, r, reach)
        return printed_ball(graph, r, rows, reach.value, reach.row_order)
    return printed_ball(graph, r, rows, reach.value, reach.order)


@leaf
def best_sorted(
    graph: Graph,
    r: int,
    kind: int,
    rows: TransitionSet,
    value: Floats,
    order: NDArray[np.int64],
) -> float:
    """max <p, value> over a row's set, the successors in descending order of value."""
    if kind == SIMPLEX:
        return value[successor_of(graph, r, order[0])]
    if kind == BOX:
        return fill_box(graph, r, rows, value, order)
    return shift_ball(graph, r, rows, value, order)


@leaf
def best_row(graph: Graph, r: int, k: int, rows: TransitionSet, reach: Reach) -> float:
    """max <p, f> over the row's set, for a row of layer k.

    The next layer is sorted already, unless the row has a declared support: then it is sorted here.
    """
    kind = rows.kind[r]
    if kind == FIXED:
        return row_dot(graph, r, rows.lower, reach.value)
    if row_size(graph, r) < layer_end(graph, k + 1) - layer_begin(graph, k + 1):
        sort_row(graph, r, reach)
        return best_sorted(graph, r, kind, rows, reach.value, reach.row_order)
    return best_sorted(graph, r, kind, rows, reach.value, reach.order)


@leaf
def chance_of_one(graph: Graph, r: int, target: int, rows: TransitionSet) -> float:
    """The largest p(target) over the row's set: the same with f the indicator of one state."""
    size = row_size(graph, r)
    position = -1
    if is_scattered(graph, r):
        for j in range(size):
            if successor_of(graph, r, j) == target:
                position = j
    else:
        position = target - successor_of(graph, r, 0)
    if position < 0 or position >= size:
        return 0.0
    e = row_begin(graph, r) + position
    kind = rows.kind[r]
    if kind == SIMPLEX:
        return 1.0
    if kind == BOX:
        return min(rows.upper[e], rows.lower[e] + rows.slack[r])
    if kind == BALL:
        return min(1.0 - rows.slack[r] * (size - 1), rows.lower[e] + 0.5 * rows.width[r])
    return rows.lower[e]
