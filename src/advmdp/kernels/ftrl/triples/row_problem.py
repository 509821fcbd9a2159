"""The row problem of the log barrier on a box.

    min over S, p of  S <p, c> - b sum_j ln(S p_j),   lo <= p <= hi,  sum p = 1

With tau = S / b its solution has  p_j = clip(1 / (tau (c_j - theta)), lo_j, hi_j),  sum p = 1  and
tau <p, c> = n.  Without an active bound theta = 0 and S p_j = b / c_j.  Otherwise (theta, ln tau)
are found by Newton's method inside of brackets, one in the other, from the last solution: for a
fixed tau the sum grows with theta, and tau <p, c> - n changes its sign once in tau.
"""

from __future__ import annotations

import math

from ...model.graph import Floats, Graph, row_begin, row_size
from ...runtime.targets import kernel, leaf
from ...sets.box import BoxRows
from .dual import TripleDual

MOST_TRIALS = 200
ACCURATE = 2e-15  # of sum p = 1
CLOSE = 1e-14  # of tau <p, c> = n, relative
FARTHEST = 80.0  # of ln tau from where it was


@leaf
def clipped(c: float, shift: float, scale: float, low: float, high: float) -> tuple[float, bool]:
    """p_j and whether it is on no bound."""
    away = scale * (c - shift)
    if away * high <= 1.0:
        return high, False
    if away * low >= 1.0:
        return low, False
    return 1.0 / away, True


@leaf
def sums(
    graph: Graph, r: int, rows: BoxRows, cost: Floats, shift: float, scale: float
) -> tuple[float, float, float, float, float, float]:
    """Sums over the row of p, p c; and over the free entries of p, p^2, p^2 c, p c."""
    begin = row_begin(graph, r)
    total = 0.0
    paid = 0.0
    free = 0.0
    square = 0.0
    square_paid = 0.0
    free_paid = 0.0
    for e in range(begin, begin + row_size(graph, r)):
        p, is_free = clipped(cost[e], shift, scale, rows.lower[e], rows.upper[e])
        total += p
        paid += p * cost[e]
        if is_free:
            free += p
            square += p * p
            square_paid += p * p * cost[e]
            free_paid += p * cost[e]
    return total, paid, free, square, square_paid, free_paid


@leaf
def guarded(trial: float, low: float, high: float, at: float, widen: float) -> float:
    """A Newton trial inside of its bracket, or else the middle of it, or a wider look."""
    if low < trial < high:
        return trial
    if low == -math.inf:
        return at - widen
    if high == math.inf:
        return at + widen
    return 0.5 * (low + high)


@kernel
def shift_for(
    graph: Graph, r: int, rows: BoxRows, cost: Floats, scale: float, start: float
) -> float:
    """theta with sum p = 1 for a fixed tau: the sum grows with theta."""
    low = -math.inf
    high = math.inf
    shift = start
    widen = 1.0 / scale
    for _ in range(MOST_TRIALS):
        total, _, _, square, _, _ = sums(graph, r, rows, cost, shift, scale)
        if abs(total - 1.0) <= ACCURATE:
            return shift
        if total > 1.0:
            high = shift
        else:
            low = shift
        trial = shift + (1.0 - total) / (scale * square) if square > 0.0 else math.nan
        trial = guarded(trial, low, high, shift, widen)
        if trial == shift:
            return shift
        shift = trial
        widen *= 4.0
    return shift


@kernel
def find_shift_and_scale(graph: Graph, r: int, rows: BoxRows, dual: TripleDual) -> bool:
    """theta and tau; False outside the domain.

    Along sum p = 1 the slope of tau <p, c> in ln tau follows from  d sum = 0.
    """
    n = row_size(graph, r)
    low = -math.inf
    high = math.inf
    log_scale = math.log(dual.scale[r])
    first = log_scale
    shift = dual.shift[r]
    for _ in range(MOST_TRIALS):
        scale = math.exp(log_scale)
        shift = shift_for(graph, r, rows, dual.cost, scale, shift)
        _, paid, free, square, square_paid, free_paid = sums(
            graph, r, rows, dual.cost, shift, scale
        )
        excess = scale * paid - n
        dual.shift[r] = shift
        dual.scale[r] = scale
        if abs(excess) <= CLOSE * n:
            return True
        if excess > 0.0:
            high = log_scale
        else:
            low = log_scale
        slope = scale * (paid - free_paid)
        if square > 0.0:
            slope += scale * square_paid * free / square
        trial = log_scale - excess / slope if slope > 0.0 else math.nan
        trial = guarded(trial, low, high, log_scale, 2.0)
        if trial == log_scale:
            return True
        if abs(trial - first) > FARTHEST:
            return False
        log_scale = trial
    return False


