"""The sweep of an evaluation: row oracles, flows and the normaliser of every layer.

All layers are independent once beta is given, so states, rows and successors can be taken in any
order.  One thread goes from state to state and pours the flows out while the rows are at hand;
several threads take turns at each step, and then each successor gathers what flows into it.  Both
add up in the same order.
"""

from __future__ import annotations

import math
from typing import Any

from ..lanes.line_products import add_lines, find_dots
from ..lanes.row_blocks import HAS_BLOCKS
from ..model.graph import (
    Graph,
    has_full_rows,
    layer_begin,
    layer_end,
    layer_of,
    n_layers,
    owner_of,
    row_add,
    row_begin,
    row_part,
)
from ..model.log_storage import linear
from ..model.measure import Measure
from ..runtime.targets import leaf
from ..runtime.threads import MAY_SHARE, barrier, n_threads, shared
from ..sets.held import SMALLEST, is_merged, is_scaled, is_written
from .dual import Dual
from .merged.line_passes import goes_by_lines, pass_over_lines
from .merged.merged_rows import line_dot, line_dot_and_add, sift_state, widest_tilt
from .packs import is_solved, pour_packs, put_back, solve_packs, take_row
from .row_oracle import solve_any_row


@leaf
def solve_single_row(
    graph: Graph, r: int, measure: Measure, rows: Any, dual: Dual, at_zero: bool
) -> None:
    """The oracle of a row that is not merged: its share, not yet divided by the state's total.

    That is NaN if floats cannot hold it.  ``row_mass`` becomes its flow as a factor of its table,
    before Z_k; an implicit row's table is not divided by its growth.
    """
    growth = solve_any_row(graph, r, measure, rows, dual, at_zero)
    weight = linear(measure.policy[r])
    dual.flows.row_mass[r] = dual.merged.lead[owner_of(graph, r)] * weight
    if not is_scaled(dual.held, r):
        dual.flows.row_mass[r] *= growth
    dual.flows.share[r] = weight * growth if growth > SMALLEST else math.nan


@leaf
def pour_row(graph: Graph, r: int, measure: Measure, dual: Dual) -> None:
    """Add the flow of a solved row to the inflows of its successors."""
    flow = dual.flows.row_mass[r]
    if is_scaled(dual.held, r):
        row_add(graph, r, measure.chance, flow, dual.flows.free_sum)
    elif is_written(dual.held, r):
        row_add(graph, r, dual.held.work, flow, dual.flows.other_sum)
    else:
        row_add(graph, r, measure.chance, flow, dual.flows.other_sum)


@leaf
def open_state(x: int, measure: Measure, dual: Dual) -> None:
    """What the rows of a state are multiplied with; zero if floats cannot hold it."""
    usable = dual.tilt[x] > SMALLEST
    dual.merged.lead[x] = linear(measure.mass[x]) / dual.tilt[x] if usable else 0.0


@leaf
def close_state(graph: Graph, x: int, dual: Dual, line: float) -> None:
    """The outflow of a state, before it is divided by Z_k; NaN if floats cannot hold it."""
    factor = dual.merged.lead[x]
    total = line
    dual.merged.mass[x] = factor * line
    if dual.merged.others[x] > 0:
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            if not is_merged(dual.held, r):
                total += dual.flows.share[r]
    dual.flows.total[x] = total
    usable = SMALLEST < total < math.inf and dual.tilt[x] > SMALLEST
    dual.flows.outflow[x] = factor * total if usable else math.nan


@leaf
def pour_lines(graph: Graph, k: int, dual: Dual) -> None:
    """The lines of layer k: their products with the tilt, in ``mass``, and what they pour out."""
    merged = dual.merged
    here = layer_begin(graph, k)
    there = layer_end(graph, k)
    if goes_by_lines(graph, k, dual):
        for x in range(here, there):
            merged.factor[x] = merged.lead[x]
        pass_over_lines(graph, k, dual, dual.tilt, dual.flows.free_sum)
        for x in range(here, there):
            merged.mass[x] = merged.dot[x]
        return
    if HAS_BLOCKS and has_full_rows(merged.lines, k):
        begin = row_begin(merged.lines, here)
        width = layer_end(graph, k + 1) - there
        find_dots(merged.mass, here, merged.table, begin, dual.tilt, there, there - here, width)
        add_lines(
            merged.table, begin, there - here, width, merged.lead, here, dual.flows.free_sum, there
        )
        return
    for x in range(here, there):
        merged.mass[x] = 0.0
        if merged.others[x] < graph.n_actions:
            merged.mass[x] = line_dot_and_add(
                merged, x, dual.tilt, merged.lead[x], dual.flows.free_sum
            )


