"""Linear functions over eight boxes at a time (``lanes/eight_rows``), for rows of any status.

A known row is a box without width, a row about which nothing is known the box [0, 1], which need
not be read.
"""

from __future__ import annotations

from ...lanes.eight_rows import fill_eight, fill_eight_above
from ...lanes.passes import HAS_LANES
from ...lanes.vectors import N_LANES
from ...model.graph import Floats, Graph, row_begin, row_dot, row_size
from ...model.row_status import FREE
from ...runtime.indices import int64, place
from ...runtime.targets import leaf
from .. import interface
from ..interface import Order
from .rows import BoxRows


@interface.takes_eight_rows.register(BoxRows)
@leaf
def boxes_take_eight(rows: BoxRows) -> bool:
    return HAS_LANES


@leaf
def are_free(rows: BoxRows, r: int) -> bool:
    """Whether nothing is known about eight rows."""
    n_free = 0
    for i in range(N_LANES):
        n_free += 1 if rows.status[place(r) + i] == FREE else 0
    return n_free == N_LANES


@interface.maximise_eight_rows.register(BoxRows)
@leaf
def fill_eight_boxes(
    graph: Graph, r: int, rows: BoxRows, value: Floats, order: Order, out: Floats
) -> None:
    first = int64(graph.first[r])
    if are_free(rows, r):
        best = value[first + order[0]]
        for i in range(N_LANES):
            out[place(r) + i] = best
        return
    n_above = 0
    for i in range(r, r + N_LANES):
        out[i] = 0.0
        if rows.slack[i] < 1.0:  # or all lower bounds are zero, and need not be read
            out[i] = row_dot(graph, i, rows.lower, value)
            n_above += 1
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    if n_above > 0:
        fill_eight_above(
            rows.upper, rows.lower, begin, size, rows.slack, r, value, first, order, out
        )
    else:
        fill_eight(rows.upper, rows.lower, begin, size, rows.slack, r, value, first, order, out)


@interface.eight_probabilities.register(BoxRows)
@leaf
def most_in_eight_boxes(graph: Graph, r: int, position: int, rows: BoxRows, out: Floats) -> None:
    if are_free(rows, r):
        for i in range(N_LANES):
            out[place(r) + i] = 1.0
        return
    e = row_begin(graph, r) + position
    for i in range(r, r + N_LANES):
        most = rows.upper[e]
        if rows.slack[i] < 1.0:
            most = min(most, rows.lower[e] + rows.slack[i])
        out[i] = most
        e += row_size(graph, r)
