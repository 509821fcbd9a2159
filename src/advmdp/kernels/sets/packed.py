"""Rows at their bounds in packs: the copy of their row problems that is solved eight at a time.

At the beginning of a projection the rows of a layer that bounds are expected to hold are laid side
by side (``lanes/packs``): p~, their bounds, and what becomes of them at the present beta.  Until
the projection ends such a row is read and solved here; ``held`` says that it is WRITTEN, and gets
its p_beta when the Hessian is assembled and when the step is committed.

Dense layouts of moderate width have packs, and deep ones with few declared successors
(``ListedSuccessors``); both only where one thread plays a run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..lanes.packs import over_pack
from ..lanes.vectors import N_LANES, Lanes
from ..model.graph import Floats, Index
from ..runtime.storage import Alone, Common

Places = NDArray[np.int64]


NEARBY, DISTANT, LOGGED = 0, 1, 2


class SharedSuccessors(NamedTuple):
    """All rows of a layer lead to the same states: packs need nothing else."""

    none: Common[Floats]  # (0,)


class ListedSuccessors(NamedTuple):
    """Every row lists its own successors, and the lanes of a pack lead to different states.

    Weights are tilted in place before the rows are solved, with tilts of one, and rows that are
    shorter than the longest of their layer end with weights and bounds of zero.
    """

    near: Alone[Places]  # (entries,) the successor
    untilted: Alone[Floats]  # (entries,) p~; ``PackedRows.weight`` is p~ e^beta
    length: Alone[Places]  # (slots,) of the row
    tilt: Common[Floats]  # (longest row,) ones
    beta: Common[Floats]  # (longest row,) zeros


class PackedRows(NamedTuple):
    """The rows of all packs; a slot is a lane of a pack, and spare slots repeat the last row."""

    width: Common[Index]  # (L,) how many entries the rows of a layer have in a pack
    slot_at: Common[Index]  # (L,) the first slot of a layer
    entry_at: Common[Index]  # (L,) where its packs begin in the tables
    n_packs: Alone[Places]  # (L,) how many of them are used
    slot: Alone[Places]  # (R,) of each row, or -1
    row: Alone[Places]  # (slots,) the row in each slot
    start: Alone[Places]  # (slots,) where it begins in a table of rows
    resting: Alone[Places]  # (packs,) 1 while the rows are their own solution
    distant: Alone[Places]  # (packs,) NEARBY, DISTANT once some entry is far beyond its bound, or
    #                         LOGGED when its logarithms are written as well
    scale: Alone[Floats]  # (slots,) c
    growth: Alone[Floats]  # (slots,) e^gain
    mass: Alone[Floats]  # (slots,) of the free entries
    marks: Alone[Floats]  # (slots,) zero if no entry is clipped
    odd: Alone[Floats]  # (slots,) 1 for a row that has to be solved by itself
    flow: Alone[Floats]  # (slots,) what leaves through the row, before Z_k; 0 in spare slots
    mean: Alone[Floats]  # (slots,) scratch of the guess
    along: Alone[Floats]  # (slots,) of a product with the Hessian: what multiplies a row,
    across: Alone[Floats]  # (slots,) its free entries,
    moving: Alone[Floats]  # (slots,) and these and the vector; 0 in spare slots
    weight: Alone[Floats]  # (entries,) p~
    lower: Alone[Floats]  # (entries,)
    upper: Alone[Floats]  # (entries,)
    low: Alone[Floats]  # (entries,) ln(p~ / lower) of packs that are LOGGED
    high: Alone[Floats]  # (entries,) ln(p~ / upper)
    chance: Alone[Floats]  # (entries,) p_beta
    free: Alone[Floats]  # (entries,) the same, or -1 where a bound holds
    successors: SharedSuccessors | ListedSuccessors


def _spread_entry(lanes: Lanes, free: Any, factor: Any, mass: Any) -> Sequence[Any]:
    nothing, one = lanes.every(0.0), lanes.every(1.0)
    root = lanes.over(one, lanes.root(lanes.where(lanes.less(nothing, mass), mass, one)))
    return [lanes.times(lanes.larger(free, nothing), root)]


def _no_finish(lanes: Lanes, mass: Any) -> Sequence[Any]:
    return []


@over_pack(_spread_entry, _no_finish, tables=1, numbers=1, sums=0, writes=[0])
def spread_pack(
    free: Floats, begin: int, vector: Floats, first: int, mass: Floats, slot: int, size: int
) -> None:
    """Free entries over the root of their mass, in place: dp/dbeta = diag(p_F) - t t^T."""
    for i in range(N_LANES):
        root = 1.0 / math.sqrt(mass[slot + i]) if mass[slot + i] > 0.0 else 1.0
        for j in range(size):
            free[begin + N_LANES * j + i] = max(free[begin + N_LANES * j + i], 0.0) * root
