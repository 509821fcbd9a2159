"""The box set: lower <= p <= upper for every triple, Eq. (confidence_set) of the paper.

Built from counters it is the empirical Bernstein set.  The solution of the row problem is
p_beta = clip(c p~ e^beta, lower, upper) with the one c for which it sums to one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ...lanes.prefetch import fetch
from ...model.graph import (
    Floats,
    Graph,
    gather,
    is_scattered,
    row_begin,
    row_dot,
    row_size,
    successor_of,
)
from ...model.log_storage import linear
from ...model.row_status import KNOWN, Marks
from ...runtime.dispatch import Borrowed
from ...runtime.indices import int64
from ...runtime.storage import Lasting, Switch
from ...runtime.targets import leaf
from .. import interface
from ..held import (
    LARGEST,
    SMALLEST,
    HeldRows,
    hold_scaled,
    hold_written,
    is_written,
    release,
    written_gain,
)
from ..interface import Order
from .clip import clip_in_logs, solve_box
from .passes import crowded, tightness

ROOMY = 1.2  # with more room than this factor it does not matter how much


class BoxRows(NamedTuple):
    """Bounds of every triple; of a KNOWN row both are its transition."""

    status: Lasting[Marks]  # (R,)
    lower: Lasting[Floats]  # (E,)
    upper: Lasting[Floats]  # (E,)
    slack: Lasting[Floats]  # (R,) 1 - sum of the lower bounds
    widths: Lasting[Floats]  # (R,) sum of upper - lower
    least_occupancy: Switch[float] = 0.0


# ---------------------------------------------------------------------- linear functions


@interface.maximise_row.register(BoxRows)
@leaf
def fill_box(graph: Graph, r: int, rows: BoxRows, value: Floats, order: Order) -> float:
    """A fractional knapsack: start from ``lower``, fill in descending order of value.

    Unlike GREEDY as printed, which moves mass away from P-bar, this needs no special case for rows
    never visited, where P-bar is not a distribution.
    """
    begin = row_begin(graph, r)
    left = rows.slack[r]
    total = 0.0
    low = left < 1.0  # or all lower bounds are zero, and need not be read
    if low:
        total = row_dot(graph, r, rows.lower, value)
    for i in range(row_size(graph, r)):
        j = order[i]
        best = value[successor_of(graph, r, j)]
        if left <= 0.0 or best <= 0.0:
            break
        room = rows.upper[begin + j]
        if low:
            room -= rows.lower[begin + j]
        take = min(left, room)
        total += take * best
        left -= take
    return total


@interface.largest_probability.register(BoxRows)
@leaf
def most_in_box(graph: Graph, r: int, position: int, rows: BoxRows) -> float:
    e = row_begin(graph, r) + position
    return min(rows.upper[e], rows.lower[e] + rows.slack[r])


@interface.fetch_entry.register(BoxRows)
@leaf
def fetch_bound(rows: BoxRows, e: int) -> None:
    fetch(rows.upper, e)


@interface.known_transition.register(BoxRows)
@leaf
def known_in_box(rows: BoxRows) -> Borrowed:
    return Borrowed(rows.lower)


@interface.make_row_known.register(BoxRows)
@leaf
def close_box(graph: Graph, r: int, transition: Floats, rows: BoxRows) -> None:
    begin = row_begin(graph, r)
    rows.status[r] = KNOWN
    rows.slack[r] = 0.0
    rows.widths[r] = 0.0
    for e in range(begin, begin + row_size(graph, r)):
        rows.lower[e] = transition[e]
        rows.upper[e] = transition[e]


# ---------------------------------------------------------------------- the relative-entropy step


@interface.solve_row.register(BoxRows)
@leaf
def solve_box_row(
    graph: Graph,
    r: int,
    chance: Floats,
    tilt: Floats,
    beta: Floats,
    rows: BoxRows,
    held: HeldRows,
) -> float:
    """A row that was scaled last time is tried so first; clipping starts from its last c."""
    was_written = is_written(held, r)
    release(held, r)
    if not was_written:
        total = row_dot(graph, r, chance, tilt)
        if not (total > SMALLEST):
            return -1.0
        hold_scaled(held, r, 1.0 / total)
        if stays_in_box(graph, r, chance, tilt, rows, held):
            return total
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    start = held.scale[r]
    work = held.work
    group = held.group
    if is_scattered(graph, r):
        gather(graph, r, tilt, held.near)
        found = solve_box(
            begin, size, chance, held.near, 0, rows.lower, rows.upper, start, work, group
        )
    else:
        first = int64(graph.first[r])
        found = solve_box(
            begin, size, chance, tilt, first, rows.lower, rows.upper, start, work, group
        )
    c, free, bend, far = found
    if not (SMALLEST < c < LARGEST):
        return -1.0
    held.scale[r] = c
    if far == 0.0:
        hold_written(held, r, math.nan, free, 0.0, 0.0)  # few ever ask for the logarithm of c
        held.gain[r] = bend
        return math.exp(bend) / c
    hold_written(held, r, math.log(c), free, 0.0, 0.0)
    held.gain[r] = written_gain(graph, r, chance, beta, held)
    return math.exp(held.gain[r])


@interface.solve_row_in_logs.register(BoxRows)
@leaf
def solve_box_row_in_logs(
    graph: Graph, r: int, chance: Floats, beta: Floats, rows: BoxRows, held: HeldRows
) -> None:
    log_scale, free = clip_in_logs(
        row_begin(graph, r), row_size(graph, r), held.work, held.group, rows.lower, rows.upper
    )
    hold_written(held, r, log_scale, free, 0.0, 0.0)
    held.gain[r] = written_gain(graph, r, chance, beta, held)


@interface.has_tightness.register(BoxRows)
@leaf
def box_has_tightness(rows: BoxRows) -> bool:
    return True


@interface.stays_inside.register(BoxRows)
@leaf
def stays_in_box(
    graph: Graph, r: int, chance: Floats, tilt: Floats, rows: BoxRows, held: HeldRows
) -> bool:
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    scale = held.scale[r]
    outside = 0
    if is_scattered(graph, r):
        for j in range(size):
            value = scale * linear(chance[begin + j]) * tilt[successor_of(graph, r, j)]
            outside += (value < rows.lower[begin + j]) | (value > rows.upper[begin + j])
    else:
        first = int64(graph.first[r])
        for j in range(size):
            value = scale * linear(chance[begin + j]) * tilt[first + j]
            outside += (value < rows.lower[begin + j]) | (value > rows.upper[begin + j])
    return outside == 0


@interface.row_tightness.register(BoxRows)
@leaf
def box_tightness(graph: Graph, r: int, chance: Floats, rows: BoxRows) -> float:
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    if crowded(chance, begin, rows.lower, begin, rows.upper, begin, size, ROOMY) == 0.0:
        return 1.0 / ROOMY  # true of most rows, and found out without a division
    return tightness(chance, begin, rows.lower, begin, rows.upper, begin, size)


@interface.guess_active_bounds.register(BoxRows)
@leaf
def guess_active_box(
    graph: Graph, r: int, chance: Floats, rows: BoxRows, held: HeldRows, push: Floats
) -> None:
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    mean = row_dot(graph, r, chance, push)
    free = 0.0
    for j in range(size):
        p = held.work[begin + j]
        way = push[successor_of(graph, r, j)] - mean
        active = (p >= rows.upper[begin + j] and way > 0.0) or (
            p <= rows.lower[begin + j] and way < 0.0
        )
        held.group[begin + j] = 0 if active else 1
        free += 0.0 if active else p
    held.group_mass[2 * r] = free
