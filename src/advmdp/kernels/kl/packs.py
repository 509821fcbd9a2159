"""Packs in a projection: which rows they hold, and what the sweep, the Hessian and the commit need.

See ``sets/packed``.  Packs are made anew for every projection, from the rows that bounds are
expected to hold; rows that leave their boxes later on are solved by themselves.
"""

from __future__ import annotations

import math
from typing import Any

from ..lanes.packs import add_packs, gather_pack, scatter_pack
from ..lanes.vectors import N_LANES
from ..model.graph import (
    Floats,
    Graph,
    layer_begin,
    layer_end,
    n_layers,
    row_begin,
    row_size,
)
from ..model.log_storage import linear
from ..model.measure import Measure
from ..model.row_status import is_bound
from ..runtime.dispatch import dispatched
from ..runtime.indices import int64
from ..runtime.targets import kernel, leaf
from ..sets.held import SMALLEST, UNKNOWN, hold_written, is_written
from ..sets.interface import (
    guess_packed,
    load_pack,
    solve_packed,
    solves_packs,
)
from ..sets.packed import DISTANT, NEARBY, PackedRows, spread_pack
from .dual import Dual

OUTSIDE = 1.1  # tightness of a row some entry of which is far beyond its bound
FEWEST = 3  # rows of a layer: fewer are solved one by one


@leaf
def has_packs(dual: Dual) -> bool:
    """Whether the layout has room for packs; on a card none has."""
    return dual.packed.slot.shape[0] > 0


@leaf
def slot_of(dual: Dual, r: int) -> int:
    """The slot of a row, or -1 if it is in no pack."""
    return int64(dual.packed.slot[r]) if has_packs(dual) else -1


@leaf
def slot_in(packed: PackedRows, k: int, i: int) -> int:
    """The first slot of pack i of layer k."""
    return int64(packed.slot_at[k]) + N_LANES * i


@leaf
def begin_of(packed: PackedRows, k: int, i: int, size: int) -> int:
    """Where it begins in the tables."""
    return int64(packed.entry_at[k]) + N_LANES * size * i


@leaf
def width_of(packed: PackedRows, k: int) -> int:
    """How many entries the rows of layer k have in a pack."""
    return int64(packed.width[k])