@leaf
def fill_bound_row(graph: Graph, r: int, b: float, rows: BoxRows, dual: TripleDual) -> float:
    """The minimiser and its curvature for theta and tau; returns the minimum."""
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    mass = b * dual.scale[r]
    t = 0.0
    free = 0.0
    n_free = 0
    logs = 0.0
    for e in range(begin, begin + size):
        p, is_free = clipped(
            dual.cost[e], dual.shift[r], dual.scale[r], rows.lower[e], rows.upper[e]
        )
        q = p * mass
        dual.flow[e] = q
        dual.weight[e] = q * q / b if is_free else 0.0
        logs += math.log(q)
        if is_free:
            t += dual.weight[e]
            free += p
            n_free += 1
    dual.total[r] = mass
    dual.n_present[r] = size
    if n_free == 0:  # a single point: as if it were known
        for e in range(begin, begin + size):
            dual.tie[e] = dual.flow[e] / mass
        dual.inverse_weight[r] = 0.0
        dual.inverse_tie[r] = mass * mass / (size * b)
        return size * b - b * logs
    pull = b * (size - n_free) / (free * mass * free * mass)
    s = t / (1.0 + pull * t)
    for e in range(begin, begin + size):
        if dual.weight[e] > 0.0:
            dual.tie[e] = dual.weight[e] / (1.0 + pull * t)
        else:
            dual.tie[e] = s * dual.flow[e] / (mass * free)
    dual.inverse_weight[r] = 1.0 / t if n_free < size else -1.0
    dual.inverse_tie[r] = 1.0 / s
    return size * b - b * logs


@leaf
def solve_bound_row(graph: Graph, r: int, b: float, rows: BoxRows, dual: TripleDual) -> float:
    """The minimum of a row with bounds; NaN outside the domain."""
    if not find_shift_and_scale(graph, r, rows, dual):
        return math.nan
    return fill_bound_row(graph, r, b, rows, dual)


@leaf
def solve_free_row(graph: Graph, r: int, b: float, dual: TripleDual) -> float:
    """The minimum of a row without bounds; NaN outside the domain."""
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    mass = 0.0
    t = 0.0
    logs = 0.0
    for e in range(begin, begin + size):
        if not (dual.cost[e] > 0.0):
            return math.nan
        q = b / dual.cost[e]
        dual.flow[e] = q
        dual.weight[e] = q * q / b
        dual.tie[e] = dual.weight[e]
        mass += q
        t += dual.weight[e]
        logs += math.log(q)
    dual.total[r] = mass
    dual.n_present[r] = size
    dual.inverse_weight[r] = -1.0
    dual.inverse_tie[r] = 1.0 / t
    return size * b - b * logs


@leaf
def solve_known_row(graph: Graph, r: int, b: float, rows: BoxRows, dual: TripleDual) -> float:
    """The minimum of a row with one transition, of which only what can happen counts."""
    begin = row_begin(graph, r)
    paid = 0.0
    present = 0
    for e in range(begin, begin + row_size(graph, r)):
        paid += rows.lower[e] * dual.cost[e]
        present += 1 if rows.lower[e] > 0.0 else 0
    if not (paid > 0.0):
        return math.nan
    mass = present * b / paid
    logs = 0.0
    for e in range(begin, begin + row_size(graph, r)):
        dual.flow[e] = mass * rows.lower[e]
        dual.weight[e] = 0.0
        dual.tie[e] = rows.lower[e]
        if rows.lower[e] > 0.0:
            logs += math.log(dual.flow[e])
    dual.total[r] = mass
    dual.n_present[r] = present
    dual.inverse_weight[r] = 0.0
    dual.inverse_tie[r] = mass * mass / (present * b)
    return present * b - b * logs
