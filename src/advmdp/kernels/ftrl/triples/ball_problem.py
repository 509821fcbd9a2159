"""The row problem of a regulariser on triples, over an L1 ball.

    min over S, p of  S <p, c> + sum_j phi(S p_j),   |p - centre|_1 <= 2 half,  sum p = 1

If the ball binds,  q_j = m(c_j - a)  where that is more than S centre_j,  m(c_j - b)  where it is
less, with a < b, and S centre_j in between; what is raised and what is lowered sum to S half each.
For a fixed S both are monotone problems in one number, and the derivative of the minimum in S grows
with S:

    a (half + centre(raised)) + b (centre(lowered) - half)
      + sum over the others of  centre_j (c_j + phi'(S centre_j)) = 0

Three bracketed searches, two in the third.  If the ball does not bind, a = b = 0.  At an S where it
does not bind and a > b, the derivative is the one shift for which all q_j sum to S.
"""

from __future__ import annotations

import math

from ...model.graph import Floats, Graph, row_begin, row_size
from ...runtime.targets import kernel, leaf
from ...sets.ball import BallRows
from ..regulariser import Regulariser, is_in_domain, marginal, marginal_and_bend, minimiser
from . import row_interface
from .dual import TripleDual
from .row_search import (
    ACCURATE,
    LEAST_LOG,
    MOST_LOG,
    MOST_SEARCH,
    inner_trial,
    outer_trial,
)
from .simple_rows import solve_free_row, sum_of_phi


@leaf
def bracket_side(
    graph: Graph,
    r: int,
    regulariser: Regulariser,
    rows: BallRows,
    cost: Floats,
    mass: float,
    sign: float,
    about: float,
) -> tuple[float, float]:
    """Shifts between which that of ``find_side`` lies."""
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    half = 0.5 * rows.width[r] if about > 0.0 else 1.0
    low = math.inf
    high = math.inf if sign > 0.0 else -math.inf
    for e in range(begin, begin + size):
        centre = about * rows.centre[e]
        if sign > 0.0:
            low = min(low, cost[e] - marginal(regulariser, r, (centre + half / size) * mass))
            high = min(high, cost[e] - marginal(regulariser, r, (centre + half) * mass))
        elif centre > 0.0:
            low = min(low, cost[e] - marginal(regulariser, r, centre * (1.0 - half) * mass))
            if centre > half / size:
                rest = centre - half / size
                high = max(high, cost[e] - marginal(regulariser, r, rest * mass))
    return low, max(low, high)


@kernel
def find_side(
    graph: Graph,
    r: int,
    regulariser: Regulariser,
    rows: BallRows,
    cost: Floats,
    mass: float,
    sign: float,
    about: float,
) -> float:
    """The shift for which just half of S is raised (sign 1) or lowered (-1) about the centre.

    ``about`` is one; with zero and sign 1 it is the shift for which all q_j sum to S.
    """
    begin = row_begin(graph, r)
    low, high = bracket_side(graph, r, regulariser, rows, cost, mass, sign, about)
    wanted = 0.5 * rows.width[r] * mass if about > 0.0 else mass
    shift = low
    before = math.inf
    for _ in range(MOST_SEARCH):
        moved = 0.0
        t = 0.0
        for e in range(begin, begin + row_size(graph, r)):
            q = math.inf
            bend = 0.0
            if is_in_domain(regulariser, cost[e] - shift):
                q, bend = minimiser(regulariser, r, cost[e] - shift)
            away = sign * (q - about * rows.centre[e] * mass)
            if away > 0.0:
                moved += away
                t += bend
        excess = sign * (moved - wanted)  # grows with the shift on both sides
        if abs(excess) <= ACCURATE * wanted:
            return shift
        if excess > 0.0:
            high = shift
        else:
            low = shift
        trial = inner_trial(shift, excess, before, t, low, high)
        before = abs(excess)
        if not (low < trial < high):
            return shift
        shift = trial
    return shift


