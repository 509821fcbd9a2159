"""The blocks of the Hessian entry by entry, for several threads.

One thread goes through the rows and adds each to the lines it touches (``blocks``).  Here every
thread takes some entries and adds up what all rows say of each of them: no two threads write to the
same place, and a sum stays in a register.  Both add in the same order.
"""

from __future__ import annotations

import math

from ...linear.block_system import Blocks
from ...model.graph import Graph, layer_begin, layer_of, n_layers, position_of, row_begin, row_size
from ...model.measure import Measure
from ...runtime.indices import int64
from ...runtime.targets import leaf
from ...runtime.threads import barrier, shared
from ...sets.held import is_scaled
from ..dual import Dual
from .blocks import EMPTY, RIDGE, has_second_group, is_explicit, prepare_row


@leaf
def add_second_part(r: int, e: int, other: int, dual: Dual, value: float) -> float:
    """``value`` and what the second group of a ball row adds to it."""
    if dual.held.group[e] != 2:
        return value
    m = dual.flows.row_mass[r]
    root = 1.0 / math.sqrt(dual.held.group_mass[2 * r + 1])
    pull = m * (dual.held.work[e] * root)
    if e == other and pull > 0.0:
        value += m * dual.held.work[e]
    if dual.held.group[other] == 2:
        value -= pull * (dual.held.work[other] * root)
    return value


@leaf
def diagonal_entry(graph: Graph, x: int, z: int, dual: Dual) -> float:
    """D(x, z) for two states of one layer, z <= x."""
    k = layer_of(graph, x)
    value = -(dual.flows.inflow[x] * dual.flows.inflow[z])
    if z == x:
        value += dual.flows.free_inflow[x]
    rows_end = layer_begin(graph, k) * graph.n_actions
    for r in range(layer_begin(graph, k - 1) * graph.n_actions, rows_end):
        if not is_explicit(dual, r):
            continue
        j = position_of(graph, r, x)
        i = position_of(graph, r, z)
        if j < 0 or i < 0:
            continue
        e = row_begin(graph, r) + j
        other = row_begin(graph, r) + i
        weight = dual.flows.row_mass[r] * dual.held.work[e]
        pull = dual.flows.row_mass[r] * dual.together[e]
        if z == x and pull > 0.0:
            value += weight
        value += weight * dual.held.work[other] - pull * dual.together[other]
        if has_second_group(dual, r):
            value = add_second_part(r, e, other, dual, value)
    value -= dual.flows.mobile[x] * dual.flows.mobile[z]
    if z == x:
        flow = dual.flows.outflow[x] + dual.flows.inflow[x]
        value += dual.flows.mobile[x] + RIDGE * flow
        if flow < EMPTY:
            value += 1.0
    return value


@leaf
def coupling_entry(graph: Graph, x: int, y: int, measure: Measure, dual: Dual) -> float:
    """C(x, y) for a state and one of the next layer."""
    value = dual.flows.mobile[x] * dual.flows.inflow[y]
    if dual.flows.lift[x] > 0.0:
        return value
    merged = dual.merged
    if row_size(merged.lines, x) > 0:
        e = row_begin(merged.lines, x) + y - int64(merged.lines.first[x])
        value -= merged.lead[x] * merged.table[e] * dual.tilt[y]
    if merged.others[x] == 0:
        return value
    for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
        j = position_of(graph, r, y)
        if j < 0:
            continue
        e = row_begin(graph, r) + j
        if is_scaled(dual.held, r):
            p = max(measure.chance[e], 0.0)
            value -= dual.tilt[y] * (dual.flows.row_mass[r] * dual.held.scale[r] * p)
        elif is_explicit(dual, r):
            value -= dual.held.work[e] * dual.flows.row_mass[r]
    return value


@leaf
def assemble_together(graph: Graph, measure: Measure, dual: Dual, blocks: Blocks) -> None:
    """Fill the blocks D[1..L-1] and C[1..L-2]."""
    for r in shared(0, layer_begin(graph, n_layers(graph) - 1) * graph.n_actions):
        if is_explicit(dual, r):
            prepare_row(graph, r, measure, dual)
    barrier()
    for e in shared(0, blocks.entries.shape[0]):
        x = int64(blocks.slot_row[e])
        y = int64(blocks.slot_column[e])
        if y >= layer_begin(graph, layer_of(graph, x) + 1):
            blocks.entries[e] = coupling_entry(graph, x, y, measure, dual)
        elif y <= x:
            blocks.entries[e] = diagonal_entry(graph, x, y, dual)
    barrier()
