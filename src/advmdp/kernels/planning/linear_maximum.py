"""The largest <p, f> over a row, for any f >= 0: the inner maximum of COMP-UOB."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model.graph import (
    Floats,
    Graph,
    layer_begin,
    layer_end,
    position_of,
    row_begin,
    row_dot,
    row_size,
    successor_of,
)
from ..model.row_status import is_free, is_known
from ..runtime.storage import Private, Scratch
from ..runtime.targets import leaf
from ..runtime.threads import MAY_SHARE, barrier, n_threads, shared
from ..sets.interface import (
    Order,
    known_transition,
    largest_probability,
    maximise_printed,
    maximise_row,
)
from .occupancy_lanes import ReachInLanes
from .occupancy_packs import ReachInPacks
from .ranking import sort_descending


class Reach(NamedTuple):
    """Work space of one backward pass."""

    value: Scratch[Floats]  # (S,) f
    bound: Scratch[Floats]  # (L,) the largest occupancies of the states of a path
    part: Scratch[Floats]  # (R,) what a row adds to it
    keys: Private[Floats]  # (widest layer,) f of the states being sorted
    order: Scratch[NDArray[np.int64]]  # (widest layer,) positions in a full row, f descending
    row_order: Private[
        NDArray[np.int64]
    ]  # (widest layer,) the same for one row with fewer successors
    lanes: ReachInLanes
    packs: ReachInPacks


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
def has_fewer_successors(graph: Graph, r: int, k: int) -> bool:
    """Whether a row of layer k leads to a part of the next layer only."""
    return row_size(graph, r) < layer_end(graph, k + 1) - layer_begin(graph, k + 1)


@leaf
def maximum_in_order(graph: Graph, r: int, rows: Any, value: Floats, order: Order) -> float:
    """max <p, value> over a row that is not known, its successors in descending order of value."""
    if is_free(rows, r):
        return value[successor_of(graph, r, order[0])]
    return maximise_row(graph, r, rows, value, order)  # type: ignore[no-any-return]


@leaf
def maximum_over_row(graph: Graph, r: int, k: int, rows: Any, reach: Reach) -> float:
    """max <p, f> over the row's set, for a row of layer k.

    The next layer is sorted already, unless the row has a declared support: then it is sorted here.
    """
    if is_known(rows, r):
        return row_dot(graph, r, known_transition(rows).array, reach.value)
    if has_fewer_successors(graph, r, k):
        sort_row(graph, r, reach)
        return maximum_in_order(graph, r, rows, reach.value, reach.row_order)
    return maximum_in_order(graph, r, rows, reach.value, reach.order)


@leaf
def printed_maximum_over_row(graph: Graph, r: int, k: int, rows: Any, reach: Reach) -> float:
    """The same by the printed procedure of the set, where there is one."""
    if has_fewer_successors(graph, r, k):
        sort_row(graph, r, reach)
        return maximise_printed(graph, r, rows, reach.value, reach.row_order)  # type: ignore[no-any-return]
    return maximise_printed(graph, r, rows, reach.value, reach.order)  # type: ignore[no-any-return]


@leaf
def largest_probability_of(graph: Graph, r: int, target: int, rows: Any) -> float:
    """The largest p(target) over the row's set: the same with f the indicator of one state."""
    position = position_of(graph, r, target)
    if position < 0:
        return 0.0
    if is_free(rows, r):
        return 1.0
    if is_known(rows, r):
        return known_transition(rows).array[row_begin(graph, r) + position]  # type: ignore[no-any-return]
    return largest_probability(graph, r, position, rows)  # type: ignore[no-any-return]
