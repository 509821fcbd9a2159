"""The box set: lower <= p <= upper for every triple, Eq. (confidence_set) of the paper.

Built from counters it is the empirical Bernstein set.  The solution of the row problem is
p_beta = clip(c p~ e^beta, lower, upper) with the one c for which it sums to one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..model.graph import (
    Floats,
    Graph,
    gather,
    is_scattered,
    row_begin,
    row_dot,
    row_size,
    successor_of,
)
from ..model.log_storage import linear
from ..model.row_status import BOUND, FREE, KNOWN, Marks, is_free
from ..model.visits import Visits
from ..runtime.dispatch import Borrowed
from ..runtime.indices import int64
from ..runtime.storage import Lasting, Switch
from ..runtime.targets import kernel, leaf
from . import interface
from .box_clip import clip_in_logs, solve_box
from .box_passes import crowded, tightness
from .held import (
    LARGEST,
    SMALLEST,
    HeldRows,
    hold_scaled,
    hold_written,
    is_written,
    release,
    written_gain,
)
from .interface import Order

ROOMY = 1.2  # with more room than this factor it does not matter how much


class BoxRows(NamedTuple):
    """Bounds of every triple; of a KNOWN row both are its transition."""

    status: Lasting[Marks]  # (R,)
    lower: Lasting[Floats]  # (E,)
    upper: Lasting[Floats]  # (E,)
    slack: Lasting[Floats]  # (R,) 1 - sum of the lower bounds
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


@interface.largest_probability.register(BoxRows)
@leaf
def most_in_box(graph: Graph, r: int, position: int, rows: BoxRows) -> float:
    e = row_begin(graph, r) + position
    return min(rows.upper[e], rows.lower[e] + rows.slack[r])


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


# ---------------------------------------------------------------------- counters


@interface.learns_from_counts.register(BoxRows)
@kernel
def box_learns(rows: BoxRows) -> bool:
    return True


@interface.rebuild_row.register(BoxRows)
@leaf
def bernstein_row(graph: Graph, r: int, visits: Visits, log_term: float, rows: BoxRows) -> None:
    """The empirical Bernstein interval of each triple, Eq. (width): N - 1 in both terms."""
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    cell = int64(visits.cell[r])
    n = float(visits.pairs[int64(visits.counter[r])])
    inverse = log_term / max(1.0, n - 1.0)
    constant = 14.0 / 3.0 * inverse
    total = 0.0
    vacuous = True
    for j in range(size):
        centre = visits.triples[cell + j] / max(1.0, n)
        width = 2.0 * math.sqrt(centre * inverse) + constant
        lower = max(0.0, centre - width)
        upper = min(1.0, centre + width)
        rows.lower[begin + j] = lower
        rows.upper[begin + j] = upper
        total += lower
        vacuous = vacuous and lower == 0.0 and upper == 1.0
    rows.slack[r] = 1.0 - total
    rows.status[r] = FREE if vacuous or size == 1 else BOUND


@interface.copy_row.register(BoxRows)
@leaf
def copy_box_row(graph: Graph, r: int, rows: BoxRows, target: BoxRows) -> None:
    begin = row_begin(graph, r)
    target.status[r] = rows.status[r]
    target.slack[r] = rows.slack[r]
    for e in range(begin, begin + row_size(graph, r)):
        target.lower[e] = rows.lower[e]
        target.upper[e] = rows.upper[e]


@interface.mean_width.register(BoxRows)
@kernel
def mean_box_width(rows: BoxRows) -> float:
    """The mean over triples of upper - lower."""
    total = 0.0
    for e in range(rows.lower.shape[0]):
        total += rows.upper[e] - rows.lower[e]
    return total / rows.lower.shape[0]


@interface.contains_row.register(BoxRows)
@leaf
def box_contains(graph: Graph, r: int, transition: Floats, rows: BoxRows, tolerance: float) -> bool:
    begin = row_begin(graph, r)
    if is_free(rows, r):
        return True
    for e in range(begin, begin + row_size(graph, r)):
        p = transition[e]
        if p < rows.lower[e] - tolerance or p > rows.upper[e] + tolerance:
            return False
    return True


@interface.log_scale_to_contain.register(BoxRows)
@leaf
def log_scale_of_box(
    graph: Graph, r: int, transition: Floats, visits: Visits, log_term: float, rows: BoxRows
) -> float:
    """2 sqrt(centre s) + 14/3 s = |P - centre| with s = factor log_term / max(1, N - 1)."""
    begin = row_begin(graph, r)
    cell = int64(visits.cell[r])
    n = visits.pairs[int64(visits.counter[r])]
    factor = 0.0
    for j in range(row_size(graph, r)):
        centre = visits.triples[cell + j] / n
        away = abs(transition[begin + j] - centre)
        root = (math.sqrt(centre + 14.0 / 3.0 * away) - math.sqrt(centre)) * 3.0 / 14.0
        factor = max(factor, root * root * max(1, n - 1) / log_term)
    return factor


@interface.common_bounds.register(BoxRows)
@leaf
def intersect_boxes(rows: BoxRows, low: Floats, high: Floats) -> None:
    for e in range(low.shape[0]):
        low[e] = max(low[e], rows.lower[e])
        high[e] = min(high[e], rows.upper[e])
