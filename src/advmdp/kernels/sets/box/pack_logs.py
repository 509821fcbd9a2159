"""The row problem of boxes for packs in which entries lie far beyond their bounds.

The series of ``pack_passes: clip_pack`` is good next to a bound only.  Here the logarithms

    low = ln(p~ / lower),    high = ln(p~ / upper)

are taken once in a projection, in registers (``lanes/logarithms``), and an entry that a bound
holds adds  p (beta + low)  or  p (beta + high)  to the gain: no pass divides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...lanes.logarithms import exponential, log_of_ratio
from ...lanes.packs import Floats, over_pack
from ...lanes.vectors import N_LANES, Lanes
from ..held import LARGEST, SMALLEST
from ..log_domain import ROW_SUM_ROUNDING
from .pack_passes import CLIPPED, clip_entry, following_step

FAINT = 1e-290  # an entry below this may be the logarithm of another one
STEEPEST = 300.0  # the largest gain whose exponential is taken here


def _logs_entry(
    lanes: Lanes, weight: Any, lower: Any, upper: Any, low: Any, high: Any, factor: Any, one: Any
) -> Sequence[Any]:
    faint = lanes.less(weight, lanes.every(FAINT))
    unknown = lanes.every(math.nan)
    bounds = [lanes.larger(bound, lanes.every(FAINT)) for bound in (lower, upper)]
    return [lanes.where(faint, unknown, log_of_ratio(lanes, weight, bound)) for bound in bounds]


def _no_finish(lanes: Lanes, one: Any) -> Sequence[Any]:
    return []


@over_pack(_logs_entry, _no_finish, tables=5, numbers=1, sums=0, writes=[3, 4])
def write_logs(
    weight: Floats,
    lower: Floats,
    upper: Floats,
    low: Floats,
    high: Floats,
    begin: int,
    vector: Floats,
    first: int,
    scale: Floats,
    slot: int,
    size: int,
) -> None:
    """The logarithms of a pack; NaN where p~ is too small, any number for a bound of zero."""
    for e in range(begin, begin + N_LANES * size):
        known = weight[e] >= FAINT
        low[e] = math.log(weight[e] / max(lower[e], FAINT)) if known else math.nan
        high[e] = math.log(weight[e] / max(upper[e], FAINT)) if known else math.nan


def _far_entry(
    lanes: Lanes,
    weight: Any,
    lower: Any,
    upper: Any,
    low: Any,
    high: Any,
    old: Any,
    old_free: Any,
    factor: Any,
    beta: Any,
    c: Any,
    *rest: Any,
) -> Sequence[Any]:
    w, wanted, clipped = clip_entry(lanes, weight, lower, upper, factor, c)
    free = lanes.equal(wanted, clipped)
    nothing = lanes.every(0.0)
    bound = lanes.where(lanes.less(wanted, lower), low, high)
    gain = lanes.where(free, nothing, lanes.times(clipped, lanes.add(bound, beta)))
    mark = lanes.where(free, nothing, lanes.every(1.0))
    held = lanes.where(free, clipped, lanes.every(CLIPPED))
    return [clipped, lanes.where(free, w, nothing), gain, mark, clipped, held]


def _far_finish(
    lanes: Lanes, total: Any, slope: Any, gain: Any, marks: Any, c: Any, *rest: Any
) -> Sequence[Any]:
    settled, following = following_step(lanes, total, slope, c)
    held = lanes.both(lanes.less(lanes.every(SMALLEST), c), lanes.less(c, lanes.every(LARGEST)))
    one = lanes.every(1.0)
    log_c = log_of_ratio(lanes, lanes.where(held, c, one), one)
    mass = lanes.times(c, slope)
    whole = lanes.subtract(gain, lanes.times(mass, log_c))
    tame = lanes.both(
        lanes.less(whole, lanes.every(STEEPEST)), lanes.less(lanes.every(-STEEPEST), whole)
    )
    usable = lanes.both(held, tame)
    growth = exponential(lanes, lanes.where(tame, whole, lanes.every(0.0)))
    odd = lanes.where(lanes.both(settled, usable), lanes.every(0.0), one)
    waits = lanes.both(usable, lanes.neither(settled, lanes.less(following, lanes.every(0.0))))
    return [following, growth, mass, marks, odd, waits]


@over_pack(
    _far_entry, _far_finish, tables=7, vectors=2, numbers=5, sums=4, writes=[5, 6],
    stores=[0, 1, 2, 3, 4], counts=True,
)  # fmt: skip
def clip_pack_from_afar(
    weight: Floats,
    lower: Floats,
    upper: Floats,
    low: Floats,
    high: Floats,
    chance: Floats,
    free: Floats,
    begin: int,
    tilt: Floats,
    beta: Floats,
    first: int,
    scale: Floats,
    growth: Floats,
    mass: Floats,
    marks: Floats,
    odd: Floats,
    slot: int,
    size: int,
) -> float:
    """``pack_passes: clip_pack`` for any distance from the bounds, with their logarithms."""
    waiting = 0.0
    for i in range(N_LANES):
        c = scale[slot + i]
        total = 0.0
        slope = 0.0
        gain = 0.0
        clips = 0.0
        for j in range(size):
            e = begin + N_LANES * j + i
            w = weight[e] * tilt[first + j]
            wanted = c * w
            clipped = min(max(lower[e], wanted), upper[e])
            chance[e] = clipped
            free[e] = clipped if wanted == clipped else CLIPPED
            total += clipped
            slope += w if wanted == clipped else 0.0
            if wanted != clipped:
                clips += 1.0
                gain += clipped * ((low[e] if wanted < lower[e] else high[e]) + beta[first + j])
        missing = 1.0 - total
        settled = abs(missing) <= ROW_SUM_ROUNDING
        held = SMALLEST < c < LARGEST
        mass[slot + i] = c * slope
        gain -= mass[slot + i] * math.log(c if held else 1.0)
        tame = -STEEPEST < gain < STEEPEST
        growth[slot + i] = math.exp(gain) if tame else 1.0
        marks[slot + i] = clips
        odd[slot + i] = 0.0 if settled and held and tame else 1.0
        if not settled:
            scale[slot + i] = c + missing / slope if slope > 0.0 else LARGEST
        waiting += 1.0 if held and tame and not (settled or scale[slot + i] < 0.0) else 0.0
    return waiting