@leaf
def sweep_alone(graph: Graph, measure: Measure, rows: Any, dual: Dual, at_zero: bool) -> None:
    """Row oracles and flows of all states, each poured out at once while its rows are at hand."""
    for k in range(n_layers(graph)):
        solve_packs(graph, k, rows, dual, at_zero)
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            sift_state(graph, x, measure, rows, dual, dual.widest[k])
            open_state(x, measure, dual)
        pour_lines(graph, k, dual)
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            if dual.merged.others[x] > 0:
                for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                    if is_solved(dual, r):
                        take_row(r, dual.merged.lead[x], measure, dual)
                    elif not is_merged(dual.held, r):
                        solve_single_row(graph, r, measure, rows, dual, at_zero)
                        if not put_back(graph, r, dual):
                            pour_row(graph, r, measure, dual)
            close_state(graph, x, dual, dual.merged.mass[x])
        pour_packs(graph, k, dual)


@leaf
def gather_flows(graph: Graph, y: int, measure: Measure, dual: Dual) -> None:
    """What is poured into state y, added up in the same order: lines first, then other rows."""
    merged = dual.merged
    k = layer_of(graph, y) - 1
    free = 0.0
    other = 0.0
    for x in range(layer_begin(graph, k), layer_end(graph, k)):
        free += merged.lead[x] * row_part(merged.lines, x, merged.table, y)
    for x in range(layer_begin(graph, k), layer_end(graph, k)):
        if merged.others[x] == 0:
            continue
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            if is_merged(dual.held, r):
                continue
            flow = dual.flows.row_mass[r]
            if is_scaled(dual.held, r):
                free += flow * row_part(graph, r, measure.chance, y)
            elif is_written(dual.held, r):
                other += flow * row_part(graph, r, dual.held.work, y)
            else:
                other += flow * row_part(graph, r, measure.chance, y)
    dual.flows.free_sum[y] = free
    dual.flows.other_sum[y] = other


@leaf
def sweep_together(graph: Graph, measure: Measure, rows: Any, dual: Dual, at_zero: bool) -> None:
    """The same by several threads: a state, a row, a state, and a successor at a time."""
    n = dual.beta.shape[0]
    for x in shared(0, n - 1):
        sift_state(graph, x, measure, rows, dual, dual.widest[layer_of(graph, x)])
        open_state(x, measure, dual)
    barrier()
    for r in shared(0, dual.flows.share.shape[0]):
        if not is_merged(dual.held, r):
            solve_single_row(graph, r, measure, rows, dual, at_zero)
    barrier()
    for x in shared(0, n - 1):
        close_state(graph, x, dual, line_dot(dual.merged, x, dual.tilt))
    for y in shared(1, n):
        gather_flows(graph, y, measure, dual)
    barrier()


@leaf
def normalise(graph: Graph, dual: Dual) -> None:
    """Z_k and its logarithm for every layer (NaN if floats cannot hold it), and true flows."""
    n = dual.beta.shape[0]
    merged = dual.merged
    for k in shared(0, n_layers(graph)):
        z = 0.0
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            z += dual.flows.outflow[x]
        dual.shrink[k] = 1.0 / z
        dual.log_z[k] = math.log(z) if SMALLEST < z < math.inf else math.nan
    barrier()
    for x in shared(0, n - 1):
        shrink = dual.shrink[layer_of(graph, x)]
        dual.flows.outflow[x] *= shrink
        dual.flows.mobile[x] = dual.flows.outflow[x]
        dual.flows.lift[x] = 0.0
        merged.lead[x] *= shrink
        merged.mass[x] *= shrink
        if merged.others[x] > 0:
            part = 1.0 / dual.flows.total[x]
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                if not is_merged(dual.held, r):
                    dual.flows.share[r] *= part
                    dual.flows.row_mass[r] = dual.flows.outflow[x] * dual.flows.share[r]
    for x in shared(1, n):
        shrink = dual.shrink[layer_of(graph, x) - 1]
        dual.flows.free_inflow[x] = dual.flows.free_sum[x] * dual.tilt[x] * shrink
        dual.flows.inflow[x] = dual.flows.free_inflow[x] + dual.flows.other_sum[x] * shrink
    barrier()


@leaf
def sweep(graph: Graph, measure: Measure, rows: Any, dual: Dual, at_zero: bool) -> None:
    """Row oracles, flows and ``log_z`` of all layers."""
    for k in shared(0, n_layers(graph)):
        dual.widest[k] = widest_tilt(graph, k + 1, dual)
    barrier()
    if MAY_SHARE and n_threads() > 1:
        sweep_together(graph, measure, rows, dual, at_zero)
    else:
        sweep_alone(graph, measure, rows, dual, at_zero)
    normalise(graph, dual)
