"""The row problem of a regulariser on triples.

    min over S, p of  S <p, c> + sum_j phi(S p_j),   lo <= p <= hi,  sum p = 1

Its solution has  q_j = clip(m(c_j - kappa), lo_j S, hi_j S),  m(z) the minimiser of  m z + phi(m),
with two numbers that follow from two equations,

    sum_j q_j = S,    kappa + sum over clipped j of  b_j (c_j - kappa + phi'(b_j S)) = 0

with b_j the bound that holds.  Their Jacobian in (kappa, S) is [[t, -(1 - B)], [1 - B, K]], where t
is the sum of 1 / phi''(q_j) over the free entries, B that of the b_j and K that of
b_j^2 phi''(b_j S): never singular while something is free.  Newton's method starts at the last
solution; where it does not arrive, ``row_search`` does.  Without an active bound kappa = 0.
"""

from __future__ import annotations

import math

from ...model.graph import Floats, Graph, row_begin, row_size
from ...runtime.targets import kernel, leaf
from ...sets.box import BoxRows
from ..regulariser import (
    BARRIER,
    Regulariser,
    is_in_domain,
    marginal_and_bend,
    minimiser,
    regularised,
)
from .dual import TripleDual
from .row_search import LEAST_LOG, MOST_LOG, MOST_SEARCH, guarded, search_row

MOST_TRIALS = 12
SMALLEST, LARGEST = 1e-200, 1e200  # products beyond are not multiplied further
CLOSE = 1e-14  # of both equations, relative to the size of what they sum


@leaf
def pass_over(
    graph: Graph, r: int, regulariser: Regulariser, rows: BoxRows, dual: TripleDual
) -> tuple[float, float, float, float, float, float]:
    """Fill q and its curvature for (kappa, S).

    Returns the sum of q, what the second equation lacks and the size of its terms; t, K and B.
    """
    begin = row_begin(graph, r)
    shift = dual.shift[r]
    mass = dual.scale[r]
    total = 0.0
    lack = 0.0
    size = abs(shift)
    t = 0.0
    stiff = 0.0
    bound = 0.0
    for e in range(begin, begin + row_size(graph, r)):
        z = dual.cost[e] - shift
        q = math.inf
        bend = 0.0
        if is_in_domain(regulariser, z):
            q, bend = minimiser(regulariser, r, z)
        low = rows.lower[e] * mass
        high = rows.upper[e] * mass
        if q < high and q > low:
            t += bend
        else:
            at_high = q >= high
            q = high if at_high else low
            b = rows.upper[e] if at_high else rows.lower[e]
            bend = 0.0
            if b > 0.0:
                push, curved = marginal_and_bend(regulariser, r, q)
                lack += b * (z - push)
                size += b * (abs(z) + abs(push))
                stiff += b * b * curved
                bound += b
        dual.flow[e] = q
        dual.weight[e] = bend
        total += q
    return total, shift + lack, size, t, stiff, bound


@kernel
def find_shift_and_mass(
    graph: Graph, r: int, regulariser: Regulariser, rows: BoxRows, dual: TripleDual
) -> tuple[bool, float, float, float]:
    """kappa and S, and with them t, K and B; False outside the domain."""
    first = dual.scale[r]
    first_shift = dual.shift[r]
    for _ in range(MOST_TRIALS):
        total, lack, size, t, stiff, bound = pass_over(graph, r, regulariser, rows, dual)
        mass = dual.scale[r]
        excess = total - mass
        if abs(excess) <= CLOSE * mass and abs(lack) <= CLOSE * size:
            return True, t, stiff, bound
        left = 1.0 - bound
        pivot = t * stiff + left * left
        if not (t > 0.0 and 0.0 < pivot < math.inf):
            break
        change = (excess * left - lack * t) / (pivot * mass)  # of S, relative
        dual.shift[r] -= (excess * stiff + lack * left) / pivot
        dual.scale[r] = mass * (1.0 + change) if change > 0.0 else mass / (1.0 - change)
    found, mass, shift = search_row(graph, r, regulariser, rows, dual.cost, first)
    dual.shift[r] = shift if found else first_shift
    dual.scale[r] = mass if found else first
    _, _, _, t, stiff, bound = pass_over(graph, r, regulariser, rows, dual)
    return found, t, stiff, bound


@leaf
def sum_of_phi(graph: Graph, r: int, regulariser: Regulariser, dual: TripleDual) -> float:
    """The sum of phi(q_j) over what can happen; a log barrier's by the logarithm of a product."""
    begin = row_begin(graph, r)
    value = 0.0
    if regulariser.kind == BARRIER:
        product = 1.0
        for e in range(begin, begin + row_size(graph, r)):
            if dual.flow[e] > 0.0:
                if not (SMALLEST < product < LARGEST):
                    value += math.log(product)
                    product = 1.0
                product *= dual.flow[e]
        return -regulariser.barrier[r] * (value + math.log(product))
    for e in range(begin, begin + row_size(graph, r)):
        if dual.flow[e] > 0.0:
            value += regularised(regulariser, r, dual.flow[e])
    return value


