"""The Hessian where rows list few successors: blocks without the products of whole layers.

``blocks`` forms the Hessian of  G = sum of ln Z_k, in which the rows of a layer vary around their
mean: an outer product of all flows for each block.  A constant that is added to beta on a layer
changes nothing, so that  F = sum of (Z_k - 1)  may take the place of G: with every Z_k at one they
have the same gradient, and G is the least of F over such constants.  A Newton direction of F is
therefore one of G, up to constants that ``projection: move`` takes off again.  Its blocks are

    D[k]    = diag(out) + sum over rows that lead here of (m p p^T + m dp/dbeta)
    C[k]    = - sum over actions of m p,

so that C has a few entries for each state, which ``linear/sparse_factor`` makes use of, and nothing
is flat.  The first layer has a single state with flow one; it is eliminated at once.  Of D
the upper triangle is formed, which is the one that is factored.
"""

from __future__ import annotations

from typing import Any

from ...lanes.vectors import N_LANES
from ...linear.block_solve import begin_direction, substitute_in_layer
from ...linear.block_system import Blocks, Strips
from ...linear.sparse_factor import factor_sparse_block, substitute_upper
from ...model.graph import (
    Floats,
    Graph,
    layer_begin,
    layer_end,
    n_layers,
    owner_of,
    row_begin,
    row_size,
    successor_of,
)
from ...model.measure import Measure
from ...runtime.indices import int64, place
from ...runtime.targets import FOR_CUDA, kernel, leaf
from ...sets.held import is_scaled, is_written
from ...sets.packed import ListedSuccessors
from ..dual import Dual
from ..packs import begin_of, slot_in, slot_of, width_of
from .block_directions import block_direction, by_full_blocks
from .blocks import EMPTY, RIDGE, is_explicit
from .conjugate import Vectors


@leaf
def coupling_line(graph: Graph, x: int, k: int, blocks: Blocks) -> int:
    """Where the line of a state in C[k] begins."""
    width = layer_end(graph, k + 1) - layer_end(graph, k)
    return int64(blocks.coupling_at[k]) + (x - layer_begin(graph, k)) * width


@leaf
def begin_layer(graph: Graph, k: int, dual: Dual, blocks: Blocks) -> None:
    """D[k] and C[k] without what rows add to them."""
    entries = blocks.entries
    here = layer_begin(graph, k)
    n = layer_end(graph, k) - here
    width = layer_end(graph, k + 1) - layer_end(graph, k) if k + 1 < n_layers(graph) else 0
    at = place(blocks.diagonal_at[k])
    for e in range(at, at + n * (n + width)):
        entries[e] = 0.0
    for x in range(n):
        flow = dual.flows.outflow[here + x] + dual.flows.inflow[here + x]
        pivot = at + x * n + x
        entries[pivot] = dual.flows.outflow[here + x] + dual.flows.free_inflow[here + x]
        entries[pivot] += RIDGE * flow if flow >= EMPTY else 1.0
        if k == 1:
            for y in range(x, n):
                entries[at + x * n + y] -= dual.flows.inflow[1 + x] * dual.flows.inflow[1 + y]


@leaf
def couple_free_row(
    graph: Graph, r: int, measure: Measure, dual: Dual, entries: Floats, line: int, there: int
) -> None:
    """Take the flow of an implicit row from the line of its state."""
    begin = place(row_begin(graph, r))
    flow = dual.flows.row_mass[r] * dual.held.scale[r]
    for j in range(row_size(graph, r)):
        y = place(successor_of(graph, r, j))
        p = max(measure.chance[begin + j], 0.0)
        entries[place(line + y - there)] -= dual.tilt[y] * (flow * p)


@leaf
def share_of_group(dual: Dual, r: int, e: int) -> float:
    """One over the mass of the group that entry e of a row moves with; 0 if it does not move."""
    group = int64(dual.held.group[e]) if is_written(dual.held, r) else 0
    mass = dual.held.group_mass[place(2 * r + group - 1)] if group > 0 else 0.0
    return 1.0 / mass if mass > 0.0 else 0.0  # what is free may be too little for floats


@leaf
def add_row(
    graph: Graph, r: int, k: int, measure: Measure, dual: Dual, blocks: Blocks, at: int, n: int
) -> None:
    """Curvature and coupling of an explicit row of layer k that is in no pack."""
    entries = blocks.entries
    begin = place(row_begin(graph, r))
    there = layer_end(graph, k)
    line = coupling_line(graph, owner_of(graph, r), k, blocks)
    m = dual.flows.row_mass[r]
    written = is_written(dual.held, r)
    for j in range(row_size(graph, r)):
        e = begin + j
        y = successor_of(graph, r, j) - there
        p = dual.held.work[e] if written else max(measure.chance[e], 0.0)
        moves = share_of_group(dual, r, e)
        if k > 0:
            entries[place(line + y)] -= m * p
        if moves > 0.0:
            entries[place(at + y * n + y)] += m * p
        for i in range(j + 1):
            f = begin + i
            z = successor_of(graph, r, i) - there
            other = dual.held.work[f] if written else max(measure.chance[f], 0.0)
            together = moves > 0.0 and dual.held.group[e] == dual.held.group[f]
            own = moves if together else 0.0
            entries[place(at + z * n + y)] += m * p * other * (1.0 - own)


