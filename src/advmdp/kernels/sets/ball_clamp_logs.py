"""Clamping a row to its L1 ball in the log domain: ``ball_clamp`` for the safe path."""

from __future__ import annotations

import math

from ..model.graph import Floats
from ..model.row_status import Marks
from ..runtime.targets import kernel
from .log_domain import HALVINGS, largest_log, spread

LOG_SUM_ROUNDING = 1e-12  # of a row found by logarithms, before its sum is made exact


@kernel
def log_floor_scale(begin: int, size: int, work: Floats, start: float, floor: float) -> float:
    """ln c of ``floor_scale``."""
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
    centre: Floats,
    log_scale: float,
    floor: float,
    up: bool,
) -> float:
    """The mass above (up) or below (down) the centre at one scale."""
    total = 0.0
    for j in range(size):
        value = max(math.exp(min(work[begin + j] + log_scale, 700.0)), floor)
        moved = value - centre[begin + j]
        total += max(moved if up else -moved, 0.0)
    return total


@kernel
def log_ball_scale(
    begin: int,
    size: int,
    work: Floats,
    centre: Floats,
    start: float,
    half: float,
    floor: float,
    up: bool,
) -> float:
    """ln a (up) or ln b (down) of ``ball_scale``; ``start`` is the normalising scale."""
    low, high = spread(begin, size, work)
    near = start
    far = -high - 800.0 if up else -low + 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (near + far)
        if moved_mass(begin, size, work, centre, middle, floor, up) > half:
            near = middle
        else:
            far = middle
    return far


@kernel
def still_mass(begin: int, size: int, work: Floats, group: Marks) -> float:
    """The mass of the entries that stay where the centre or the floor holds them."""
    total = 0.0
    for e in range(begin, begin + size):
        total += work[e] if group[e] == 0 else 0.0
    return total


@kernel
def settle_groups(
    begin: int,
    size: int,
    work: Floats,
    group: Marks,
    centre: Floats,
    half: float,
    binds: bool,
    raised: float,
    lowered: float,
) -> tuple[float, float]:
    """Make the masses of both groups exact, and return by what they were multiplied.

    A scale is found to the rounding of its logarithm, which of 1e5 is 1e-11.
    """
    above = half if binds else 1.0 - still_mass(begin, size, work, group)
    below = -half
    for e in range(begin, begin + size):
        if binds and group[e] == 1:
            above += centre[e]
        elif group[e] == 2:
            below += centre[e]
        elif group[e] == 0 and work[e] < centre[e]:
            below += centre[e] - work[e]
    part_a = above / raised if raised > 0.0 and above > 0.0 else 1.0
    part_b = below / lowered if binds and lowered > 0.0 and below > 0.0 else 1.0
    for e in range(begin, begin + size):
        if group[e] > 0:
            work[e] *= part_a if group[e] == 1 else part_b
    return part_a, part_b


@kernel
def clamp_in_logs(
    begin: int,
    size: int,
    work: Floats,
    group: Marks,
    centre: Floats,
    width: float,
    floor: float,
) -> tuple[float, float, float, float]:
    """Clamp to the ball; return both logarithms of scales and both group masses."""
    top = largest_log(begin, size, work)
    total = 0.0
    for j in range(size):
        total += math.exp(work[begin + j] - top)
    start = -top - math.log(total)
    if floor > 0.0:
        start = log_floor_scale(begin, size, work, start, floor)
    half = 0.5 * width
    log_a = start
    log_b = start
    if moved_mass(begin, size, work, centre, start, floor, True) > half:
        log_a = log_ball_scale(begin, size, work, centre, start, half, floor, True)
        log_b = log_ball_scale(begin, size, work, centre, start, half, floor, False)
    raised = 0.0
    lowered = 0.0
    for j in range(size):
        e = begin + j
        middle = centre[e]
        up = math.exp(min(work[e] + log_a, 700.0))
        down = math.exp(min(work[e] + log_b, 700.0))
        if up > middle or middle == 0.0 or (log_a == log_b and up > floor):
            work[e] = up
            group[e] = 1
            raised += up
        elif down < middle:
            work[e] = max(down, floor)
            group[e] = 2 if down > floor or floor == 0.0 else 0
            lowered += down if down > floor else 0.0
        else:
            work[e] = middle
            group[e] = 0
    if abs(raised + lowered + still_mass(begin, size, work, group) - 1.0) > LOG_SUM_ROUNDING:
        part_a, part_b = settle_groups(
            begin, size, work, group, centre, half, log_a < log_b, raised, lowered
        )
        log_a += math.log(part_a)
        log_b += math.log(part_b)
        raised *= part_a
        lowered *= part_b
    return log_a, log_b, raised, lowered
