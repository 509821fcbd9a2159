"""Boxes in packs (``packed``): their bounds, eight row problems, a guess of what will hold."""

from __future__ import annotations

from ..model.graph import Floats
from ..runtime.packs import gather_pack
from ..runtime.targets import leaf
from . import interface
from .box import BoxRows
from .box_pack_passes import guess_pack, mean_of_pack, solve_pack
from .packed import PackedRows


@interface.solves_packs.register(BoxRows)
@leaf
def boxes_solve_packs(rows: BoxRows) -> bool:
    return rows.least_occupancy == 0.0


@interface.load_pack.register(BoxRows)
@leaf
def load_boxes(rows: BoxRows, packed: PackedRows, begin: int, slot: int, size: int) -> None:
    gather_pack(rows.lower, packed.start, slot, packed.lower, begin, size)
    gather_pack(rows.upper, packed.start, slot, packed.upper, begin, size)


@interface.solve_packed.register(BoxRows)
@leaf
def solve_boxes(
    rows: BoxRows, packed: PackedRows, begin: int, tilt: Floats, first: int, slot: int, size: int
) -> None:
    solve_pack(packed, begin, tilt, first, slot, size)


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
