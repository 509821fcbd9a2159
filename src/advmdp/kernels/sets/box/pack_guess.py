"""Which bounds will hold in a pack of rows, guessed at beta = 0 (``kl/active_set``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...lanes.packs import Floats, Places, over_pack
from ...lanes.vectors import N_LANES, Lanes
from ...runtime.indices import place
from ...runtime.targets import leaf
from .pack_passes import CLIPPED


def _mean_entry(lanes: Lanes, p: Any, push: Any, mean: Any) -> Sequence[Any]:
    return [lanes.times(p, push)]


def _mean_finish(lanes: Lanes, total: Any, mean: Any) -> Sequence[Any]:
    return [total]


@over_pack(_mean_entry, _mean_finish, tables=1, numbers=1, sums=1, stores=[0])
def mean_of_pack(
    chance: Floats, begin: int, push: Floats, first: int, mean: Floats, slot: int, size: int
) -> None:
    """<p, push> of every row."""
    for i in range(N_LANES):
        total = 0.0
        for j in range(size):
            total += chance[begin + N_LANES * j + i] * push[first + j]
        mean[slot + i] = total


def _guess_entry(
    lanes: Lanes,
    p: Any,
    lower: Any,
    upper: Any,
    old: Any,
    push: Any,
    mean: Any,
    *rest: Any,
) -> Sequence[Any]:
    nothing = lanes.every(0.0)
    way = lanes.subtract(push, mean)
    over = lanes.both(lanes.not_less(p, upper), lanes.less(nothing, way))
    under = lanes.both(lanes.not_less(lower, p), lanes.less(way, nothing))
    stays = lanes.where(over, lanes.every(CLIPPED), lanes.where(under, lanes.every(CLIPPED), p))
    return [lanes.larger(stays, nothing), stays]


def _guess_finish(lanes: Lanes, total: Any, *rest: Any) -> Sequence[Any]:
    return [total]


@over_pack(_guess_entry, _guess_finish, tables=4, numbers=2, sums=1, writes=[3], stores=[1])
def guess_pack(
    chance: Floats,
    lower: Floats,
    upper: Floats,
    free: Floats,
    begin: int,
    push: Floats,
    first: int,
    mean: Floats,
    mass: Floats,
    slot: int,
    size: int,
) -> None:
    """Take the entries on a bound that ``push`` moves beyond it as clipped."""
    for i in range(N_LANES):
        total = 0.0
        for j in range(size):
            e = begin + N_LANES * j + i
            way = push[first + j] - mean[slot + i]
            over = chance[e] >= upper[e] and way > 0.0
            under = chance[e] <= lower[e] and way < 0.0
            free[e] = CLIPPED if over or under else chance[e]
            total += max(free[e], 0.0)
        mass[slot + i] = total


@leaf
def guess_listed(
    chance: Floats,
    lower: Floats,
    upper: Floats,
    free: Floats,
    begin: int,
    push: Floats,
    near: Places,
    mass: Floats,
    slot: int,
    size: int,
) -> None:
    """The same for rows that list their successors."""
    begin = place(begin)
    for i in range(N_LANES):
        mean = 0.0
        for j in range(size):
            e = begin + N_LANES * j + i
            mean += chance[e] * push[near[e]]
        total = 0.0
        for j in range(size):
            e = begin + N_LANES * j + i
            way = push[near[e]] - mean
            over = chance[e] >= upper[e] and way > 0.0
            under = chance[e] <= lower[e] and way < 0.0
            free[e] = CLIPPED if over or under else chance[e]
            total += max(free[e], 0.0)
        mass[slot + i] = total
