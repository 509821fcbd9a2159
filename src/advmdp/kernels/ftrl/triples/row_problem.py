"""The row problem of a regulariser on triples, over a box.

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

from ...model.graph import Graph, row_begin, row_size
from ...runtime.targets import kernel, leaf
from ...sets.box.rows import BoxRows
from ..regulariser import Regulariser, is_in_domain, marginal_and_bend, minimiser
from . import row_interface
from .dual import TripleDual
from .row_search import search_row
from .simple_rows import sum_of_phi

MOST_TRIALS = 12
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


@row_interface.solve_bound_row.register(BoxRows)
@leaf
def solve_box_row(
    graph: Graph, r: int, regulariser: Regulariser, rows: BoxRows, dual: TripleDual
) -> float:
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
