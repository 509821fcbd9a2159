"""Row oracles: what a projection asks of the confidence set of one row.

For a row (x, a) with current transition p~ and a tilt beta on the successors, each oracle finds

    p_beta = argmax over p in the row's set of  <p, beta> - KL(p || p~),     gain = that maximum,

the inner problem left when the multipliers mu of the paper's dual (appendix, "Updating Occupancy
Measure") are eliminated in closed form.  With  w = p~ e^beta  (up to a common factor ``e^shift``)
they write p_beta, and ``group`` says which entries move together: in group g the derivative is
d p / d beta = diag(p_g) - p_g p_g^T / (mass of g),  in group 0 it is 0.  This file has the box, the
paper's set; ``ball.py`` has the L1 ball, ``careful.py`` both in logarithms.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model.graph import Floats
from ..runtime.indices import place
from ..runtime.targets import kernel, leaf
from .box_passes import clip_bend, clip_sum

Marks = NDArray[np.uint8]

SIMPLEX = 0  # every distribution over the successors
BOX = 1  # lower <= p <= upper, the paper's confidence set, Eq. (confidence_set)
BALL = 2  # |p - centre|_1 <= width, the supplement's set
FIXED = 3  # p is what it is: a known transition

ROUNDING = 2e-15  # of a row sum
MAX_PASSES = 200


class TransitionSet(NamedTuple):
    """A product of row sets."""

    kind: Marks  # (R,)
    lower: Floats  # (E,) lower bound of a box row; centre of a ball row; a fixed row itself
    upper: Floats  # (E,) upper bound of a box row; empty when there are only balls
    width: Floats  # (R,) radius of a ball row; empty when there are only boxes
    slack: Floats  # (R,) 1 - sum of lower of a box row; the least probability in a ball row
    least: float = 0.0  # floor under the occupancy of every state (kernels/kl/state_floor)


@kernel
def next_kink(
    begin: int,
    size: int,
    chance: Floats,
    vector: Floats,
    first: int,
    rows: TransitionSet,
    c: float,
    up: bool,
) -> float:
    """The next value of c at which some clipped entry comes free."""
    begin = place(begin)
    first = place(first)
    kink = math.inf if up else 0.0
    for j in range(size):
        w = max(chance[begin + j], 0.0) * vector[first + j]
        if up and c * w < rows.lower[begin + j]:
            kink = min(kink, rows.lower[begin + j] / w)
        elif not up and c * w > rows.upper[begin + j]:
            kink = max(kink, rows.upper[begin + j] / w)
    return kink


@leaf
def solve_box(
    begin: int,
    size: int,
    chance: Floats,
    vector: Floats,
    first: int,
    rows: TransitionSet,
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
    lower = rows.lower
    upper = rows.upper
    c = start
    below = 0.0
    above = math.inf
    total, slope = clip_sum(chance, begin, vector, first, lower, begin, upper, begin, size, c)
    for _ in range(MAX_PASSES):
        missing = 1.0 - total
        settled = abs(missing) <= ROUNDING
        if not settled:
            if missing > 0.0:
                below = c
            else:
                above = c
            following = c + missing / slope if slope > 0.0 else -1.0
            if not (below < following < above):
                # just beyond the kink, where the entry that comes free gives a slope
                up = missing > 0.0
                kink = next_kink(begin, size, chance, vector, first, rows, c, up)
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
        if settled or abs(1.0 - total) <= ROUNDING:
            return c, c * slope, bend, far
    return math.inf, 0.0, 0.0, 0.0