@leaf
def fill_ball(
    graph: Graph,
    r: int,
    regulariser: Regulariser,
    rows: BallRows,
    dual: TripleDual,
    a: float,
    b: float,
) -> tuple[float, float]:
    """The minimiser and its curvature for S and the two shifts.

    Returns the derivative of the row's minimum in S, and the derivative of that.
    """
    begin = row_begin(graph, r)
    mass = dual.scale[r]
    up = 0.5 * rows.width[r]  # shares of the two groups
    down = -0.5 * rows.width[r]
    t_up = 0.0
    t_down = 0.0
    lack = 0.0
    stiff = 0.0
    for e in range(begin, begin + row_size(graph, r)):
        c = dual.cost[e]
        centre = rows.centre[e]
        raised, bend_up = math.inf, 0.0
        if is_in_domain(regulariser, c - a):
            raised, bend_up = minimiser(regulariser, r, c - a)
        below, bend_down = math.inf, 0.0
        if is_in_domain(regulariser, c - b):
            below, bend_down = minimiser(regulariser, r, c - b)
        dual.lowered[e] = 0.0
        if raised > centre * mass:
            dual.flow[e], dual.weight[e] = raised, bend_up
            up += centre
            t_up += bend_up
        elif below < centre * mass:
            dual.flow[e], dual.weight[e] = below, bend_down
            dual.lowered[e] = 1.0
            down += centre
            t_down += bend_down
        else:
            push, curved = marginal_and_bend(regulariser, r, centre * mass)
            dual.flow[e], dual.weight[e] = centre * mass, 0.0
            lack += centre * (c - push)
            stiff += centre * centre * curved
    inverse_up = 1.0 / t_up if t_up > 0.0 else 0.0
    inverse_down = 1.0 / t_down if t_down > 0.0 else 0.0
    for e in range(begin, begin + row_size(graph, r)):
        if dual.weight[e] == 0.0:
            dual.tie[e] = rows.centre[e]
        elif dual.lowered[e] == 0.0:
            dual.tie[e] = up * dual.weight[e] * inverse_up
        else:
            dual.tie[e] = down * dual.weight[e] * inverse_down
    dual.inverse_weight[r] = inverse_up
    dual.inverse_lowered[r] = inverse_down
    return lack + a * up + b * down, stiff + up * up * inverse_up + down * down * inverse_down


@kernel
def search_ball(
    graph: Graph, r: int, regulariser: Regulariser, rows: BallRows, dual: TripleDual
) -> bool:
    """S and the shifts of a ball that binds; False outside the domain."""
    low = -math.inf
    high = math.inf
    first = dual.scale[r]
    log_mass = math.log(first)
    widen = 1.0
    for _ in range(MOST_SEARCH):
        mass = math.exp(log_mass)
        dual.scale[r] = mass
        a = find_side(graph, r, regulariser, rows, dual.cost, mass, 1.0, 1.0)
        b = find_side(graph, r, regulariser, rows, dual.cost, mass, -1.0, 1.0)
        if a < b:
            lack, slope = fill_ball(graph, r, regulariser, rows, dual, a, b)
            dual.inverse_tie[r] = 1.0 / slope
        else:
            lack = find_side(graph, r, regulariser, rows, dual.cost, mass, 1.0, 0.0)
            slope = math.nan  # the bracket decides
        if lack > 0.0:
            high = log_mass
        else:
            low = log_mass
        if a < b and abs(lack) <= ACCURATE * (1.0 + abs(log_mass)) * slope * mass:
            return True
        trial = outer_trial(log_mass, log_mass - lack / (slope * mass), low, high, widen)
        widen *= 2.0
        if trial == log_mass:
            return a < b
        if not (LEAST_LOG < trial < MOST_LOG):
            break
        log_mass = trial
    dual.scale[r] = first
    return False


@row_interface.solve_bound_row.register(BallRows)
@leaf
def solve_ball_row(
    graph: Graph, r: int, regulariser: Regulariser, rows: BallRows, dual: TripleDual
) -> float:
    begin = row_begin(graph, r)
    value = solve_free_row(graph, r, regulariser, dual)
    dual.inverse_lowered[r] = 0.0
    distance = math.inf
    if abs(value) < math.inf:
        distance = 0.0
        for e in range(begin, begin + row_size(graph, r)):
            distance += abs(dual.flow[e] - rows.centre[e] * dual.total[r])
    if distance <= rows.width[r] * dual.total[r]:
        return value
    if not search_ball(graph, r, regulariser, rows, dual):
        return math.nan
    total = 0.0
    paid = 0.0
    for e in range(begin, begin + row_size(graph, r)):
        total += dual.flow[e]
        paid += dual.flow[e] * dual.cost[e]
    dual.total[r] = total
    return paid + sum_of_phi(graph, r, regulariser, dual)
