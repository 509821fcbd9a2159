"""The row oracle: the best transition of one row at given beta.

The oracle maximises  <p, beta> - KL(p || p~)  over the row's set; the value is the row's gain in G
(see ``dual``).  A row that no bound touches has p = scale * p~ e^beta, which is not written out.
"""

from __future__ import annotations

import math

from ..model.graph import (
    Floats,
    Graph,
    gather,
    is_scattered,
    row_begin,
    row_dot,
    row_size,
    row_tilt,
    successor_of,
)
from ..model.log_storage import linear, logarithm
from ..runtime.indices import int64
from ..runtime.targets import kernel, leaf
from ..sets.ball import ball_distance, ball_scale, clip_ball, floor_scale
from ..sets.log_domain import careful_ball, careful_box, careful_simplex
from ..sets.rows import BALL, BOX, FIXED, SIMPLEX, TransitionSet, solve_box
from .dual import CONSTANT, IMPLICIT, LARGEST, SMALLEST, WRITTEN, Dual, Measure


@leaf
def stays_free(graph: Graph, r: int, chance: Floats, dual: Dual, rows: TransitionSet) -> bool:
    """Whether  scale * p~ * tilt  keeps to the bounds of a box row."""
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    scale = dual.scale[r]
    outside = 0
    if is_scattered(graph, r):
        for j in range(size):
            value = scale * linear(chance[begin + j]) * dual.tilt[successor_of(graph, r, j)]
            outside += (value < rows.lower[begin + j]) | (value > rows.upper[begin + j])
    else:
        first = int64(graph.first[r])
        for j in range(size):
            value = scale * linear(chance[begin + j]) * dual.tilt[first + j]
            outside += (value < rows.lower[begin + j]) | (value > rows.upper[begin + j])
    return outside == 0


@kernel
def log_weigh_row(graph: Graph, r: int, table: Floats, beta: Floats, out: Floats) -> None:
    """Write ``ln table + beta[successor]`` to ``out``."""
    begin = row_begin(graph, r)
    for j in range(row_size(graph, r)):
        out[begin + j] = logarithm(table[begin + j]) + beta[successor_of(graph, r, j)]


@leaf
def written_gain(graph: Graph, r: int, measure: Measure, dual: Dual) -> float:
    """<p, beta> - KL(p || p~) of a written row: -ln c on free entries, explicit on clipped ones.

    An entry that stays at its bound needs no logarithm, ln(p~ / p) = (p~ - p) / p to rounding, so
    the first loop has no branch; the second is for entries that have just arrived at a bound.
    """
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    gather(graph, r, dual.beta, dual.near)
    total = 0.0
    for g in range(2):
        mass = dual.group_mass[2 * r + g]
        if mass > 0.0:
            total -= mass * dual.log_scale[2 * r + g]
    arrived = 0
    for j in range(size):
        p = dual.work[begin + j]
        change = measure.chance[begin + j] - p
        clipped = dual.group[begin + j] == 0
        far = abs(change) > 1e-8 * p
        total += p * dual.near[j] + (0.0 if far else change) if clipped else 0.0
        arrived += clipped & far
    if arrived > 0:
        for j in range(size):
            p = dual.work[begin + j]
            far = abs(measure.chance[begin + j] - p) > 1e-8 * p
            if dual.group[begin + j] == 0 and far and p > 0.0:
                total += p * (logarithm(measure.chance[begin + j]) - math.log(p))
    return total


@leaf
def set_groups(
    dual: Dual, r: int, log_a: float, mass_a: float, log_b: float, mass_b: float
) -> None:
    dual.log_scale[2 * r] = log_a
    dual.log_scale[2 * r + 1] = log_b
    dual.group_mass[2 * r] = mass_a
    dual.group_mass[2 * r + 1] = mass_b
    dual.holding[r] = WRITTEN


@leaf
def rests(r: int, rows: TransitionSet, dual: Dual) -> bool:
    """Whether a row is written and known to lie in its box."""
    return rows.kind[r] == BOX and dual.holding[r] == WRITTEN and bool(dual.tight[r] <= 1.0)


