"""The row problem where Newton's method does not arrive: two monotone searches, one in the other.

For a fixed S the sum of  clip(m(c_j - kappa), lo_j S, hi_j S)  grows with kappa, and the derivative
of the row's minimum in S grows with S (the row is convex).  Both roots are bracketed, so that
nothing can be missed.
"""

from __future__ import annotations

import math

from ...model.graph import Floats, Graph, row_begin, row_size
from ...runtime.targets import kernel, leaf
from ...sets.box.rows import BoxRows
from ..regulariser import Regulariser, is_in_domain, marginal, marginal_and_bend, minimiser

MOST_SEARCH = 200
LEAST_LOG, MOST_LOG = (
    -600.0,
    25.0,
)  # of S: measures have at most one, and far beyond lies no minimum
ACCURATE = 2e-15  # of the sum, relative


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


@leaf
def inner_trial(
    shift: float, excess: float, before: float, t: float, low: float, high: float
) -> float:
    """Newton's root where it is inside of the bracket and errors halve, or else the middle."""
    newton = shift - excess / t if t > 0.0 else math.nan
    if abs(excess) < 0.5 * before and low < newton < high:
        return newton
    return 0.5 * (low + high)


@leaf
def outer_trial(at: float, newton: float, low: float, high: float, widen: float) -> float:
    """The next ln S: a Newton step, no longer than ``widen`` before both sides are known."""
    trial = guarded(newton, low, high, at, widen)
    if high == math.inf or low == -math.inf:
        trial = min(max(trial, at - widen), at + widen)
    return trial


@leaf
def clipped(
    z: float, mass: float, low: float, high: float, regulariser: Regulariser, r: int
) -> tuple[float, float, float]:
    """q_j, one over phi'' if it is free, and else the bound that holds."""
    if is_in_domain(regulariser, z):
        q, bend = minimiser(regulariser, r, z)
        if q <= low * mass:
            return low * mass, 0.0, low
        if q < high * mass:
            return q, bend, 0.0
    return high * mass, 0.0, high


@leaf
def bracket_shift(
    graph: Graph, r: int, regulariser: Regulariser, rows: BoxRows, cost: Floats, mass: float
) -> tuple[float, float]:
    """kappa for which every p_j is at most lo_j + slack / n, and one for which all are hi_j."""
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    low = math.inf
    high = -math.inf
    for e in range(begin, begin + size):
        p = rows.lower[e] + rows.slack[r] / size
        low = min(low, cost[e] - marginal(regulariser, r, p * mass))
        high = max(high, cost[e] - marginal(regulariser, r, rows.upper[e] * mass))
    return low, max(low, high)


@kernel
def shift_for(
    graph: Graph, r: int, regulariser: Regulariser, rows: BoxRows, cost: Floats, mass: float
) -> float:
    """kappa for a fixed S: Newton's method where it stays inside and halves the error."""
    begin = row_begin(graph, r)
    low, high = bracket_shift(graph, r, regulariser, rows, cost, mass)
    shift = low
    before = math.inf
    for _ in range(MOST_SEARCH):
        total = 0.0
        t = 0.0
        for e in range(begin, begin + row_size(graph, r)):
            z = cost[e] - shift
            q, bend, _ = clipped(z, mass, rows.lower[e], rows.upper[e], regulariser, r)
            total += q
            t += bend
        excess = total - mass
        if abs(excess) <= ACCURATE * mass:
            return shift
        if excess > 0.0:
            high = shift
        else:
            low = shift
        trial = inner_trial(shift, excess, before, t, low, high)
        before = abs(excess)
        if trial == shift or not (low < trial < high):
            return shift
        shift = trial
    return shift


@leaf
def lack_and_slope(
    graph: Graph,
    r: int,
    regulariser: Regulariser,
    rows: BoxRows,
    cost: Floats,
    shift: float,
    mass: float,
) -> tuple[float, float]:
    """The derivative of the row's minimum in S, and its own in ln S."""
    begin = row_begin(graph, r)
    lack = shift
    t = 0.0
    stiff = 0.0
    left = 1.0
    for e in range(begin, begin + row_size(graph, r)):
        z = cost[e] - shift
        _, bend, b = clipped(z, mass, rows.lower[e], rows.upper[e], regulariser, r)
        t += bend
        if b > 0.0:
            push, curved = marginal_and_bend(regulariser, r, b * mass)
            lack += b * (z - push)
            stiff += b * b * curved
            left -= b
    slope = stiff + (left * left / t if t > 0.0 else 0.0)
    return lack, slope * mass


@kernel
def search_row(
    graph: Graph, r: int, regulariser: Regulariser, rows: BoxRows, cost: Floats, start: float
) -> tuple[bool, float, float]:
    """Whether there is a minimum; S and kappa."""
    low = -math.inf
    high = math.inf
    log_mass = math.log(start)
    widen = 1.0
    mass = start
    shift = 0.0
    for _ in range(MOST_SEARCH):
        mass = math.exp(log_mass)
        shift = shift_for(graph, r, regulariser, rows, cost, mass)
        lack, slope = lack_and_slope(graph, r, regulariser, rows, cost, shift, mass)
        if lack > 0.0:
            high = log_mass
        else:
            low = log_mass
        if abs(lack) <= ACCURATE * (1.0 + abs(log_mass)) * slope:
            return True, mass, shift
        trial = outer_trial(log_mass, log_mass - lack / slope, low, high, widen)
        widen *= 2.0
        if trial == log_mass:
            return True, mass, shift
        if not (LEAST_LOG < trial < MOST_LOG):
            return False, mass, shift
        log_mass = trial
    return True, mass, shift
