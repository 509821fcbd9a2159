"""Row oracles: the only place that knows the shape of a confidence set.

For a row (x, a) with current transition p~ and a tilt beta on the successors, each oracle finds

    p_beta = argmax over p in the row's set of  <p, beta> - KL(p || p~),     gain = that maximum,

the inner problem left when the multipliers mu of the paper's dual (appendix, "Updating Occupancy
Measure") are eliminated in closed form.  On entry ``work`` holds ``w = p~ e^beta`` (up to a common
factor ``e^shift``); on exit it holds p_beta, and ``group`` says which entries move together: in
group g the derivative is  d p / d beta = diag(p_g) - p_g p_g^T / (mass of g),  in group 0 it is 0.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .graph import Floats, place
from .targets import kernel, leaf

Marks = NDArray[np.uint8]

SIMPLEX = 0  # every distribution over the successors
BOX = 1  # lower <= p <= upper, the paper's confidence set, Eq. (confidence_set)
BALL = 2  # |p - centre|_1 <= width, the supplement's set
FIXED = 3  # p is what it is: a known transition

ROUNDING = 2e-15  # of a row sum
MAX_PASSES = 200
NEAR = 0.05  # largest s for which six terms of the series in ``clip_box`` reach rounding


class TransitionSet(NamedTuple):
    """A product of row sets."""

    kind: Marks  # (R,)
    lower: Floats  # (E,) lower bound of a box row; centre of a ball row; a fixed row itself
    upper: Floats  # (E,) upper bound of a box row; empty when there are only balls
    width: Floats  # (R,) radius of a ball row; empty when there are only boxes
    slack: Floats  # (R,) 1 - sum of lower of a box row; the least probability in a ball row
    least: float = 0.0  # floor under the occupancy of every state (kernels/state_floor)


@kernel
def next_kink(
    begin: int, size: int, work: Floats, rows: TransitionSet, c: float, up: bool
) -> float:
    """The next value of c at which some clipped entry comes free."""
    begin = place(begin)
    kink = math.inf if up else 0.0
    for j in range(size):
        w = work[begin + j]
        if up and c * w < rows.lower[begin + j]:
            kink = min(kink, rows.lower[begin + j] / w)
        elif not up and c * w > rows.upper[begin + j]:
            kink = max(kink, rows.upper[begin + j] / w)
    return kink


@leaf
def box_scale(begin: int, size: int, work: Floats, rows: TransitionSet, start: float) -> float:
    """The c with  sum_j clip(c w_j, lower_j, upper_j) = 1;  0 or inf when floats cannot hold it.

    The sum is monotone and piecewise linear in c: Newton is exact once the clipped entries are
    right (1 to 3 passes); where it leaves the bracket, c jumps to the next kink instead.
    """
    begin = place(begin)
    c = start
    below = 0.0
    above = math.inf
    for _ in range(MAX_PASSES):
        total = 0.0
        slope = 0.0
        for j in range(size):
            w = work[begin + j]
            value = c * w
            clipped = min(max(value, rows.lower[begin + j]), rows.upper[begin + j])
            total += clipped
            slope += w if value == clipped else 0.0
        missing = 1.0 - total
        if abs(missing) <= ROUNDING:
            return c
        if missing > 0.0:
            below = c
        else:
            above = c
        following = c + missing / slope if slope > 0.0 else -1.0
        if not (below < following < above):
            # just beyond the kink, where the entry that comes free gives a slope
            kink = next_kink(begin, size, work, rows, c, missing > 0.0)
            following = kink * (1.0 + 1e-12) if missing > 0.0 else kink * (1.0 - 1e-12)
        if not (below < following < above):
            following = 0.5 * (below + above)
        if not (below < following < above):
            return c if abs(missing) <= 1e-12 else math.inf
        c = following
    return math.inf


@leaf
def clip_box(
    begin: int, size: int, work: Floats, group: Marks, rows: TransitionSet, c: float
) -> tuple[float, float, int]:
    """Turn w into p_beta = clip(c w).

    Returns the mass of the free entries (group 1), the sum over the clipped ones of p ln(c w / p),
    and how many of these are too far from their bounds for that sum to be right.  The logarithm is
    the series of  ln((1 + s) / (1 - s)) = 2 s (1 + s^2 / 3 + s^4 / 5 + ...),  here to rounding: it
    becomes vector instructions, and it is exactly zero on free entries.
    """
    begin = place(begin)
    free = 0.0
    bend = 0.0
    far = 0
    for j in range(size):
        e = begin + j
        value = c * work[e]
        clipped = min(max(value, rows.lower[e]), rows.upper[e])
        is_free = value == clipped
        group[e] = is_free
        work[e] = clipped
        free += clipped if is_free else 0.0
        s = (value - clipped) / max(value + clipped, 1e-300)
        far += abs(s) > NEAR
        t = s * s
        series = 1.0 + t * (1 / 3 + t * (1 / 5 + t * (1 / 7 + t * (1 / 9 + t * (1 / 11)))))
        bend += clipped * (2.0 * s * series)
    return free, bend, far
