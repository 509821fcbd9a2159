"""How far to go along a direction where D has kinks in its second derivative.

A bound that begins to hold, or ceases to, changes the curvature of a row at once.  Two such pieces
can each send Newton's method to the other: full steps then go to and fro, and what they gain and
lose may be less than the rounding of D.  The slope along the direction is not: it is a sum of flow
differences, exact relative to these, and grows along the direction since -D is convex.  A step is
too long when the slope has turned and is steep again.
"""

from __future__ import annotations

import math

from ...runtime.targets import leaf
from .. import interface
from .dual import TripleDual

STEEP = 0.5  # of the slope at the base point, with the other sign
DROWNED = 1e-11  # of D: gains below this are not looked for in its value
VALUE_ROUNDING = 1e-15
LEAST_PART, MOST_PART = 0.1, 0.9


@interface.judge.register(TripleDual)
@leaf
def judge_with_kinks(
    dual: TripleDual, trial: float, value: float, step: float, descent: float, residual: float
) -> float:
    """Armijo's rule where D shows it, and a slope that is not steep again."""
    if value == math.inf:
        return 1.0 if trial < math.inf else 0.5
    if not (trial < math.inf):
        return 0.5  # outside the domain
    size = 1.0 + abs(trial)
    drowned = abs(step * descent) <= DROWNED * size
    decreased = trial <= value + 1e-4 * step * descent + VALUE_ROUNDING * size
    slope = 0.0
    for x in range(dual.direction.shape[0] - 1):
        slope += dual.gradient[x] * dual.direction[x]
    if (decreased or drowned) and slope <= -STEEP * descent:
        return 1.0
    if not (slope > 0.0):
        return 0.5
    return min(max(descent / (descent - slope), LEAST_PART), MOST_PART)  # the secant's root
