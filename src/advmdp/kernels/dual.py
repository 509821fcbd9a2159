"""The projection's dual in beta alone: its variables, and one row of it.

KL projection onto the measures whose transition lies in the set (paper, appendix "Updating
Occupancy Measure").  With q = m p (row mass times transition) the multipliers mu disappear into
the row oracles and what is left is

    minimise  G(beta) = sum_k ln Z_k,   Z_k = sum over layer k of m~(x,a) exp(gain(x,a) - beta(x)),
    m(x,a) = m~(x,a) exp(gain - beta(x)) / Z_k,
    dG/dbeta(x) = inflow(x) - outflow(x),

convex, smooth, unconstrained, with |X| - 2 variables.  A row that no bound touches is never written
out: p_beta = scale * p~ e^beta is used as it stands, and one pass over p~ gives both its normaliser
and its part of the inflow.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .ball import ball_distance, ball_scale, clip_ball, floor_scale
from .careful import careful_ball, careful_box, careful_simplex
from .graph import (
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
from .indices import int64
from .rows import (
    BALL,
    BOX,
    FIXED,
    SIMPLEX,
    Marks,
    TransitionSet,
    solve_box,
)
from .signed import linear, logarithm
from .targets import kernel, leaf

# How p_beta of a row is held after an evaluation.
IMPLICIT = 0  # scale * p~ * tilt
WRITTEN = 1  # in work, with groups
CONSTANT = 2  # p~ itself, whatever beta
POOLED = 3  # as IMPLICIT, but together with the other free rows of its state (kernels/pool)

# Entries below signed.TINY = 1e-200 weigh nothing on the fast path.  That is right as long as what
# is left weighs at least this much; otherwise the evaluation is done again in logarithms.
SMALLEST = 1e-150
LARGEST = 1e150


class Measure(NamedTuple):
    """An occupancy measure as transition, policy and state masses, all in signed storage."""

    chance: Floats  # (E,) P^q(x' | x, a)
    policy: Floats  # (R,) pi^q(a | x)
    mass: Floats  # (S,) q(x)


class Pool(NamedTuple):
    """The free rows of every state as one line, see ``kernels/pool``."""

    lines: Graph  # a line for each state, as rows of a layout with one action
    table: Floats  # C(x, x'), without the tilt
    lead: Floats  # (S,) what a line is multiplied with, next to the tilt, to give flows
    mass: Floats  # (S,) the flow through the line
    tight: Floats  # (S,) the tightest row of the line
    others: NDArray[np.int64]  # (S,) how many rows of the state are not in the line


class Dual(NamedTuple):
    """Everything an evaluation of G leaves behind."""

    beta: Floats  # (S,)
    tilt: Floats  # (S,) e^beta
    inflow: Floats  # (S,)
    free_inflow: Floats  # (S,) the part of the inflow that comes from implicit rows
    outflow: Floats  # (S,)
    mobile: Floats  # (S,) the outflow of states that are not held up by a floor
    lift: Floats  # (S,) multiplier of the floor: ln(outflow / what it would be without)
    row_mass: Floats  # (R,) m(x, a)
    share: Floats  # (R,) the new policy pi(a | x), unsigned
    gain: Floats  # (R,) value of the row oracle; ask ``gain_of``
    scale: Floats  # (R,) c of an implicit row, and the first guess for a written one
    holding: Marks  # (R,)
    tight: Floats  # (R,) at most one over the factor that takes p~ to a bound of its box
    group_mass: Floats  # (2 R,) masses of groups 1 and 2 of written rows
    log_scale: Floats  # (2 R,) logarithms of their scales, or NaN; ask ``log_scale_of``
    work: Floats  # (E,) p_beta of written rows
    group: Marks  # (E,)
    total: Floats  # (S,) the sum over actions of pi~ e^gain
    log_total: Floats  # (S,) its logarithm, on the safe path
    free_sum: Floats  # (S,) accumulators of the layer sweep
    other_sum: Floats  # (S,)
    top: Floats  # (L,) the largest beta of a layer before it is shifted
    widest: Floats  # (L,) how far apart beta pulls the successors of a layer
    shrink: Floats  # (L,) one over Z_k
    log_z: Floats  # (L,)
    term: Floats  # (S,) scratch: what a state adds to a sum over all
    near: Floats  # (widest row,) scratch: a state vector along one row
    together: Floats  # (E,) scratch of the blocks: the entries of one group, empty without blocks
    pool: Pool


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
def log_scale_of(dual: Dual, r: int, g: int) -> float:
    """The logarithm of the scale of group g = 1, 2 of a written row."""
    found = dual.log_scale[2 * r + g - 1]
    return found if found == found else math.log(dual.scale[r])


@leaf
def gain_of(dual: Dual, r: int) -> float:
    """The value of the row oracle."""
    if dual.holding[r] == IMPLICIT:
        return -math.log(dual.scale[r])
    if dual.holding[r] == WRITTEN and dual.log_scale[2 * r] != dual.log_scale[2 * r]:
        return dual.gain[r] - math.log(dual.scale[r])
    return dual.gain[r]


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
