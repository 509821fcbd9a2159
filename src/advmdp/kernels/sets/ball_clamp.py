"""Clamping a row to its L1 ball, if wanted with a floor under every probability.

With the floor at zero (the supplement's set):  p = clamp(centre, a w, b w), a <= b, where the mass
moved up and the mass moved down are half the width each: two independent equations in one unknown.
With a floor alpha (the shifted set of Bandit UC-O-REPS):  p = max(alpha, clamp(centre, a w, b w)).
Where the ball does not bind, a = b.
"""

from __future__ import annotations

import math

from ..model.graph import Floats
from ..model.row_status import Marks
from ..runtime.indices import place
from ..runtime.targets import leaf
from .log_domain import MAX_PASSES, ROW_SUM_ROUNDING


@leaf
def floor_scale(begin: int, size: int, work: Floats, start: float, floor: float) -> float:
    """The c with  sum_j max(c w_j, floor) = 1, convex in c, started from the right."""
    begin = place(begin)
    c = start
    for _ in range(MAX_PASSES):
        total = 0.0
        slope = 0.0
        for j in range(size):
            w = work[begin + j]
            total += max(c * w, floor)
            slope += w if c * w > floor else 0.0
        excess = total - 1.0
        if excess <= ROW_SUM_ROUNDING or slope <= 0.0 or c - excess / slope == c:
            return c
        c -= excess / slope
    return c


@leaf
def ball_distance(
    begin: int, size: int, work: Floats, centre: Floats, factor: float, floor: float
) -> float:
    """The L1 distance of ``max(factor * w, floor)`` from the centre."""
    begin = place(begin)
    total = 0.0
    for j in range(size):
        total += abs(max(factor * work[begin + j], floor) - centre[begin + j])
    return total


@leaf
def ball_scale(
    begin: int,
    size: int,
    work: Floats,
    centre: Floats,
    start: float,
    half: float,
    floor: float,
    up: bool,
) -> float:
    """The factor a (up) or b (down) with which mass ``half`` is moved above or below the centre;
    inf when floats cannot hold it.

    up:   sum_j max(a w_j - centre_j, 0) = half,              increasing in a;
    down: sum_j max(centre_j - max(b w_j, floor), 0) = half,  decreasing in b.
    Both are piecewise linear: Newton inside a bracket ends after a few passes.
    """
    begin = place(begin)
    factor = start
    below = 0.0
    above = math.inf
    for _ in range(MAX_PASSES):
        total = 0.0
        slope = 0.0
        kink = math.inf  # where the next floored entry starts to move
        for j in range(size):
            w = work[begin + j]
            moved = max(factor * w, floor) - centre[begin + j]
            if not up:
                moved = -moved
            total += max(moved, 0.0)
            if up or factor * w > floor:
                slope += w if moved > 0.0 else 0.0
            elif w > 0.0:
                kink = min(kink, floor / w)
        excess = total - half
        if abs(excess) <= ROW_SUM_ROUNDING:
            return factor
        if up == (excess > 0.0):
            above = factor
        else:
            below = factor
        if slope > 0.0:
            following = factor - excess / slope if up else factor + excess / slope
        else:
            following = kink * (1.0 + 1e-12)
            if above == math.inf and kink == math.inf:
                return math.inf  # mass is wanted from an entry whose weight no float holds
        if not (below < following < above):
            following = 0.5 * (below + above) if above < math.inf else 2.0 * below
        if not (below < following < above):
            return factor if abs(excess) <= 1e-12 else math.inf
        factor = following
    return math.inf


@leaf
def clamp(
    begin: int,
    size: int,
    work: Floats,
    group: Marks,
    centre: Floats,
    a: float,
    b: float,
    floor: float,
) -> tuple[float, float]:
    """Turn w into p; return the masses of groups 1 (raised) and 2 (lowered)."""
    begin = place(begin)
    raised = 0.0
    lowered = 0.0
    for j in range(size):
        e = begin + j
        middle = centre[e]
        w = work[e]
        # an entry never seen (centre 0) is always raised, even where its weight underflows to 0:
        # in a group its logarithm is kept
        if a * w > middle or middle == 0.0 or (a == b and a * w > floor):
            work[e] = a * w
            group[e] = 1
            raised += a * w
        elif b * w < middle:
            work[e] = max(b * w, floor)
            group[e] = 2 if b * w > floor or floor == 0.0 else 0
            lowered += b * w if b * w > floor else 0.0
        else:
            work[e] = middle
            group[e] = 0
    return raised, lowered
