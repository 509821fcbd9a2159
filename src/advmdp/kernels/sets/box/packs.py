"""Boxes in packs (``packed``): their bounds, eight row problems, a guess of what will hold."""

from __future__ import annotations

from ...lanes.packs import gather_pack
from ...lanes.short_packs import gather_short
from ...lanes.vectors import N_LANES
from ...model.graph import Floats
from ...runtime.targets import leaf
from .. import interface
from ..packed import DISTANT, LOGGED, NEARBY, ListedSuccessors, PackedRows
from .pack_guess import guess_listed, guess_pack, mean_of_pack
from .pack_logs import clip_pack_from_afar, write_logs
from .pack_passes import FAR, clip_pack, step_pack
from .rows import BoxRows

CHEAP_STEPS = 2  # before a pass that divides: which bounds hold changes in most packs
CHEAP_FROM_AFAR = 1  # before one that does not, and is worth two of these steps
MOST_PASSES = 6


@interface.solves_packs.register(BoxRows)
@leaf
def boxes_solve_packs(rows: BoxRows) -> bool:
    return rows.least_occupancy == 0.0


@interface.load_pack.register(BoxRows)
@leaf
def load_boxes(rows: BoxRows, packed: PackedRows, begin: int, slot: int, size: int) -> None:
    gather_pack(rows.lower, packed.start, slot, packed.lower, begin, size)
    gather_pack(rows.upper, packed.start, slot, packed.upper, begin, size)


@interface.load_short_pack.register(BoxRows)
@leaf
def load_short_boxes(
    rows: BoxRows, packed: PackedRows, listed: ListedSuccessors, begin: int, slot: int, size: int
) -> None:
    length = listed.length
    gather_short(rows.lower, packed.start, length, slot, packed.lower, begin, size)
    gather_short(rows.upper, packed.start, length, slot, packed.upper, begin, size)


@leaf
def solve_nearby(
    packed: PackedRows, begin: int, tilt: Floats, first: int, slot: int, size: int
) -> None:
    """Clip until all rows sum to one, and find out whether some lie far beyond their bounds."""
    for _ in range(MOST_PASSES):
        waiting = clip_pack(
            packed.weight, packed.lower, packed.upper, packed.chance, packed.free, begin, tilt,
            first, packed.scale, packed.growth, packed.mass, packed.marks, packed.odd, slot, size,
        )  # fmt: skip
        if waiting == 0.0:
            break
    for lane in range(slot, slot + N_LANES):
        if packed.marks[lane] >= FAR:
            packed.distant[slot // N_LANES] = DISTANT


@leaf
def solve_from_afar(
    packed: PackedRows, begin: int, tilt: Floats, beta: Floats, first: int, slot: int, size: int
) -> None:
    """The same for rows at any distance from their bounds."""
    if packed.distant[slot // N_LANES] != LOGGED:
        write_logs(
            packed.weight, packed.lower, packed.upper, packed.low, packed.high, begin, tilt, first,
            packed.scale, slot, size,
        )  # fmt: skip
        packed.distant[slot // N_LANES] = LOGGED
    for _ in range(MOST_PASSES):
        waiting = clip_pack_from_afar(
            packed.weight, packed.lower, packed.upper, packed.low, packed.high, packed.chance,
            packed.free, begin, tilt, beta, first, packed.scale, packed.growth, packed.mass,
            packed.marks, packed.odd, slot, size,
        )  # fmt: skip
        if waiting == 0.0:
            break


@leaf
def solve_pack(
    packed: PackedRows, begin: int, tilt: Floats, beta: Floats, first: int, slot: int, size: int
) -> None:
    """All rows of a pack; ``odd`` tells which are left to others."""
    nearby = packed.distant[slot // N_LANES] == NEARBY
    for _ in range(CHEAP_STEPS if nearby else CHEAP_FROM_AFAR):
        step_pack(
            packed.weight, packed.lower, packed.upper, begin, tilt, first, packed.scale, slot, size
        )
    if packed.distant[slot // N_LANES] == NEARBY:
        solve_nearby(packed, begin, tilt, first, slot, size)
    if packed.distant[slot // N_LANES] != NEARBY:
        solve_from_afar(packed, begin, tilt, beta, first, slot, size)


@interface.solve_packed.register(BoxRows)
@leaf
def solve_boxes(
    rows: BoxRows,
    packed: PackedRows,
    begin: int,
    tilt: Floats,
    beta: Floats,
    first: int,
    slot: int,
    size: int,
) -> None:
    solve_pack(packed, begin, tilt, beta, first, slot, size)


@interface.guess_packed.register(BoxRows)
@leaf
def guess_boxes(
    rows: BoxRows, packed: PackedRows, begin: int, push: Floats, first: int, slot: int, size: int
) -> None:
    mean_of_pack(packed.chance, begin, push, first, packed.mean, slot, size)
    guess_pack(
        packed.chance, packed.lower, packed.upper, packed.free, begin, push, first, packed.mean,
        packed.mass, slot, size,
    )  # fmt: skip


@interface.guess_short_pack.register(BoxRows)
@leaf
def guess_short_boxes(
    rows: BoxRows,
    packed: PackedRows,
    listed: ListedSuccessors,
    begin: int,
    push: Floats,
    slot: int,
    size: int,
) -> None:
    guess_listed(
        packed.chance, packed.lower, packed.upper, packed.free, begin, push, listed.near,
        packed.mass, slot, size,
    )  # fmt: skip
