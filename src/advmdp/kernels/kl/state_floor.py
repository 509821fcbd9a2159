"""A floor under the occupancy of every state: q(x) >= least, as a bounded mirror step needs it.

The multipliers rho >= 0 of these constraints act like an extra weight e^rho on the rows of a state.
For a fixed beta the best rho is in closed form: with o(x) the outflow without a floor,

    outflow(x) = max(least, t o(x)),  t such that the layer sums to one,  rho = ln(outflow / (t o)),

and the layer's term of the dual becomes  ln Z_k - ln t - least * (sum of rho).  What is left is a
dual in beta again, with the same gradient inflow - outflow; a state that is held up does not react
to its own beta, which is all that the curvature needs to know (``Flows.mobile``).
"""

from __future__ import annotations

import math

from ..model.graph import Graph, layer_begin, layer_end, row_add
from ..model.measure import Measure
from ..runtime.targets import kernel
from ..sets.ball_clamp import floor_scale
from ..sets.held import is_merged, is_point, is_scaled
from .dual import Dual


@kernel
def raise_states(graph: Graph, k: int, least: float, dual: Dual) -> float:
    """Lift the outflow of layer k to the floor; returns the change of the layer's dual term."""
    begin = layer_begin(graph, k)
    size = layer_end(graph, k) - begin
    t = floor_scale(begin, size, dual.flows.outflow, 1.0, least)
    change = -math.log(t)
    for x in range(begin, begin + size):
        free = t * dual.flows.outflow[x]
        if free > least:
            dual.flows.outflow[x] = free
            dual.flows.mobile[x] = free
            dual.flows.lift[x] = 0.0
        else:
            dual.flows.lift[x] = math.log(least / max(free, 1e-300))
            dual.flows.outflow[x] = least
            dual.flows.mobile[x] = 0.0
            change -= least * dual.flows.lift[x]
    return change


@kernel
def push_flows(graph: Graph, k: int, measure: Measure, dual: Dual) -> None:
    """The inflow of layer k + 1 from the (lifted) outflow of layer k."""
    for x in range(layer_begin(graph, k + 1), layer_end(graph, k + 1)):
        dual.flows.free_sum[x] = 0.0
        dual.flows.other_sum[x] = 0.0
    merged = dual.merged
    for x in range(layer_begin(graph, k), layer_end(graph, k)):
        if merged.mass[x] > 0.0:
            lead = dual.flows.outflow[x] / dual.flows.total[x]
            merged.mass[x] *= lead / merged.lead[x]
            merged.lead[x] = lead
            row_add(merged.lines, x, merged.table, lead, dual.flows.free_sum)
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            if is_merged(dual.held, r):
                continue
            flow = dual.flows.outflow[x] * dual.flows.share[r]
            if is_scaled(dual.held, r):
                row_add(graph, r, measure.chance, flow * dual.held.scale[r], dual.flows.free_sum)
            elif is_point(dual.held, r):
                row_add(graph, r, measure.chance, flow, dual.flows.other_sum)
            else:
                row_add(graph, r, dual.held.work, flow, dual.flows.other_sum)
    for x in range(layer_begin(graph, k + 1), layer_end(graph, k + 1)):
        dual.flows.free_inflow[x] = dual.flows.free_sum[x] * dual.tilt[x]
        dual.flows.inflow[x] = dual.flows.free_inflow[x] + dual.flows.other_sum[x]
