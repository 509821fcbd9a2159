"""Packs of rows that list their successors (``packs``), as the layouts of grids have them."""

from __future__ import annotations

from typing import Any

from ..lanes.short_packs import add_short, gather_short, scatter_short, tilt_short
from ..lanes.vectors import N_LANES
from ..model.graph import Floats, Graph, row_size, successor_of
from ..model.measure import Measure
from ..runtime.targets import leaf
from ..sets.interface import guess_short_pack, load_short_pack, solve_packed
from ..sets.packed import DISTANT, LOGGED, ListedSuccessors, PackedRows
from .dual import Dual
from .packs import (
    begin_of,
    guess_rows,
    load_rows,
    pour_rows,
    rest_pack,
    slot_in,
    solve_rows,
    width_of,
    write_rows,
)


@load_rows.register(ListedSuccessors)
@leaf
def load_listed(
    successors: ListedSuccessors,
    graph: Graph,
    measure: Measure,
    rows: Any,
    packed: PackedRows,
    k: int,
    i: int,
) -> None:
    """Where a row has ended, its first successor stands again, with a weight of zero."""
    size = width_of(packed, k)
    slot = slot_in(packed, k, i)
    begin = begin_of(packed, k, i, size)
    for lane in range(N_LANES):
        r = packed.row[slot + lane]
        length = row_size(graph, r)
        successors.length[slot + lane] = length
        for j in range(size):
            at = begin + N_LANES * j + lane
            successors.near[at] = successor_of(graph, r, j if j < length else 0)
    gather_short(
        measure.chance, packed.start, successors.length, slot, successors.untilted, begin, size
    )
    load_short_pack(rows, packed, successors, begin, slot, size)


@solve_rows.register(ListedSuccessors)
@leaf
def solve_listed(
    successors: ListedSuccessors, graph: Graph, rows: Any, dual: Dual, k: int, i: int, rests: bool
) -> None:
    """The weights of this beta have other logarithms than those of the last one."""
    packed = dual.packed
    size = width_of(packed, k)
    slot = slot_in(packed, k, i)
    begin = begin_of(packed, k, i, size)
    tilt_short(
        successors.untilted, dual.tilt, successors.near, packed.weight, begin, N_LANES * size
    )
    if packed.distant[slot // N_LANES] == LOGGED:
        packed.distant[slot // N_LANES] = DISTANT
    if rests:
        rest_pack(packed, begin, slot, size)
    else:
        solve_packed(rows, packed, begin, successors.tilt, successors.beta, 0, slot, size)


@pour_rows.register(ListedSuccessors)
@leaf
def pour_listed(successors: ListedSuccessors, graph: Graph, k: int, dual: Dual) -> None:
    packed = dual.packed
    size = width_of(packed, k)
    for i in range(packed.n_packs[k]):
        add_short(
            packed.chance, begin_of(packed, k, i, size), successors.near, packed.flow,
            slot_in(packed, k, i), size, dual.flows.other_sum,
        )  # fmt: skip


@guess_rows.register(ListedSuccessors)
@leaf
def guess_listed(
    successors: ListedSuccessors,
    graph: Graph,
    rows: Any,
    packed: PackedRows,
    push: Floats,
    k: int,
    i: int,
) -> None:
    size = width_of(packed, k)
    begin = begin_of(packed, k, i, size)
    guess_short_pack(rows, packed, successors, begin, push, slot_in(packed, k, i), size)


@write_rows.register(ListedSuccessors)
@leaf
def write_listed(
    successors: ListedSuccessors, packed: PackedRows, k: int, i: int, out: Floats
) -> None:
    slot = slot_in(packed, k, i)
    begin = begin_of(packed, k, i, width_of(packed, k))
    scatter_short(packed.chance, begin, packed.start, successors.length, slot, out)
