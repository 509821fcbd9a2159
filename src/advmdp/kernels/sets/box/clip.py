"""Clipping a row to its box: the scalar equation  sum of clip(c w, lower, upper) = 1  in c.

It is monotone and piecewise linear in c.  On the fast path safeguarded Newton steps solve it; in
the log domain bisection on ln c does, which can neither overflow nor stall.
"""

from __future__ import annotations

import math

from ...model.graph import Floats
from ...model.row_status import Marks
from ...runtime.indices import place
from ...runtime.targets import kernel, leaf
from ..log_domain import HALVINGS, MAX_PASSES, ROW_SUM_ROUNDING, spread
from .passes import clip_bend, clip_sum


@kernel
def next_kink(
    begin: int,
    size: int,
    chance: Floats,
    vector: Floats,
    first: int,
    lower: Floats,
    upper: Floats,
    c: float,
    up: bool,
) -> float:
    """The next value of c at which some clipped entry comes free."""
    begin = place(begin)
    first = place(first)
    kink = math.inf if up else 0.0
    for j in range(size):
        w = max(chance[begin + j], 0.0) * vector[first + j]
        if up and c * w < lower[begin + j]:
            kink = min(kink, lower[begin + j] / w)
        elif not up and c * w > upper[begin + j]:
            kink = max(kink, upper[begin + j] / w)
    return kink


@leaf
def solve_box(
    begin: int,
    size: int,
    chance: Floats,
    vector: Floats,
    first: int,
    lower: Floats,
    upper: Floats,
    start: float,
    out: Floats,
    group: Marks,
) -> tuple[float, float, float, float]:
    """p_beta = clip(c w) with the c for which it sums to one;  inf when floats cannot hold that.

    Here  w = chance * vector.  The sum is monotone and piecewise linear in c: Newton is exact once
    the clipped entries are right (1 to 3 passes); where it leaves the bracket, c jumps to the next
    kink instead.  Returns c, the mass of the free entries, and what ``clip_bend`` says of the
    clipped ones.
    """
    c = start
    below = 0.0
    above = math.inf
    total, slope = clip_sum(chance, begin, vector, first, lower, begin, upper, begin, size, c)
    for _ in range(MAX_PASSES):
        missing = 1.0 - total
        settled = abs(missing) <= ROW_SUM_ROUNDING
        if not settled:
            if missing > 0.0:
                below = c
            else:
                above = c
            following = c + missing / slope if slope > 0.0 else -1.0
            if not (below < following < above):
                # just beyond the kink, where the entry that comes free gives a slope
                up = missing > 0.0
                kink = next_kink(begin, size, chance, vector, first, lower, upper, c, up)
                following = kink * (1.0 + 1e-12) if up else kink * (1.0 - 1e-12)
            if not (below < following < above):
                following = 0.5 * (below + above)
            if below < following < above:
                c = following
            elif abs(missing) <= 1e-12:
                settled = True  # no float lies between
            else:
                break
        total, slope, bend, far = clip_bend(
            chance,
            begin,
            vector,
            first,
            lower,
            begin,
            upper,
            begin,
            out,
            begin,
            group,
            begin,
            size,
            c,
        )
        if settled or abs(1.0 - total) <= ROW_SUM_ROUNDING:
            return c, c * slope, bend, far
    return math.inf, 0.0, 0.0, 0.0


@kernel
def clip_in_logs(
    begin: int, size: int, work: Floats, group: Marks, lower: Floats, upper: Floats
) -> tuple[float, float]:
    """Clip to the box; return the logarithm of the scale and the free mass."""
    low, high = spread(begin, size, work)
    below = -high - 800.0
    above = -low + 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (below + above)
        total = 0.0
        for j in range(size):
            e = begin + j
            value = math.exp(min(work[e] + middle, 1.0))
            total += min(max(value, lower[e]), upper[e])
        if total < 1.0:
            below = middle
        else:
            above = middle
    log_scale = 0.5 * (below + above)
    for j in range(size):
        work[begin + j] = math.exp(min(work[begin + j] + log_scale, 700.0))
    c = 1.0  # but for the rounding of the exponentials
    for _ in range(HALVINGS):
        total = 0.0
        slope = 0.0
        for j in range(size):
            e = begin + j
            clipped = min(max(c * work[e], lower[e]), upper[e])
            total += clipped
            slope += work[e] if c * work[e] == clipped else 0.0
        missing = 1.0 - total
        if abs(missing) <= ROW_SUM_ROUNDING or not (0.0 < c + missing / max(slope, 1e-300) < 2.0):
            break
        c += missing / slope
    free = 0.0
    for j in range(size):
        e = begin + j
        value = c * work[e]
        work[e] = min(max(value, lower[e]), upper[e])
        group[e] = value == work[e]
        free += work[e] if group[e] == 1 else 0.0
    return log_scale + math.log(c), free
