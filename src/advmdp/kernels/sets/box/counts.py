"""The box set as a confidence set: empirical Bernstein intervals, membership, width."""

from __future__ import annotations

import math

from ...lanes.passes import total
from ...model.graph import Floats, Graph, row_begin, row_size
from ...model.row_status import BOUND, FREE, is_free
from ...model.visits import Visits
from ...runtime.indices import int64
from ...runtime.targets import kernel, leaf
from .. import interface
from .rows import BoxRows


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
    low = 0.0
    widths = 0.0
    vacuous = True
    for j in range(size):
        centre = visits.triples[cell + j] / max(1.0, n)
        width = 2.0 * math.sqrt(centre * inverse) + constant
        lower = max(0.0, centre - width)
        upper = min(1.0, centre + width)
        rows.lower[begin + j] = lower
        rows.upper[begin + j] = upper
        low += lower
        widths += upper - lower
        vacuous = vacuous and lower == 0.0 and upper == 1.0
    rows.slack[r] = 1.0 - low
    rows.widths[r] = widths
    rows.status[r] = FREE if vacuous or size == 1 else BOUND


@interface.copy_row.register(BoxRows)
@leaf
def copy_box_row(graph: Graph, r: int, rows: BoxRows, target: BoxRows) -> None:
    begin = row_begin(graph, r)
    target.status[r] = rows.status[r]
    target.slack[r] = rows.slack[r]
    target.widths[r] = rows.widths[r]
    for e in range(begin, begin + row_size(graph, r)):
        target.lower[e] = rows.lower[e]
        target.upper[e] = rows.upper[e]


@interface.mean_width.register(BoxRows)
@kernel
def mean_box_width(rows: BoxRows) -> float:
    """The mean over triples of upper - lower, from the sums of the rows."""
    return total(rows.widths, 0, rows.widths.shape[0]) / rows.lower.shape[0]


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
