"""A set of transitions that the package does not have: p >= lower, and no upper bounds.

Built from counters it keeps the lower half of the empirical Bernstein interval.  The solution of
the row problem is p_beta = max(lower, c p~ e^beta).  Everything is registered from here; nothing in
the package knows of it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from advmdp.kernels.model.graph import (
    Floats,
    Graph,
    row_begin,
    row_dot,
    row_size,
    row_tilt,
    successor_of,
)
from advmdp.kernels.model.row_status import BOUND, FREE, KNOWN, Marks, is_free
from advmdp.kernels.model.visits import Visits
from advmdp.kernels.runtime.dispatch import Borrowed
from advmdp.kernels.runtime.indices import int64
from advmdp.kernels.runtime.storage import Lasting, Switch
from advmdp.kernels.runtime.targets import kernel, leaf
from advmdp.kernels.sets import interface
from advmdp.kernels.sets.held import (
    LARGEST,
    SMALLEST,
    HeldRows,
    hold_written,
    release,
    written_gain,
)
from advmdp.kernels.sets.interface import Order
from advmdp.kernels.sets.log_domain import largest_log


class LowerRows(NamedTuple):
    """Lower bounds; those of a KNOWN row are its transition."""

    status: Lasting[Marks]  # (R,)
    lower: Lasting[Floats]  # (E,)
    slack: Lasting[Floats]  # (R,) 1 - sum of the lower bounds
    least_occupancy: Switch[float] = 0.0


@interface.maximise_row.register(LowerRows)
@leaf
def give_all_to_the_best(
    graph: Graph, r: int, rows: LowerRows, value: Floats, order: Order
) -> float:
    best = value[successor_of(graph, r, order[0])]
    return row_dot(graph, r, rows.lower, value) + rows.slack[r] * best


@interface.largest_probability.register(LowerRows)
@leaf
def lower_and_slack(graph: Graph, r: int, position: int, rows: LowerRows) -> float:
    return rows.lower[row_begin(graph, r) + position] + rows.slack[r]


@interface.known_transition.register(LowerRows)
@leaf
def known_in_lower(rows: LowerRows) -> Borrowed:
    return Borrowed(rows.lower)


@interface.make_row_known.register(LowerRows)
@leaf
def close_lower(graph: Graph, r: int, transition: Floats, rows: LowerRows) -> None:
    begin = row_begin(graph, r)
    rows.status[r] = KNOWN
    rows.slack[r] = 0.0
    for e in range(begin, begin + row_size(graph, r)):
        rows.lower[e] = transition[e]


@kernel
def raise_to(
    begin: int, size: int, work: Floats, group: Marks, lower: Floats
) -> tuple[float, float]:
    """Turn w into max(lower, c w) with sum one; c (inf if floats cannot hold it), free mass."""
    for e in range(begin, begin + size):
        group[e] = 1
    c = 1.0
    for _ in range(size + 1):  # every pass but the last raises another entry
        free = 0.0
        left = 1.0
        for e in range(begin, begin + size):
            free += work[e] if group[e] == 1 else 0.0
            left -= lower[e] if group[e] == 0 else 0.0
        c = left / free if free > 0.0 else math.inf
        raised = 0
        for e in range(begin, begin + size):
            if group[e] == 1 and c * work[e] < lower[e]:
                group[e] = 0
                raised += 1
        if raised == 0:
            break
    mass = 0.0
    for e in range(begin, begin + size):
        work[e] = c * work[e] if group[e] == 1 else lower[e]
        mass += work[e] if group[e] == 1 else 0.0
    return c, mass


@interface.solve_row.register(LowerRows)
@leaf
def solve_lower_row(
    graph: Graph,
    r: int,
    chance: Floats,
    tilt: Floats,
    beta: Floats,
    rows: LowerRows,
    held: HeldRows,
) -> float:
    release(held, r)
    total = row_dot(graph, r, chance, tilt)
    if not (total > SMALLEST):
        return -1.0
    row_tilt(graph, r, chance, tilt, 1.0, held.work)
    c, free = raise_to(row_begin(graph, r), row_size(graph, r), held.work, held.group, rows.lower)
    if not (SMALLEST < c < LARGEST):
        return -1.0
    hold_written(held, r, math.log(c), free, 0.0, 0.0)
    held.gain[r] = written_gain(graph, r, chance, beta, held)
    return math.exp(held.gain[r])


@interface.solve_row_in_logs.register(LowerRows)
@leaf
def solve_lower_row_in_logs(
    graph: Graph, r: int, chance: Floats, beta: Floats, rows: LowerRows, held: HeldRows
) -> None:
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    top = largest_log(begin, size, held.work)
    for e in range(begin, begin + size):
        held.work[e] = math.exp(held.work[e] - top)
    c, free = raise_to(begin, size, held.work, held.group, rows.lower)
    hold_written(held, r, math.log(c) - top, free, 0.0, 0.0)
    held.gain[r] = written_gain(graph, r, chance, beta, held)


@interface.learns_from_counts.register(LowerRows)
@leaf
def lower_learns(rows: LowerRows) -> bool:
    return True


@interface.rebuild_row.register(LowerRows)
@leaf
def lower_bernstein_row(
    graph: Graph, r: int, visits: Visits, log_term: float, rows: LowerRows
) -> None:
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    cell = int64(visits.cell[r])
    n = float(visits.pairs[int64(visits.counter[r])])
    inverse = log_term / max(1.0, n - 1.0)
    total = 0.0
    for j in range(size):
        centre = visits.triples[cell + j] / max(1.0, n)
        width = 2.0 * math.sqrt(centre * inverse) + 14.0 / 3.0 * inverse
        rows.lower[begin + j] = max(0.0, centre - width)
        total += rows.lower[begin + j]
    rows.slack[r] = 1.0 - total
    rows.status[r] = FREE if total == 0.0 or size == 1 else BOUND


@interface.copy_row.register(LowerRows)
@leaf
def copy_lower_row(graph: Graph, r: int, rows: LowerRows, target: LowerRows) -> None:
    begin = row_begin(graph, r)
    target.status[r] = rows.status[r]
    target.slack[r] = rows.slack[r]
    for e in range(begin, begin + row_size(graph, r)):
        target.lower[e] = rows.lower[e]


@interface.mean_width.register(LowerRows)
@kernel
def mean_slack(rows: LowerRows) -> float:
    """The mean over rows of what the lower bounds leave."""
    total = 0.0
    for r in range(rows.slack.shape[0]):
        total += rows.slack[r]
    return total / rows.slack.shape[0]


@interface.contains_row.register(LowerRows)
@leaf
def is_above(graph: Graph, r: int, transition: Floats, rows: LowerRows, tolerance: float) -> bool:
    begin = row_begin(graph, r)
    if is_free(rows, r):
        return True
    for e in range(begin, begin + row_size(graph, r)):
        if transition[e] < rows.lower[e] - tolerance:
            return False
    return True


@interface.log_scale_to_contain.register(LowerRows)
@leaf
def log_scale_of_lower(
    graph: Graph, r: int, transition: Floats, visits: Visits, log_term: float, rows: LowerRows
) -> float:
    """As for the box, for entries that P lies below of."""
    begin = row_begin(graph, r)
    cell = int64(visits.cell[r])
    n = visits.pairs[int64(visits.counter[r])]
    factor = 0.0
    for j in range(row_size(graph, r)):
        centre = visits.triples[cell + j] / n
        away = max(centre - transition[begin + j], 0.0)
        root = (math.sqrt(centre + 14.0 / 3.0 * away) - math.sqrt(centre)) * 3.0 / 14.0
        factor = max(factor, root * root * max(1, n - 1) / log_term)
    return factor
