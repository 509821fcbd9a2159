"""The row oracles in logarithms: slow, for rows whose weights no float can hold side by side.

``work`` holds ``ln w`` on entry and p_beta on exit, as in ``rows``.  Bisection on the logarithm of
the scale cannot overflow and cannot stall; it is used only on the safe path.
"""

from __future__ import annotations

import math

from ..model.graph import Floats
from ..runtime.targets import kernel
from .rows import ROUNDING, Marks, TransitionSet

HALVINGS = 110


@kernel
def largest(begin: int, size: int, work: Floats) -> float:
    top = -math.inf
    for j in range(size):
        top = max(top, work[begin + j])
    return top


@kernel
def spread(begin: int, size: int, work: Floats) -> tuple[float, float]:
    """The smallest and the largest finite ln w of a row."""
    low = math.inf
    high = -math.inf
    for j in range(size):
        value = work[begin + j]
        if value > -math.inf:
            low = min(low, value)
            high = max(high, value)
    return low, high


@kernel
def careful_simplex(begin: int, size: int, work: Floats, group: Marks) -> float:
    """Normalise; return the logarithm of the scale."""
    top = largest(begin, size, work)
    total = 0.0
    for j in range(size):
        total += math.exp(work[begin + j] - top)
    log_scale = -top - math.log(total)
    for j in range(size):
        work[begin + j] = math.exp(work[begin + j] + log_scale)
        group[begin + j] = 1
    return log_scale


@kernel
def careful_box(
    begin: int, size: int, work: Floats, group: Marks, rows: TransitionSet
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
            total += min(max(value, rows.lower[e]), rows.upper[e])
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
            clipped = min(max(c * work[e], rows.lower[e]), rows.upper[e])
            total += clipped
            slope += work[e] if c * work[e] == clipped else 0.0
        missing = 1.0 - total
        if abs(missing) <= ROUNDING or not (0.0 < c + missing / max(slope, 1e-300) < 2.0):
            break
        c += missing / slope
    free = 0.0
    for j in range(size):
        e = begin + j
        value = c * work[e]
        work[e] = min(max(value, rows.lower[e]), rows.upper[e])
        group[e] = value == work[e]
        free += work[e] if group[e] == 1 else 0.0
    return log_scale + math.log(c), free


@kernel
def careful_floor_scale(begin: int, size: int, work: Floats, start: float, floor: float) -> float:
    """ln c of ``ball.floor_scale``."""
    below = start - 800.0
    above = start
    for _ in range(HALVINGS):
        middle = 0.5 * (below + above)
        total = 0.0
        for j in range(size):
            total += max(math.exp(min(work[begin + j] + middle, 700.0)), floor)
        if total < 1.0:
            below = middle
        else:
            above = middle
    return above


@kernel
def moved_mass(
    begin: int,
    size: int,
    work: Floats,
    rows: TransitionSet,
    log_scale: float,
    floor: float,
    up: bool,
) -> float:
    """The mass above (up) or below (down) the centre at one scale."""
    total = 0.0
    for j in range(size):
        value = max(math.exp(min(work[begin + j] + log_scale, 700.0)), floor)
        moved = value - rows.lower[begin + j]
        total += max(moved if up else -moved, 0.0)
    return total


@kernel
def careful_ball_scale(
    begin: int,
    size: int,
    work: Floats,
    rows: TransitionSet,
    start: float,
    half: float,
    floor: float,
    up: bool,
) -> float:
    """ln a (up) or ln b (down) of ``ball.ball_scale``; ``start`` is the normalising scale."""
    low, high = spread(begin, size, work)
    near = start
    far = -high - 800.0 if up else -low + 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (near + far)
        if moved_mass(begin, size, work, rows, middle, floor, up) > half:
            near = middle
        else:
            far = middle
    return far


@kernel
def careful_ball(
    begin: int,
    size: int,
    work: Floats,
    group: Marks,
    rows: TransitionSet,
    width: float,
    floor: float,
) -> tuple[float, float, float, float]:
    """Clamp to the ball; return both logarithms of scales and both group masses."""
    top = largest(begin, size, work)
    total = 0.0
    for j in range(size):
        total += math.exp(work[begin + j] - top)
    start = -top - math.log(total)
    if floor > 0.0:
        start = careful_floor_scale(begin, size, work, start, floor)
    half = 0.5 * width
    log_a = start
    log_b = start
    if moved_mass(begin, size, work, rows, start, floor, True) > half:
        log_a = careful_ball_scale(begin, size, work, rows, start, half, floor, True)
        log_b = careful_ball_scale(begin, size, work, rows, start, half, floor, False)
    raised = 0.0
    lowered = 0.0
    for j in range(size):
        e = begin + j
        centre = rows.lower[e]
        up = math.exp(min(work[e] + log_a, 700.0))
        down = math.exp(min(work[e] + log_b, 700.0))
        if up > centre or centre == 0.0 or (log_a == log_b and up > floor):
            work[e] = up
            group[e] = 1
            raised += up
        elif down < centre:
            work[e] = max(down, floor)
            group[e] = 2 if down > floor or floor == 0.0 else 0
            lowered += down if down > floor else 0.0
        else:
            work[e] = centre
            group[e] = 0
    return log_a, log_b, raised, lowered