@leaf
def entry_in(graph: Graph, packed: PackedRows, r: int, slot: int) -> int:
    """The first entry of a row in its pack; the next one is eight places on."""
    k = int64(graph.layer[graph.owner[r]])
    lane = slot - int64(packed.slot_at[k])
    return begin_of(packed, k, lane // N_LANES, width_of(packed, k)) + lane % N_LANES


# ---------------------------------------------------------------------- which rows


@leaf
def list_rows(graph: Graph, k: int, rows: Any, dual: Dual) -> int:
    """Give the rows of layer k slots; returns how many are used, a multiple of eight."""
    packed = dual.packed
    begin = int64(packed.slot_at[k])
    at = begin
    for r in range(layer_begin(graph, k) * graph.n_actions, layer_end(graph, k) * graph.n_actions):
        if is_bound(rows, r) and is_written(dual.held, r):
            packed.slot[r] = at
            packed.row[at] = r
            at += 1
    if at - begin < FEWEST:
        for i in range(begin, at):
            packed.slot[packed.row[i]] = -1
        return 0
    last = packed.row[at - 1]
    while (at - begin) % N_LANES != 0:
        packed.row[at] = last
        at += 1
    return at - begin


@leaf
def load_shared(
    successors: Any, graph: Graph, measure: Measure, rows: Any, packed: PackedRows, k: int, i: int
) -> None:
    begin = begin_of(packed, k, i, width_of(packed, k))
    slot = slot_in(packed, k, i)
    size = width_of(packed, k)
    gather_pack(measure.chance, packed.start, slot, packed.weight, begin, size)
    load_pack(rows, packed, begin, slot, size)


@dispatched("successors", default=load_shared)
def load_rows(
    successors: Any, graph: Graph, measure: Measure, rows: Any, packed: PackedRows, k: int, i: int
) -> None:
    """Lay the rows of pack i of layer k, which has its slots, and their bounds side by side."""


@kernel
def choose_packs(graph: Graph, measure: Measure, rows: Any, dual: Dual) -> None:
    """Lay the rows that bounds are expected to hold side by side."""
    packed = dual.packed
    for r in range(packed.slot.shape[0]):
        packed.slot[r] = -1
    for k in range(n_layers(graph)):
        first = int64(packed.slot_at[k])
        count = list_rows(graph, k, rows, dual)
        packed.n_packs[k] = count // N_LANES
        for i in range(first, first + count):
            r = packed.row[i]
            packed.start[i] = row_begin(graph, r)
            packed.scale[i] = dual.held.scale[r]
            packed.flow[i] = 0.0
            hold_written(dual.held, r, math.nan, 1.0, 0.0, 0.0)
        for i in range(packed.n_packs[k]):
            slot = slot_in(packed, k, i)
            load_rows(packed.successors, graph, measure, rows, packed, k, i)
            rests = 1
            distant = NEARBY
            for lane in range(slot, slot + N_LANES):
                tight = dual.held.tight[packed.row[lane]]
                if not (tight <= 1.0):
                    rests = 0
                if tight > OUTSIDE and tight != UNKNOWN:
                    distant = DISTANT
            packed.resting[slot // N_LANES] = rests
            packed.distant[slot // N_LANES] = distant


@leaf
def begin_packs(
    graph: Graph, measure: Measure, rows: Any, dual: Dual, in_logs: bool | None
) -> None:
    """``choose_packs`` where there may be any; none on the safe path."""
    if has_packs(dual):
        if in_logs is None and solves_packs(rows):
            choose_packs(graph, measure, rows, dual)
        else:
            forget_packs(dual)


@leaf
def forget_packs(dual: Dual) -> None:
    """No row is in a pack any more."""
    for r in range(dual.packed.slot.shape[0]):
        dual.packed.slot[r] = -1
    if has_packs(dual):
        for k in range(dual.packed.n_packs.shape[0]):
            dual.packed.n_packs[k] = 0


# ---------------------------------------------------------------------- an evaluation


@leaf
def rest_pack(packed: PackedRows, begin: int, slot: int, size: int) -> None:
    """The solution of rows that lie in their sets, at beta = 0: p~ itself, all entries free."""
    for e in range(begin, begin + N_LANES * size):
        packed.chance[e] = packed.weight[e]
        packed.free[e] = packed.weight[e]
    for i in range(slot, slot + N_LANES):
        packed.scale[i] = 1.0
        packed.growth[i] = 1.0
        packed.mass[i] = 1.0
        packed.marks[i] = 0.0
        packed.odd[i] = 0.0


@leaf
def solve_shared(
    successors: Any, graph: Graph, rows: Any, dual: Dual, k: int, i: int, rests: bool
) -> None:
    packed = dual.packed
    size = width_of(packed, k)
    slot = slot_in(packed, k, i)
    begin = begin_of(packed, k, i, size)
    if rests:
        rest_pack(packed, begin, slot, size)
    else:
        solve_packed(rows, packed, begin, dual.tilt, dual.beta, layer_end(graph, k), slot, size)


@dispatched("successors", default=solve_shared)
def solve_rows(
    successors: Any, graph: Graph, rows: Any, dual: Dual, k: int, i: int, rests: bool
) -> None:
    """The row problems of a pack; where it ``rests`` the rows are their own solutions."""


@leaf
def solve_packs(graph: Graph, k: int, rows: Any, dual: Dual, at_zero: bool) -> None:
    """The row problems of all packs of a layer."""
    packed = dual.packed
    if has_packs(dual):
        for i in range(packed.n_packs[k]):
            rests = at_zero and packed.resting[slot_in(packed, k, i) // N_LANES] == 1
            solve_rows(packed.successors, graph, rows, dual, k, i, rests)


@leaf
def is_solved(dual: Dual, r: int) -> bool:
    """Whether a row is in a pack that has solved it."""
    slot = slot_of(dual, r)
    return slot >= 0 and bool(dual.packed.odd[slot] == 0.0)


@leaf
def take_row(r: int, lead: float, measure: Measure, dual: Dual) -> None:
    """Share and flow of a row that its pack has solved, as ``sweep: solve_single_row`` has them."""
    packed = dual.packed
    slot = packed.slot[r]
    if not is_written(dual.held, r):  # it was odd before
        hold_written(dual.held, r, math.nan, 1.0, 0.0, 0.0)
    share = linear(measure.policy[r]) * packed.growth[slot]
    packed.flow[slot] = lead * share
    dual.flows.row_mass[r] = lead * share
    dual.flows.share[r] = share if packed.growth[slot] > SMALLEST else math.nan


@leaf
def put_back(graph: Graph, r: int, dual: Dual) -> bool:
    """Copy an odd row that is solved by itself to its pack; False if it has left its bounds."""
    packed = dual.packed
    slot = slot_of(dual, r)
    if slot < 0:
        return False
    packed.flow[slot] = 0.0
    if not is_written(dual.held, r):
        return False
    e = entry_in(graph, packed, r, slot)
    for j in range(row_size(graph, r)):
        p = dual.held.work[row_begin(graph, r) + j]
        is_free = dual.held.group[row_begin(graph, r) + j] == 1
        packed.chance[e + N_LANES * j] = p
        packed.free[e + N_LANES * j] = p if is_free else -1.0
    packed.scale[slot] = dual.held.scale[r]
    packed.mass[slot] = dual.held.group_mass[2 * r]
    packed.marks[slot] = 1.0
    packed.flow[slot] = dual.flows.row_mass[r]
    return True


@leaf
def pour_shared(successors: Any, graph: Graph, k: int, dual: Dual) -> None:
    packed = dual.packed
    add_packs(
        packed.chance, int64(packed.entry_at[k]), packed.n_packs[k], width_of(packed, k),
        packed.flow, int64(packed.slot_at[k]), dual.flows.other_sum, layer_end(graph, k),
    )  # fmt: skip


@dispatched("successors", default=pour_shared)
def pour_rows(successors: Any, graph: Graph, k: int, dual: Dual) -> None:
    """Add the flows of the rows in the packs of a layer, of which there are some."""


@leaf
def pour_packs(graph: Graph, k: int, dual: Dual) -> None:
    """Add the flows of the rows in packs to the inflows of their successors."""
    if has_packs(dual) and dual.packed.n_packs[k] > 0:
        pour_rows(dual.packed.successors, graph, k, dual)


# ---------------------------------------------------------------------- the Hessian, the commit


@leaf
def guess_shared(
    successors: Any, graph: Graph, rows: Any, packed: PackedRows, push: Floats, k: int, i: int
) -> None:
    size = width_of(packed, k)
    begin = begin_of(packed, k, i, size)
    guess_packed(rows, packed, begin, push, layer_end(graph, k), slot_in(packed, k, i), size)


@dispatched("successors", default=guess_shared)
def guess_rows(
    successors: Any, graph: Graph, rows: Any, packed: PackedRows, push: Floats, k: int, i: int
) -> None:
    """Which bounds will hold in a pack that rests."""


@leaf
def guess_packs(graph: Graph, rows: Any, dual: Dual, push: Floats) -> None:
    """``active_set: guess_active_set`` for the packs that rest."""
    packed = dual.packed
    if has_packs(dual):
        for k in range(n_layers(graph)):
            for i in range(packed.n_packs[k]):
                if packed.resting[slot_in(packed, k, i) // N_LANES] == 1:
                    guess_rows(packed.successors, graph, rows, packed, push, k, i)


@leaf
def write_curvature(graph: Graph, k: int, dual: Dual) -> None:
    """``linear/blocks: prepare_row`` for all rows in packs of a layer with common successors."""
    packed = dual.packed
    if has_packs(dual):
        size = width_of(packed, k)
        for i in range(packed.n_packs[k]):
            slot = slot_in(packed, k, i)
            begin = begin_of(packed, k, i, size)
            spread_pack(packed.free, begin, dual.tilt, layer_end(graph, k), packed.mass, slot, size)
            scatter_pack(packed.chance, begin, packed.start, slot, dual.held.work, size)
            scatter_pack(packed.free, begin, packed.start, slot, dual.together, size)


@leaf
def write_shared(successors: Any, packed: PackedRows, k: int, i: int, out: Floats) -> None:
    begin = begin_of(packed, k, i, width_of(packed, k))
    slot = slot_in(packed, k, i)
    scatter_pack(packed.chance, begin, packed.start, slot, out, width_of(packed, k))


@dispatched("successors", default=write_shared)
def write_rows(successors: Any, packed: PackedRows, k: int, i: int, out: Floats) -> None:
    """p_beta of the rows of a pack, in a table of rows."""


@leaf
def write_solutions(graph: Graph, dual: Dual) -> None:
    """p_beta of all rows in packs, where the commit looks for it."""
    packed = dual.packed
    if has_packs(dual):
        for k in range(n_layers(graph)):
            for i in range(packed.n_packs[k]):
                write_rows(packed.successors, packed, k, i, dual.held.work)


@kernel
def spell_out(graph: Graph, r: int, dual: Dual) -> None:
    """What ``held`` says of a written row by itself, for a row in a pack; few ever need it.

    It says so already of an odd row, which was solved by itself; its pack knows no growth of it.
    """
    packed = dual.packed
    if not is_solved(dual, r) or not is_written(dual.held, r):
        return
    slot = slot_of(dual, r)
    dual.held.scale[r] = packed.scale[slot]
    hold_written(dual.held, r, math.log(packed.scale[slot]), packed.mass[slot], 0.0, 0.0)
    dual.held.gain[r] = math.log(packed.growth[slot])
    e = entry_in(graph, packed, r, slot)
    for j in range(row_size(graph, r)):
        is_free = packed.free[e + N_LANES * j] >= 0.0
        dual.held.group[row_begin(graph, r) + j] = 1 if is_free else 0


@leaf
def is_clipped(dual: Dual, r: int) -> bool:
    """Whether a row in a pack is known to touch a bound."""
    slot = slot_of(dual, r)
    return slot >= 0 and bool(dual.packed.marks[slot] > 0.0) and is_written(dual.held, r)
