"""The row problem of boxes for packs in which entries lie far beyond their bounds.

As ``box_pack_passes: clip_pack``, whose series is good next to a bound only: here every entry takes
a whole logarithm, in registers (``runtime/logarithms``).  Projections from far away need them by
the thousand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..runtime.logarithms import exponential, log_of_ratio
from ..runtime.packs import Floats, over_pack
from ..runtime.vectors import N_LANES, Lanes
from .box_pack_passes import CLIPPED, FAR, clip_entry, following_step
from .held import LARGEST, SMALLEST
from .log_domain import ROW_SUM_ROUNDING

FAINT = 1e-290  # a weight below this, held up by a bound, may be the logarithm of another
STEEPEST = 300.0  # the largest gain whose exponential is taken here


def _log_entry(
    lanes: Lanes,
    weight: Any,
    lower: Any,
    upper: Any,
    old: Any,
    old_free: Any,
    factor: Any,
    c: Any,
    *rest: Any,
) -> Sequence[Any]:
    w, wanted, clipped = clip_entry(lanes, weight, lower, upper, factor, c)
    free = lanes.equal(wanted, clipped)
    nothing = lanes.every(0.0)
    slope = lanes.where(free, w, nothing)
    gain = lanes.times(clipped, log_of_ratio(lanes, wanted, clipped))
    faint = lanes.less(wanted, lanes.every(FAINT))
    mark = lanes.where(faint, lanes.every(FAR), lanes.every(1.0))
    far = lanes.where(free, nothing, mark)
    held = lanes.where(free, clipped, lanes.every(CLIPPED))
    return [clipped, slope, lanes.where(free, nothing, gain), far, clipped, held]


def _log_finish(
    lanes: Lanes, total: Any, slope: Any, gain: Any, far: Any, c: Any, *rest: Any
) -> Sequence[Any]:
    settled, following = following_step(lanes, total, slope, c)
    held = lanes.both(lanes.less(lanes.every(SMALLEST), c), lanes.less(c, lanes.every(LARGEST)))
    tame = lanes.both(
        lanes.less(gain, lanes.every(STEEPEST)), lanes.less(lanes.every(-STEEPEST), gain)
    )
    usable = lanes.both(lanes.both(held, tame), lanes.less(far, lanes.every(FAR)))
    growth = lanes.over(exponential(lanes, lanes.where(tame, gain, lanes.every(0.0))), c)
    odd = lanes.where(lanes.both(settled, usable), lanes.every(0.0), lanes.every(1.0))
    waits = lanes.both(usable, lanes.neither(settled, lanes.less(following, lanes.every(0.0))))
    return [following, growth, lanes.times(c, slope), far, odd, waits]


@over_pack(
    _log_entry, _log_finish, tables=5, numbers=5, sums=4, writes=[3, 4], stores=[0, 1, 2, 3, 4],
    counts=True,
)  # fmt: skip
def clip_pack_from_afar(
    weight: Floats,
    lower: Floats,
    upper: Floats,
    chance: Floats,
    free: Floats,
    begin: int,
    tilt: Floats,
    first: int,
    scale: Floats,
    growth: Floats,
    mass: Floats,
    marks: Floats,
    odd: Floats,
    slot: int,
    size: int,
) -> float:
    """``box_pack_passes: clip_pack`` for any distance from the bounds."""
    waiting = 0.0
    for i in range(N_LANES):
        c = scale[slot + i]
        total = 0.0
        slope = 0.0
        gain = 0.0
        far = 0.0
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
                far += FAR if wanted < FAINT else 1.0
                if clipped > 0.0 and wanted >= FAINT:
                    gain += clipped * math.log(wanted / clipped)
        missing = 1.0 - total
        settled = abs(missing) <= ROW_SUM_ROUNDING
        tame = -STEEPEST < gain < STEEPEST
        usable = far < FAR and SMALLEST < c < LARGEST and tame
        growth[slot + i] = (math.exp(gain) if tame else 1.0) / c
        mass[slot + i] = c * slope
        marks[slot + i] = far
        odd[slot + i] = 0.0 if settled and usable else 1.0
        if not settled:
            scale[slot + i] = c + missing / slope if slope > 0.0 else LARGEST
        waiting += 1.0 if usable and not (settled or scale[slot + i] < 0.0) else 0.0
    return waiting
