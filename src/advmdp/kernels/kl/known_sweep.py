"""The sweep of an evaluation over a known transition: only the policy moves.

Every row is its own solution, p_beta = p, with gain = <p, beta>.  There are no bounds to look at
and nothing to merge: one pass over the entries finds the gains, one exponential a row the shares,
and a second pass over the entries pours the flows out, which are normalised by then.
"""

from __future__ import annotations

import math
from typing import Any

from ..model.graph import Graph, layer_begin, layer_end, n_layers, row_add, row_dot
from ..model.log_storage import linear
from ..model.measure import Measure
from ..runtime.targets import FOR_CUDA, kernel, leaf
from ..sets.held import SMALLEST, hold_point
from ..sets.interface import knows_every_row
from .dual import Dual

NEAR = 0.5  # where ``near_exponential`` is exact to rounding


@leaf
def only_policy_moves(rows: Any) -> bool:
    """Whether one thread plays on a known transition, with no floor under the states."""
    return not FOR_CUDA and bool(knows_every_row(rows)) and rows.least_occupancy == 0.0


@leaf
def near_exponential(t: float) -> float:
    """e^t for |t| <= NEAR by its series: a loop over it becomes vector instructions."""
    total = 1.0 + t * (1.0 / 14.0)
    total = 1.0 + t * total * (1.0 / 13.0)
    total = 1.0 + t * total * (1.0 / 12.0)
    total = 1.0 + t * total * (1.0 / 11.0)
    total = 1.0 + t * total * (1.0 / 10.0)
    total = 1.0 + t * total * (1.0 / 9.0)
    total = 1.0 + t * total * (1.0 / 8.0)
    total = 1.0 + t * total * (1.0 / 7.0)
    total = 1.0 + t * total * (1.0 / 6.0)
    total = 1.0 + t * total * (1.0 / 5.0)
    total = 1.0 + t * total * (1.0 / 4.0)
    total = 1.0 + t * total * (1.0 / 3.0)
    total = 1.0 + t * total * 0.5
    return 1.0 + t * total


@leaf
def weigh_rows(graph: Graph, measure: Measure, dual: Dual) -> None:
    """The gain of every row, and its share before it is divided by the state's total."""
    largest = 0.0
    n_rows = measure.policy.shape[0]
    for r in range(n_rows):
        gain = row_dot(graph, r, measure.chance, dual.beta)
        hold_point(dual.held, r, gain)
        largest = max(largest, abs(gain))
    if largest <= NEAR:
        for r in range(n_rows):
            growth = near_exponential(dual.held.gain[r])
            dual.flows.share[r] = linear(measure.policy[r]) * growth
    else:
        for r in range(n_rows):
            growth = math.exp(dual.held.gain[r])
            share = linear(measure.policy[r]) * growth
            dual.flows.share[r] = share if growth > SMALLEST else math.nan


@leaf
def total_of_state(graph: Graph, x: int, measure: Measure, dual: Dual) -> float:
    """The outflow of a state before Z_k, which it returns; NaN if floats cannot hold it."""
    total = 0.0
    for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
        total += dual.flows.share[r]
    usable = SMALLEST < total < math.inf and dual.tilt[x] > SMALLEST
    dual.flows.total[x] = total
    outflow = linear(measure.mass[x]) / dual.tilt[x] * total if usable else math.nan
    dual.flows.outflow[x] = outflow
    return outflow


@leaf
def pour_state(graph: Graph, x: int, shrink: float, measure: Measure, dual: Dual) -> None:
    """The true flows of a state and its rows, added to the inflows of the next layer."""
    flows = dual.flows
    flows.outflow[x] *= shrink
    flows.mobile[x] = flows.outflow[x]
    flows.lift[x] = 0.0
    flows.free_inflow[x] = 0.0
    dual.merged.lead[x] = 0.0
    dual.merged.mass[x] = 0.0
    dual.merged.others[x] = graph.n_actions
    part = 1.0 / flows.total[x]
    for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
        flows.share[r] *= part
        flows.row_mass[r] = flows.outflow[x] * flows.share[r]
        row_add(graph, r, measure.chance, flows.row_mass[r], flows.inflow)


@kernel
def evaluate_known(graph: Graph, measure: Measure, dual: Dual) -> float:
    """``evaluate`` for a known transition and no floor: G(beta), and everything in ``dual``."""
    for x in range(dual.beta.shape[0]):
        dual.flows.inflow[x] = 0.0
    weigh_rows(graph, measure, dual)
    value = 0.0
    for k in range(n_layers(graph)):
        z = 0.0
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            z += total_of_state(graph, x, measure, dual)
        value += math.log(z) if SMALLEST < z < math.inf else math.nan
        shrink = 1.0 / z
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            pour_state(graph, x, shrink, measure, dual)
    return value if abs(value) < math.inf else math.nan
