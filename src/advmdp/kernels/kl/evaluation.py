"""One evaluation of the dual: G(beta) and the flows."""

from __future__ import annotations

import math
from typing import Any

from ..model.graph import Graph, layer_begin, layer_end, n_layers, row_add
from ..model.log_storage import logarithm
from ..model.measure import Measure
from ..runtime.targets import kernel
from ..runtime.threads import barrier, shared
from ..sets.held import is_point
from .dual import Dual
from .merged.merged_rows import widest_tilt
from .row_oracle import solve_any_row_in_logs
from .state_floor import push_flows, raise_states
from .sweep import sweep


@kernel
def sweep_layer_in_logs(graph: Graph, k: int, measure: Measure, rows: Any, dual: Dual) -> float:
    """The same on the safe path; returns ln Z_k."""
    top = -math.inf
    for x in range(layer_begin(graph, k), layer_end(graph, k)):
        most = -math.inf
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            solve_any_row_in_logs(graph, r, measure, rows, dual)
            dual.flows.share[r] = logarithm(measure.policy[r]) + dual.held.gain[r]
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
        dual.flows.outflow[x] = logarithm(measure.mass[x]) - dual.beta[x] + dual.flows.log_total[x]
        top = max(top, dual.flows.outflow[x])
    z = 0.0
    for x in range(layer_begin(graph, k), layer_end(graph, k)):
        dual.flows.outflow[x] = math.exp(dual.flows.outflow[x] - top)
        z += dual.flows.outflow[x]
    for x in range(layer_begin(graph, k), layer_end(graph, k)):
        dual.flows.outflow[x] /= z
        dual.flows.mobile[x] = dual.flows.outflow[x]
        dual.flows.lift[x] = 0.0
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            flow = dual.flows.outflow[x] * dual.flows.share[r]
            if is_point(dual.held, r):
                row_add(graph, r, measure.chance, flow, dual.flows.other_sum)
            else:
                row_add(graph, r, dual.held.work, flow, dual.flows.other_sum)
    for x in range(layer_begin(graph, k + 1), layer_end(graph, k + 1)):
        dual.flows.free_inflow[x] = 0.0
        dual.flows.inflow[x] = dual.flows.other_sum[x]
    return top + math.log(z)


@kernel
def evaluate(
    graph: Graph,
    measure: Measure,
    rows: Any,
    dual: Dual,
    at_zero: bool,
    in_logs: bool | None,
) -> float:
    """G(beta) and everything in ``dual``; NaN when the fast path cannot hold the numbers.

    ``at_zero`` says that beta is zero: rows that lie in their sets need no oracle there.

    ``in_logs`` is True or None, not False: the compiler drops the branch of an argument that is
    None, so the safe path is compiled only when it is first needed.
    """
    for x in shared(0, dual.beta.shape[0]):
        dual.flows.free_sum[x] = 0.0
        dual.flows.other_sum[x] = 0.0
    barrier()
    if in_logs is None:
        sweep(graph, measure, rows, dual, at_zero)
    else:
        for k in range(n_layers(graph)):
            dual.widest[k] = widest_tilt(graph, k + 1, dual)
            dual.log_z[k] = sweep_layer_in_logs(graph, k, measure, rows, dual)
    total = 0.0
    for k in range(n_layers(graph)):
        total += dual.log_z[k]
        if rows.least_occupancy > 0.0 and k > 0:
            total += raise_states(graph, k, rows.least_occupancy, dual)
            push_flows(graph, k, measure, dual)
    if rows.least_occupancy > 0.0 or in_logs is not None:
        for x in range(layer_begin(graph, n_layers(graph))):
            if dual.merged.others[x] > 0:
                for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                    dual.flows.row_mass[r] = dual.flows.outflow[x] * dual.flows.share[r]
    return total if abs(total) < math.inf else math.nan
