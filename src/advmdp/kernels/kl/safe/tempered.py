"""The dual of tempered weights w^s, 0 < s <= 1, evaluated in logarithms.

Weights that differ by thousands of orders of magnitude make G nearly piecewise linear: where the
weights are large against rounding, so is the distance between a start and the solution.  Raised to
a small power s they are as tame as wanted, and the solution moves continuously with s
(``continuation``).  Everything is in logarithms; s = 1 is the dual itself.
"""

from __future__ import annotations

import math
from typing import Any

from ...model.graph import (
    Graph,
    layer_begin,
    layer_end,
    n_layers,
    row_add,
    row_begin,
    row_dot,
    row_size,
    successor_of,
)
from ...model.log_storage import logarithm
from ...model.measure import Measure
from ...model.row_status import is_free, is_known
from ...runtime.targets import kernel, leaf
from ...sets.ball_clamp import floor_scale
from ...sets.held import hold_point, hold_written, is_point
from ...sets.interface import solve_row_in_logs
from ...sets.log_domain import normalise_in_logs
from ..dual import Dual
from ..merged.merged_rows import widest_tilt


@kernel
def tempered_gain(graph: Graph, r: int, measure: Measure, dual: Dual, power: float) -> float:
    """<p, s ln p~ + beta - ln p> of a written row: -ln c on free entries, explicit on others."""
    begin = row_begin(graph, r)
    held = dual.held
    total = 0.0
    for g in range(2):
        mass = held.group_mass[2 * r + g]
        if mass > 0.0:
            total -= mass * held.log_scale[2 * r + g]
    for j in range(row_size(graph, r)):
        p = held.work[begin + j]
        if held.group[begin + j] == 0 and p > 0.0:
            log_weight = power * logarithm(measure.chance[begin + j])
            total += p * (log_weight + dual.beta[successor_of(graph, r, j)] - math.log(p))
    return total


@kernel
def solve_tempered_row(
    graph: Graph, r: int, measure: Measure, rows: Any, dual: Dual, power: float
) -> None:
    """The row problem of p~^s; a known row keeps its transition."""
    held = dual.held
    if is_known(rows, r):
        hold_point(held, r, row_dot(graph, r, measure.chance, dual.beta))
        return
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    for j in range(size):
        log_weight = power * logarithm(measure.chance[begin + j])
        held.work[begin + j] = log_weight + dual.beta[successor_of(graph, r, j)]
    if is_free(rows, r):
        log_scale = normalise_in_logs(begin, size, held.work, held.group)
        hold_written(held, r, log_scale, 1.0, 0.0, 0.0)
        held.gain[r] = -log_scale
    else:
        solve_row_in_logs(graph, r, measure.chance, dual.beta, rows, held)
        held.gain[r] = tempered_gain(graph, r, measure, dual, power)


@leaf
def solve_tempered_state(
    graph: Graph, x: int, measure: Measure, rows: Any, dual: Dual, power: float
) -> float:
    """The rows of a state and their shares; returns the logarithm of its outflow, before Z_k."""
    most = -math.inf
    for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
        solve_tempered_row(graph, r, measure, rows, dual, power)
        dual.flows.share[r] = power * logarithm(measure.policy[r]) + dual.held.gain[r]
        most = max(most, dual.flows.share[r])
    total = 0.0
    for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
        dual.flows.share[r] = math.exp(dual.flows.share[r] - most)
        total += dual.flows.share[r]
    for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
        dual.flows.share[r] /= total
    dual.flows.log_total[x] = most + math.log(total)
    dual.flows.total[x] = 0.0
    dual.merged.others[x] = graph.n_actions
    dual.merged.lead[x] = 0.0
    dual.merged.mass[x] = 0.0
    return power * logarithm(measure.mass[x]) - dual.beta[x] + dual.flows.log_total[x]


@leaf
def raise_tempered_states(graph: Graph, k: int, least: float, dual: Dual) -> float:
    """``raise_states``, given ln outflow in ``mobile``: a multiplier can be of any size."""
    begin = layer_begin(graph, k)
    size = layer_end(graph, k) - begin
    t = floor_scale(begin, size, dual.flows.outflow, 1.0, least)
    change = -math.log(t)
    for x in range(begin, begin + size):
        free = t * dual.flows.outflow[x]
        if free > least:
            dual.flows.outflow[x] = free
            dual.flows.mobile[x] = free
        else:
            dual.flows.lift[x] = math.log(least) - math.log(t) - dual.flows.mobile[x]
            dual.flows.outflow[x] = least
            dual.flows.mobile[x] = 0.0
            change -= least * dual.flows.lift[x]
    return change


@kernel
def sweep_tempered_layer(
    graph: Graph, k: int, measure: Measure, rows: Any, dual: Dual, power: float
) -> float:
    """Rows and flows of a layer; returns its term of the dual."""
    top = -math.inf
    for x in range(layer_begin(graph, k), layer_end(graph, k)):
        dual.flows.mobile[x] = solve_tempered_state(graph, x, measure, rows, dual, power)
        top = max(top, dual.flows.mobile[x])
    z = 0.0
    for x in range(layer_begin(graph, k), layer_end(graph, k)):
        z += math.exp(dual.flows.mobile[x] - top)
    log_z = top + math.log(z)
    for x in range(layer_begin(graph, k), layer_end(graph, k)):
        dual.flows.mobile[x] -= log_z
        dual.flows.outflow[x] = math.exp(dual.flows.mobile[x])
        dual.flows.lift[x] = 0.0
    if rows.least_occupancy > 0.0 and k > 0:
        log_z += raise_tempered_states(graph, k, rows.least_occupancy, dual)
    else:
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            dual.flows.mobile[x] = dual.flows.outflow[x]
    for x in range(layer_begin(graph, k), layer_end(graph, k)):
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            flow = dual.flows.outflow[x] * dual.flows.share[r]
            dual.flows.row_mass[r] = flow
            if is_point(dual.held, r):
                row_add(graph, r, measure.chance, flow, dual.flows.other_sum)
            else:
                row_add(graph, r, dual.held.work, flow, dual.flows.other_sum)
    for x in range(layer_begin(graph, k + 1), layer_end(graph, k + 1)):
        dual.flows.free_inflow[x] = 0.0
        dual.flows.inflow[x] = dual.flows.other_sum[x]
    return log_z


@kernel
def evaluate_tempered(graph: Graph, measure: Measure, rows: Any, dual: Dual, power: float) -> float:
    """G(beta) of the weights w^s, and everything in ``dual``."""
    for x in range(dual.beta.shape[0]):
        dual.flows.free_sum[x] = 0.0
        dual.flows.other_sum[x] = 0.0
    total = 0.0
    for k in range(n_layers(graph)):
        dual.widest[k] = widest_tilt(graph, k + 1, dual)
        dual.log_z[k] = sweep_tempered_layer(graph, k, measure, rows, dual, power)
        total += dual.log_z[k]
    return total
