"""Arrays for the kernels: with ``ftrl_workspace`` the only place that allocates them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from advmdp.kernels.kl.disturbance import Disturbance
from advmdp.kernels.kl.dual import Dual, Flows, MergedRows
from advmdp.kernels.kl.linear.conjugate import Vectors
from advmdp.kernels.kl.linear.kept_factor import KeptFactor
from advmdp.kernels.kl.projection import Solver
from advmdp.kernels.kl.step import STEEPEST as STEEPEST
from advmdp.kernels.kl.step import KLStep
from advmdp.kernels.lanes.vectors import N_LANES
from advmdp.kernels.linear.block_system import Blocks, FullCouplings, Strips
from advmdp.kernels.model.measure import Measure
from advmdp.kernels.planning.linear_maximum import Reach
from advmdp.kernels.planning.occupancy_lanes import DEEP as DEEP_LANES
from advmdp.kernels.planning.occupancy_lanes import LONGEST, ReachInLanes
from advmdp.kernels.planning.occupancy_packs import ReachInPacks
from advmdp.kernels.sets.held import UNKNOWN, HeldRows
from advmdp.kernels.sets.packed import ListedSuccessors, PackedRows, SharedSuccessors
from advmdp.kernels.steps.interface import Certificate
from advmdp.layout import Floats, Layout

# Layers up to this width form and factor their Hessian blocks; wider ones use conjugate gradients.
# (At width 10 the two are level, at 30 conjugate gradients are twice as fast.)
NARROW = 12
# Rows with fewer successors than this in their widest layer are solved one by one, not in packs.
LEAST_PACKED = 4
# Packs of wider layers do not stay in the nearest memory, and their tables are half as much again
# as all others.
MOST_PACKED = 40
# Rows that list more successors than this are solved one by one.
LONGEST_LISTED = 8
# Wider layers keep no factors: these would be most of a learner's file.
MOST_KEPT = NARROW
# Conjugate gradients need more products the more layers there are, and a product over scattered
# successors takes longer for each of them.  In a grid that is unrolled over many steps, factoring
# n^3 numbers for a layer of n states is then cheaper (FrozenLake 8x8 over 60 steps: three times).
DEEP = 5

States = NDArray[np.uint32]


def is_wide(layout: Layout) -> bool | None:
    """True for conjugate gradients, None for blocks: ``Solver.wide``."""
    if max(layout.layer_sizes) <= NARROW:
        return None
    factoring = sum(n**3 for n in layout.layer_sizes)
    is_deep = not layout.is_dense and factoring <= DEEP * layout.n_layers * layout.n_entries
    return None if is_deep else True


def new_solver(layout: Layout, *, keeps: bool = False) -> Solver:
    """Work space of the projection: one table of triples, and a byte for each triple.

    With ``keeps`` a projection may begin with the factors that the last one ended with.
    """

    states, layers = layout.n_states, layout.n_layers
    dual = Dual(
        beta=np.zeros(states),
        tilt=np.zeros(states),
        flows=_new_flows(layout),
        held=_new_held_rows(layout),
        packed=_new_packed_rows(layout),
        merged=_new_merged_rows(layout),
        top=np.zeros(layers),
        widest=np.zeros(layers),
        shrink=np.zeros(layers),
        log_z=np.zeros(layers),
        term=np.zeros(states),
        together=np.zeros(0 if is_wide(layout) else layout.n_entries),
        chosen=np.zeros(max(layout.layer_sizes) * layout.n_actions, dtype=np.int64),
    )
    blocks = _new_blocks(layout)
    narrow = max(layout.layer_sizes) <= MOST_KEPT
    n_kept = blocks.entries.size if keeps and narrow else 0
    return Solver(
        dual=dual,
        vectors=Vectors(*(np.zeros(states) for _ in Vectors._fields)),
        blocks=blocks,
        couplings=_new_couplings(layout),
        kept=KeptFactor(np.zeros(n_kept), np.zeros(min(n_kept, 1), dtype=np.uint8)),
        disturbance=_no_disturbance(layout, n_kept),
        certificate=new_certificate(),
        wide=is_wide(layout),
    )


def _no_disturbance(layout: Layout, n_kept: int) -> Disturbance:
    """Room for a path where factors are kept: only with these the first step needs no more."""
    n, one = (layout.n_layers, 1) if n_kept else (0, 0)
    return Disturbance(np.zeros(one, dtype=np.int64), np.zeros(n, dtype=np.int64), np.zeros(n))


def _new_flows(layout: Layout) -> Flows:
    of_rows = ("row_mass", "share")
    sizes = (layout.n_rows if name in of_rows else layout.n_states for name in Flows._fields)
    return Flows(*map(np.zeros, sizes))


def _new_held_rows(layout: Layout) -> HeldRows:
    n_rows, n_entries = layout.n_rows, layout.n_entries
    return HeldRows(
        holding=np.zeros(n_rows, dtype=np.uint8),
        scale=np.ones(n_rows),
        tight=np.full(n_rows, UNKNOWN),
        gain=np.zeros(n_rows),
        group_mass=np.zeros(2 * n_rows),
        log_scale=np.zeros(2 * n_rows),
        work=np.zeros(n_entries),
        group=np.zeros(n_entries, dtype=np.uint8),
        near=np.zeros(max(layout.layer_sizes)),
    )


def _has_dense_packs(layout: Layout) -> bool:
    """Whether rows are dense, and long enough to gain by lying side by side."""
    sizes = layout.layer_sizes
    return layout.is_dense and LEAST_PACKED <= max(sizes) <= MOST_PACKED


def _has_listed_packs(layout: Layout) -> bool:
    """Whether rows list few successors, and layers are wide but factored (``DEEP``)."""
    if layout.is_dense or max(layout.layer_sizes) <= NARROW or is_wide(layout):
        return False
    return int(layout.row_sizes().max()) <= LONGEST_LISTED


def _pack_widths(layout: Layout) -> list[int]:
    """How many entries the rows of each layer have in a pack; none where there are no packs."""
    if _has_listed_packs(layout):
        starts = [layout.layer_rows(k).start for k in range(layout.n_layers)]
        return [int(n) for n in np.maximum.reduceat(layout.row_sizes(), starts)]
    return list(layout.layer_sizes[1:]) if _has_dense_packs(layout) else []


def _pack_places(layout: Layout, widths: list[int]) -> tuple[States, States, int, int]:
    """The first slot and entry of the packs of the layers with these widths, and how many each."""
    sizes = layout.layer_sizes[: len(widths)]
    rows = [-(-n * layout.n_actions // N_LANES) * N_LANES for n in sizes]
    entries = [count * n for count, n in zip(rows, widths, strict=True)]
    starts = (np.cumsum([0, *parts])[:-1].astype(np.uint32) for parts in (rows, entries))
    return (*starts, sum(rows), sum(entries))  # type: ignore[return-value]


def _new_packed_rows(layout: Layout) -> PackedRows:
    """Room for all rows in packs of eight."""
    widths = _pack_widths(layout)
    slot_at, entry_at, n_slots, n_entries = _pack_places(layout, widths)
    shapes = {"n_packs": len(slot_at), "slot": layout.n_rows if n_slots else 0}
    tables = ("weight", "lower", "upper", "low", "high", "chance", "free")
    shapes |= dict.fromkeys(tables, n_entries)
    shapes |= dict.fromkeys(("resting", "distant"), n_slots // N_LANES)
    counted = ("n_packs", "slot", "row", "start", "resting", "distant")
    arrays = {
        name: np.zeros(shapes.get(name, n_slots), dtype=np.int64 if name in counted else None)
        for name in PackedRows._fields[3:-1]
    }
    return PackedRows(
        width=np.array(widths, dtype=np.uint32),
        slot_at=slot_at,
        entry_at=entry_at,
        successors=_new_successors(layout, n_slots, n_entries, widths),
        **arrays,
    )


def _new_successors(
    layout: Layout, n_slots: int, n_entries: int, widths: list[int]
) -> SharedSuccessors | ListedSuccessors:
    """What packs need where each row lists its own successors."""
    if not _has_listed_packs(layout):
        return SharedSuccessors(np.zeros(0))
    near, length = (np.zeros(n, dtype=np.int64) for n in (n_entries, n_slots))
    longest = max(widths)
    return ListedSuccessors(near, np.zeros(n_entries), length, np.ones(longest), np.zeros(longest))


def _new_merged_rows(layout: Layout) -> MergedRows:
    lines, n_states = layout.lines(), layout.n_states
    return MergedRows(
        lines=lines,
        table=np.zeros(int(lines.row_start[-1])),
        weight=np.full(layout.n_rows, np.nan),
        growth=np.zeros(layout.n_rows),
        capped=np.zeros(layout.n_rows),
        lead=np.zeros(n_states),
        mass=np.zeros(n_states),
        factor=np.zeros(n_states),
        dot=np.zeros(n_states),
        tight=np.zeros(n_states),
        others=np.zeros(n_states, dtype=np.int64),
    )


def new_kl_step(layout: Layout, measure: Measure) -> KLStep:
    """The relative-entropy step from an initial measure."""
    return KLStep(measure, new_solver(layout, keeps=True), np.zeros(layout.n_rows))


def new_certificate() -> Certificate:
    """Of no step yet."""
    return Certificate(np.zeros(4, dtype=np.int64), np.zeros(3))


def _new_blocks(layout: Layout) -> Blocks:
    """D[1], C[1], D[2], ...: all pairs of states of a layer, then those with the next layer."""
    firsts = layout.layer_start.astype(np.uint32)
    diagonal_at, coupling_at = np.zeros((2, layout.n_layers), dtype=np.uint32)
    pairs, size = [np.zeros((2, 0), dtype=np.uint32)], 0
    for k in range(1, layout.n_layers) if not is_wide(layout) else ():
        here, there = (np.arange(firsts[i], firsts[i + 1], dtype=np.uint32) for i in (k, k + 1))
        diagonal_at[k], coupling_at[k] = size, size + len(here) ** 2
        size += len(here) * (len(here) + len(there))
        pairs.append(_all_pairs(here, here))
        if k < layout.n_layers - 1:
            pairs.append(_all_pairs(here, there))
    slots = np.concatenate(pairs, axis=1)
    scratch = np.zeros((2, layout.n_states))
    return Blocks(np.zeros(slots.shape[1]), diagonal_at, coupling_at, *slots, *scratch)


def _new_couplings(layout: Layout) -> FullCouplings | Strips:
    """Where eight columns of C[k] have their first entries, if that is worth knowing."""
    nothing = np.zeros(0, dtype=np.uint32)
    if not _has_listed_packs(layout):
        return FullCouplings(nothing)
    strip_at, tops = np.zeros(layout.n_layers, dtype=np.uint32), [nothing]
    owner = layout.entry_rows() // layout.n_actions
    for k in range(1, layout.n_layers - 1):
        part = layout.layer_entries(k)
        line = owner[part] - layout.layer_start[k]
        strip = (layout.entry_successors()[part] - layout.layer_start[k + 1]) // N_LANES
        top = np.full(-(-layout.layer_sizes[k + 1] // N_LANES), layout.layer_sizes[k])
        np.minimum.at(top, strip, line)
        strip_at[k] = sum(map(len, tops))
        tops.append((top // N_LANES * N_LANES).astype(np.uint32))
    return Strips(strip_at, np.concatenate(tops))


def _all_pairs(here: States, there: States) -> States:
    """Two lines: the first and the second states of all pairs, in the order of the blocks."""
    return np.stack([np.repeat(here, len(there)), np.tile(there, len(here))])


def new_measure(layout: Layout) -> Measure:
    """An occupancy measure to be filled."""
    return Measure(np.zeros(layout.n_entries), np.zeros(layout.n_rows), np.zeros(layout.n_states))


def new_reach(layout: Layout) -> Reach:
    """Work space of the upper occupancy bounds."""
    widest = max(layout.layer_sizes)
    value, bound, part, keys = map(
        np.zeros, (layout.n_states, layout.n_layers, layout.n_rows, widest)
    )
    order, row_order = (np.zeros(widest, dtype=np.int64) for _ in range(2))
    lanes, packs = _new_lanes(layout), _new_packs(layout)
    return Reach(value, bound, part, keys, order, row_order, lanes, packs)


def _new_lanes(layout: Layout) -> ReachInLanes:
    """Room for eight targets where rows are short and targets many."""
    longest = int(layout.row_sizes().max())
    suits = longest <= LONGEST and layout.n_layers >= DEEP_LANES
    sizes = (N_LANES * layout.n_states, N_LANES * longest, longest, longest)
    return ReachInLanes(*(np.zeros(size if suits else 0) for size in sizes))


def _new_packs(layout: Layout) -> ReachInPacks:
    """Room for the boxes of all rows but the last layer's, where rows are dense and short."""
    packs = _has_dense_packs(layout) and max(layout.layer_sizes) <= NARROW
    widths = _pack_widths(layout)[:-1] if packs else []
    slot_at, entry_at, n_slots, n_entries = _pack_places(layout, widths)
    start = np.zeros(n_slots, dtype=np.int64)
    for k, at in enumerate(slot_at):
        begins = layout.row_start[layout.layer_rows(k)]
        end = slot_at[k + 1] if k + 1 < len(slot_at) else n_slots
        start[at:end] = begins[np.minimum(np.arange(end - at), len(begins) - 1)]
    lower, upper, slack, total = map(np.zeros, (n_entries, n_entries, n_slots, n_slots))
    return ReachInPacks(slot_at, entry_at, start, lower, upper, slack, total)


def matrices_of(layout: Layout, transition: Floats) -> tuple[Floats, Floats]:
    """A known transition layer by layer, by rows and by successors; empty if a layer is wide."""
    tables = layout.triples(transition) if max(layout.layer_sizes) <= NARROW else []
    matrices = [table.reshape(-1, table.shape[-1]) for table in tables]
    along, across = ([m.ravel() for m in of] for of in (matrices, [m.T for m in matrices]))
    nothing = np.zeros(0)
    return np.concatenate([nothing, *along]), np.concatenate([nothing, *across])