@leaf
def rest_row(graph: Graph, r: int, measure: Measure, dual: Dual) -> None:
    """The oracle of a written row that lies in its set, at beta = 0: p~ itself.

    All its entries count as free: which of them a bound will hold is not known before beta moves.
    """
    begin = row_begin(graph, r)
    for j in range(row_size(graph, r)):
        dual.work[begin + j] = linear(measure.chance[begin + j])
        dual.group[begin + j] = 1
    dual.scale[r] = 1.0
    dual.gain[r] = 0.0
    set_groups(dual, r, math.nan, 1.0, 0.0, 0.0)


@leaf
def solve_row(
    graph: Graph, r: int, measure: Measure, rows: TransitionSet, dual: Dual, at_zero: bool
) -> float:
    """The row oracle; returns e^gain, or -1 when floats cannot hold the row."""
    kind = rows.kind[r]
    if at_zero and rests(r, rows, dual):
        rest_row(graph, r, measure, dual)
        return 1.0
    if kind == FIXED:
        dual.holding[r] = CONSTANT
        dual.gain[r] = row_dot(graph, r, measure.chance, dual.beta)
        return math.exp(dual.gain[r])
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    was_clipped = dual.holding[r] == WRITTEN
    dual.holding[r] = IMPLICIT
    if kind == BALL or not was_clipped:
        total = row_dot(graph, r, measure.chance, dual.tilt)
        if not (total > SMALLEST):
            return -1.0
        dual.scale[r] = 1.0 / total
        if kind == BOX and stays_free(graph, r, measure.chance, dual, rows):
            return total
    if kind == BOX:
        chance = measure.chance
        start = dual.scale[r]
        work = dual.work
        group = dual.group
        if is_scattered(graph, r):
            gather(graph, r, dual.tilt, dual.near)
            found = solve_box(begin, size, chance, dual.near, 0, rows, start, work, group)
        else:
            first = int64(graph.first[r])
            found = solve_box(begin, size, chance, dual.tilt, first, rows, start, work, group)
        c, free, bend, far = found
        if not (SMALLEST < c < LARGEST):
            return -1.0
        dual.scale[r] = c
        if far == 0.0:
            set_groups(dual, r, math.nan, free, 0.0, 0.0)  # few ever ask for the logarithm of c
            dual.gain[r] = bend
            return math.exp(bend) / c
        set_groups(dual, r, math.log(c), free, 0.0, 0.0)
    else:
        row_tilt(graph, r, measure.chance, dual.tilt, 1.0, dual.work)
        half = 0.5 * rows.width[r]
        floor = rows.slack[r]
        a = dual.scale[r]
        if floor > 0.0:
            a = floor_scale(begin, size, dual.work, a, floor)
        b = a
        if ball_distance(begin, size, dual.work, rows, a, floor) > 2.0 * half:
            a = ball_scale(begin, size, dual.work, rows, a, half, floor, True)
            b = ball_scale(begin, size, dual.work, rows, b, half, floor, False)
        elif floor == 0.0:
            return 1.0 / dual.scale[r]
        if not (SMALLEST < a < LARGEST and SMALLEST < b < LARGEST):
            return -1.0
        raised, lowered = clip_ball(begin, size, dual.work, dual.group, rows, a, b, floor)
        set_groups(dual, r, math.log(a), raised, math.log(b), lowered)
    dual.gain[r] = written_gain(graph, r, measure, dual)
    return math.exp(dual.gain[r])


@kernel
def solve_row_in_logs(
    graph: Graph, r: int, measure: Measure, rows: TransitionSet, dual: Dual
) -> None:
    """The row oracle on the safe path: p_beta is always written, nothing can overflow."""
    kind = rows.kind[r]
    if kind == FIXED:
        dual.holding[r] = CONSTANT
        dual.gain[r] = row_dot(graph, r, measure.chance, dual.beta)
        return
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    log_weigh_row(graph, r, measure.chance, dual.beta, dual.work)
    if kind == SIMPLEX:
        log_scale = careful_simplex(begin, size, dual.work, dual.group)
        set_groups(dual, r, log_scale, 1.0, 0.0, 0.0)
    elif kind == BOX:
        log_scale, free = careful_box(begin, size, dual.work, dual.group, rows)
        set_groups(dual, r, log_scale, free, 0.0, 0.0)
    else:
        log_a, log_b, raised, lowered = careful_ball(
            begin, size, dual.work, dual.group, rows, rows.width[r], rows.slack[r]
        )
        set_groups(dual, r, log_a, raised, log_b, lowered)
    dual.gain[r] = written_gain(graph, r, measure, dual)