@leaf
def add_packed_row(
    graph: Graph,
    lane: int,
    e: int,
    k: int,
    dual: Dual,
    successors: ListedSuccessors,
    blocks: Blocks,
    at: int,
    n: int,
) -> None:
    """The same for a row in a pack, whose first entry is e."""
    packed = dual.packed
    near = successors.near
    entries = blocks.entries
    r = place(packed.row[lane])
    e = place(e)
    there = layer_end(graph, k)
    line = coupling_line(graph, owner_of(graph, r), k, blocks) - there
    m = dual.flows.row_mass[r]
    mass = packed.mass[lane]
    part = m / mass if mass > 0.0 else 0.0
    for j in range(successors.length[lane]):
        f = e + N_LANES * j
        y = near[f]
        weight = m * packed.chance[f]
        pull = part * max(packed.free[f], 0.0)
        column = at + y - there
        if k > 0:
            entries[place(line + y)] -= weight
        if pull > 0.0:
            entries[place(column + (y - there) * n)] += weight
        for i in range(j + 1):
            g = e + N_LANES * i
            own = pull * max(packed.free[g], 0.0)
            entries[place(column + (near[g] - there) * n)] += weight * packed.chance[g] - own


@leaf
def add_listed_packs(
    successors: Any, graph: Graph, k: int, dual: Dual, blocks: Blocks, at: int, n: int
) -> None:
    """The rows in packs of layer k, but for those that have left their bounds."""
    packed = dual.packed
    for i in range(packed.n_packs[k]):
        slot = place(slot_in(packed, k, i))
        begin = begin_of(packed, k, i, width_of(packed, k))
        for lane in range(N_LANES):
            r = place(packed.row[slot + lane])
            alone = packed.slot[r] == slot + lane  # spare slots repeat a row
            if alone and is_written(dual.held, r) and dual.flows.row_mass[r] > 0.0:
                add_packed_row(graph, slot + lane, begin + lane, k, dual, successors, blocks, at, n)


@leaf
def add_layer(graph: Graph, k: int, measure: Measure, dual: Dual, blocks: Blocks) -> None:
    """What the rows of layer k add to C[k] and to D[k + 1]."""
    there = layer_end(graph, k)
    n = layer_end(graph, k + 1) - there
    at = int64(blocks.diagonal_at[k + 1])
    add_listed_packs(dual.packed.successors, graph, k, dual, blocks, at, n)
    for r in range(layer_begin(graph, k) * graph.n_actions, there * graph.n_actions):
        if is_scaled(dual.held, r):
            if k > 0:
                line = coupling_line(graph, owner_of(graph, r), k, blocks)
                couple_free_row(graph, r, measure, dual, blocks.entries, line, there)
        elif is_explicit(dual, r) and slot_of(dual, r) < 0:
            add_row(graph, r, k, measure, dual, blocks, at, n)


@kernel
def solve_sparse(
    graph: Graph,
    measure: Measure,
    dual: Dual,
    vectors: Vectors,
    blocks: Blocks,
    strips: Strips,
    factored: bool,
) -> None:
    """direction = -Hessian^{-1} gradient.

    Blocks that are not factored yet are formed, factored and substituted in a layer at a time,
    while they are in the nearest memory: together they are some megabytes.
    """
    direction = vectors.direction
    begin_direction(vectors.gradient, direction)
    last = n_layers(graph) - 1
    if not factored and last > 0:
        begin_layer(graph, 1, dual, blocks)
        add_layer(graph, 0, measure, dual, blocks)
    for k in range(1, last + 1):
        if not factored:
            if k < last:
                begin_layer(graph, k + 1, dual, blocks)
                add_layer(graph, k, measure, dual, blocks)
            factor_sparse_block(graph, k, blocks, strips)
        substitute_in_layer(graph, k, blocks, direction)
    substitute_upper(graph, blocks, direction)


@block_direction.register(Strips)
@leaf
def by_sparse_blocks(
    couplings: Strips, graph: Graph, measure: Measure, rows: Any, solver: Any, factored: bool
) -> None:
    """Where a floor holds a state up, its rows vary around a mean of their own: full blocks."""
    vectors, blocks = solver.vectors, solver.blocks
    if FOR_CUDA or rows.least_occupancy > 0.0:
        by_full_blocks(couplings, graph, measure, rows, solver, factored)
    else:
        solve_sparse(graph, measure, solver.dual, vectors, blocks, couplings, factored)
