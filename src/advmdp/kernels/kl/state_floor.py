"""A floor under the occupancy of every state: q(x) >= least, as a bounded mirror step needs it.

The multipliers rho >= 0 of these constraints act like an extra weight e^rho on the rows of a state.
For a fixed beta the best rho is in closed form: with o(x) the outflow without a floor,

    outflow(x) = max(least, t o(x)),  t such that the layer sums to one,  rho = ln(outflow / (t o)),

and the layer's term of the dual becomes  ln Z_k - ln t - least * (sum of rho).  What is left is a
dual in beta again, with the same gradient inflow - outflow; a state that is held up does not react
to its own beta, which is all that the curvature needs to know (``Dual.mobile``).
"""

from __future__ import annotations

import math

from ..model.graph import Graph, layer_begin, layer_end, row_add
from ..runtime.targets import kernel
from ..sets.ball import floor_scale
from .dual import CONSTANT, IMPLICIT, POOLED, Dual, Measure


@kernel
def raise_states(graph: Graph, k: int, least: float, dual: Dual) -> float:
    """Lift the outflow of layer k to the floor; returns the change of the layer's dual term."""
    begin = layer_begin(graph, k)
    size = layer_end(graph, k) - begin
    t = floor_scale(begin, size, dual.outflow, 1.0, least)
    change = -math.log(t)
    for x in range(begin, begin + size):
        free = t * dual.outflow[x]
        if free > least:
            dual.outflow[x] = free
            dual.mobile[x] = free
            dual.lift[x] = 0.0
        else:
            dual.lift[x] = math.log(least / max(free, 1e-300))
            dual.outflow[x] = least
            dual.mobile[x] = 0.0
            change -= least * dual.lift[x]
    return change


@kernel
def push_flows(graph: Graph, k: int, measure: Measure, dual: Dual) -> None:
    """The inflow of layer k + 1 from the (lifted) outflow of layer k."""
    for x in range(layer_begin(graph, k + 1), layer_end(graph, k + 1)):
        dual.free_sum[x] = 0.0
        dual.other_sum[x] = 0.0
    pool = dual.pool
    for x in range(layer_begin(graph, k), layer_end(graph, k)):
        if pool.mass[x] > 0.0:
            lead = dual.outflow[x] / dual.total[x]
            pool.mass[x] *= lead / pool.lead[x]
            pool.lead[x] = lead
            row_add(pool.lines, x, pool.table, lead, dual.free_sum)
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            if dual.holding[r] == POOLED:
                continue
            flow = dual.outflow[x] * dual.share[r]
            if dual.holding[r] == IMPLICIT:
                row_add(graph, r, measure.chance, flow * dual.scale[r], dual.free_sum)
            elif dual.holding[r] == CONSTANT:
                row_add(graph, r, measure.chance, flow, dual.other_sum)
            else:
                row_add(graph, r, dual.work, flow, dual.other_sum)
    for x in range(layer_begin(graph, k + 1), layer_end(graph, k + 1)):
        dual.free_inflow[x] = dual.free_sum[x] * dual.tilt[x]
        dual.inflow[x] = dual.free_inflow[x] + dual.other_sum[x]
