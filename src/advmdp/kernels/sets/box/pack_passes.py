"""The row problem of boxes for a pack of rows (``lanes/packs``): Newton on  sum clip(c w) = 1.

The same equation as in ``clip``, eight rows at a time, without a bracket.  A row that does not
settle within a few passes, or whose entries are far beyond their bounds, is marked as odd; whoever
asked solves it by itself.  What a lane finds does not depend on the rows beside it, but for
rounding where one of these lies far beyond its bounds (``pack_logs``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...lanes.packs import Floats, over_pack
from ...lanes.vectors import N_LANES, Lanes
from ..held import LARGEST, SMALLEST
from ..log_domain import ROW_SUM_ROUNDING
from .passes import LEAST, NEAR, SERIES

FAR = 64.0  # in ``marks``, beside which clipped entries count one
EXPONENTIAL = (1.0, 1.0, 1 / 2, 1 / 6, 1 / 24, 1 / 120, 1 / 720, 1 / 5040, 1 / 40320, 1 / 362880)
"""Of  e^x  for |x| up to 0.1, where these terms reach rounding."""
CLIPPED = -1.0  # stands in the table of free entries where a bound holds


def clip_entry(
    lanes: Lanes, weight: Any, lower: Any, upper: Any, factor: Any, c: Any
) -> Sequence[Any]:
    """The weight w, c w, and the latter clipped: to a bound even where c is beyond all floats."""
    w = lanes.times(weight, factor)
    wanted = lanes.times(c, w)
    return w, wanted, lanes.smaller(lanes.larger(lower, wanted), upper)


def following_step(lanes: Lanes, total: Any, slope: Any, c: Any) -> tuple[Any, Any]:
    """Whether the rows sum to one, and c after a Newton step where they do not."""
    missing = lanes.subtract(lanes.every(1.0), total)
    size = lanes.larger(missing, lanes.subtract(lanes.every(0.0), missing))
    settled = lanes.not_less(lanes.every(ROW_SUM_ROUNDING), size)
    return settled, lanes.where(settled, c, lanes.add(c, lanes.over(missing, slope)))


def _sum_entry(
    lanes: Lanes, weight: Any, lower: Any, upper: Any, factor: Any, c: Any
) -> Sequence[Any]:
    w, wanted, clipped = clip_entry(lanes, weight, lower, upper, factor, c)
    return [clipped, lanes.where(lanes.equal(wanted, clipped), w, lanes.every(0.0))]


def _sum_finish(lanes: Lanes, total: Any, slope: Any, c: Any) -> Sequence[Any]:
    return [following_step(lanes, total, slope, c)[1]]


@over_pack(_sum_entry, _sum_finish, tables=3, numbers=1, sums=2, stores=[0])
def step_pack(
    weight: Floats,
    lower: Floats,
    upper: Floats,
    begin: int,
    tilt: Floats,
    first: int,
    scale: Floats,
    slot: int,
    size: int,
) -> None:
    """One Newton step of c, which is ``scale``."""
    for i in range(N_LANES):
        c = scale[slot + i]
        total = 0.0
        slope = 0.0
        for j in range(size):
            e = begin + N_LANES * j + i
            w = weight[e] * tilt[first + j]
            clipped = min(max(lower[e], c * w), upper[e])
            total += clipped
            slope += w if c * w == clipped else 0.0
        missing = 1.0 - total
        if not (abs(missing) <= ROW_SUM_ROUNDING):
            scale[slot + i] = c + missing / slope if slope > 0.0 else LARGEST


def _bend_entry(
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
    slope = lanes.where(free, w, lanes.every(0.0))
    size = lanes.larger(lanes.add(wanted, clipped), lanes.every(LEAST))
    s = lanes.over(lanes.subtract(wanted, clipped), size)
    t = lanes.times(s, s)
    series = lanes.polynomial(t, SERIES)
    bend = lanes.times(clipped, lanes.times(lanes.times(lanes.every(2.0), s), series))
    mark = lanes.where(free, lanes.every(0.0), lanes.every(1.0))
    far = lanes.where(lanes.less(lanes.every(NEAR * NEAR), t), lanes.every(FAR), mark)
    return [clipped, slope, bend, far, clipped, lanes.where(free, clipped, lanes.every(CLIPPED))]


def _bend_finish(
    lanes: Lanes, total: Any, slope: Any, bend: Any, far: Any, c: Any, *rest: Any
) -> Sequence[Any]:
    settled, following = following_step(lanes, total, slope, c)
    near = lanes.less(far, lanes.every(FAR))
    held = lanes.both(lanes.less(lanes.every(SMALLEST), c), lanes.less(c, lanes.every(LARGEST)))
    usable = lanes.both(near, held)
    growth = lanes.over(lanes.polynomial(bend, EXPONENTIAL), c)
    fine = lanes.both(settled, usable)
    odd = lanes.where(fine, lanes.every(0.0), lanes.every(1.0))
    waits = lanes.both(usable, lanes.neither(settled, lanes.less(following, lanes.every(0.0))))
    return [following, growth, lanes.times(c, slope), far, odd, waits]


@over_pack(
    _bend_entry, _bend_finish, tables=5, numbers=5, sums=4, writes=[3, 4], stores=[0, 1, 2, 3, 4],
    counts=True,
)  # fmt: skip
def clip_pack(
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
    """Clip at this c, and step once more where that does not sum to one; how many rows do not.

    Written: p, its free entries, e^gain (``passes: clip_bend`` has the series), the mass of the
    free entries, and whether the row is odd: not settled, or not for this pass.
    """
    waiting = 0.0
    for i in range(N_LANES):
        c = scale[slot + i]
        total = 0.0
        slope = 0.0
        bend = 0.0
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
            s = (wanted - clipped) / max(wanted + clipped, LEAST)
            t = s * s
            far += FAR if t > NEAR * NEAR else (0.0 if wanted == clipped else 1.0)
            series = 1.0 + t * (1 / 3 + t * (1 / 5 + t * (1 / 7 + t * (1 / 9 + t * (1 / 11)))))
            bend += clipped * (2.0 * s * series)
        missing = 1.0 - total
        settled = abs(missing) <= ROW_SUM_ROUNDING
        usable = far < FAR and SMALLEST < c < LARGEST
        power = 0.0
        for k in range(len(EXPONENTIAL)):
            power = EXPONENTIAL[len(EXPONENTIAL) - 1 - k] + bend * power
        growth[slot + i] = power / c
        mass[slot + i] = c * slope
        marks[slot + i] = far
        odd[slot + i] = 0.0 if settled and usable else 1.0
        if not settled:
            scale[slot + i] = c + missing / slope if slope > 0.0 else LARGEST
        waiting += 1.0 if usable and not (settled or scale[slot + i] < 0.0) else 0.0
    return waiting