@leaf
def solve_bound_row(
    graph: Graph, r: int, regulariser: Regulariser, rows: BoxRows, dual: TripleDual
) -> float:
    """The minimum of a row with bounds, and its curvature; NaN outside the domain."""
    found, t, stiff, bound = find_shift_and_mass(graph, r, regulariser, rows, dual)
    if not found:
        return math.nan
    begin = row_begin(graph, r)
    left = 1.0 - bound
    inverse = 1.0 / t if t > 0.0 else 0.0
    total = 0.0
    paid = 0.0
    for e in range(begin, begin + row_size(graph, r)):
        total += dual.flow[e]
        paid += dual.flow[e] * dual.cost[e]
        if dual.weight[e] > 0.0:
            dual.tie[e] = left * dual.weight[e] * inverse
        else:
            dual.tie[e] = dual.flow[e] / dual.scale[r]
    dual.total[r] = total
    dual.inverse_weight[r] = inverse if bound > 0.0 or t == 0.0 else -1.0
    dual.inverse_tie[r] = 1.0 / (stiff + left * left * inverse)
    return paid + sum_of_phi(graph, r, regulariser, dual)


@leaf
def solve_free_row(graph: Graph, r: int, regulariser: Regulariser, dual: TripleDual) -> float:
    """The minimum of a row without bounds; NaN outside the domain."""
    begin = row_begin(graph, r)
    total = 0.0
    t = 0.0
    paid = 0.0
    for e in range(begin, begin + row_size(graph, r)):
        if not is_in_domain(regulariser, dual.cost[e]):
            return math.nan
        q, bend = minimiser(regulariser, r, dual.cost[e])
        dual.flow[e] = q
        dual.weight[e] = bend
        total += q
        t += bend
        paid += q * dual.cost[e]
    inverse = 1.0 / t
    for e in range(begin, begin + row_size(graph, r)):
        dual.tie[e] = dual.weight[e] * inverse
    dual.total[r] = total
    dual.inverse_weight[r] = -1.0
    dual.inverse_tie[r] = t
    return paid + sum_of_phi(graph, r, regulariser, dual)


@kernel
def mass_of_known_row(
    graph: Graph, r: int, regulariser: Regulariser, chance: Floats, paid: float, start: float
) -> tuple[float, float]:
    """S with  paid = sum of p_j (-phi'(S p_j)),  and the second derivative of the row in S.

    The right side falls with S.  Newton's method on ln S, inside of brackets.
    """
    begin = row_begin(graph, r)
    low = -math.inf
    high = math.inf
    log_mass = math.log(start)
    stiff = 0.0
    for _ in range(MOST_SEARCH):
        mass = math.exp(log_mass)
        push = 0.0
        stiff = 0.0
        for e in range(begin, begin + row_size(graph, r)):
            p = chance[e]
            if p > 0.0:
                one, curved = marginal_and_bend(regulariser, r, p * mass)
                push += p * one
                stiff += p * p * curved
        if push < paid:
            high = log_mass
        else:
            low = log_mass
        change = (push - paid) / (stiff * mass)
        trial = guarded(log_mass + change, low, high, log_mass, 2.0)
        if abs(change) <= CLOSE or trial == log_mass:
            return mass, stiff
        if not (LEAST_LOG < trial < MOST_LOG):
            return math.nan, stiff
        log_mass = trial
    return math.nan, stiff


@leaf
def solve_known_row(
    graph: Graph, r: int, regulariser: Regulariser, rows: BoxRows, dual: TripleDual
) -> float:
    """The minimum of a row with one transition, of which only what can happen counts."""
    begin = row_begin(graph, r)
    paid = 0.0
    for e in range(begin, begin + row_size(graph, r)):
        paid += rows.lower[e] * dual.cost[e]
    if not is_in_domain(regulariser, paid):
        return math.nan
    mass, stiff = mass_of_known_row(graph, r, regulariser, rows.lower, paid, dual.scale[r])
    if not (mass > 0.0):
        return math.nan
    dual.scale[r] = mass
    for e in range(begin, begin + row_size(graph, r)):
        dual.flow[e] = mass * rows.lower[e]
        dual.weight[e] = 0.0
        dual.tie[e] = rows.lower[e]
    dual.total[r] = mass
    dual.inverse_weight[r] = 0.0
    dual.inverse_tie[r] = 1.0 / stiff
    return mass * paid + sum_of_phi(graph, r, regulariser, dual)
