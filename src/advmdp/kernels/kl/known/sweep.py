"""The sweep of an evaluation over a known transition: only the policy moves.

Every row is its own solution, p_beta = p, with gain = <p, beta>.  There are no bounds to look at
and nothing to merge: the gains, one exponential a row, the shares, and what flows on.  Where the
transition is held as matrices (``sets/known``) gains and flows are products with them, and the
exponentials of all rows one pass in registers.
"""

from __future__ import annotations

import math
from typing import Any

from ...lanes.line_products import sum_lines
from ...model.graph import Floats, Graph, layer_begin, layer_end, n_layers, row_add, row_dot
from ...model.log_storage import linear
from ...model.measure import Measure
from ...runtime.targets import FOR_CUDA, kernel, leaf
from ...sets.held import SMALLEST, hold_point
from ...sets.interface import Matrices, knows_every_row
from ..dual import Dual
from .passes import NEAR, leave_states, weigh_near


@leaf
def only_policy_moves(rows: Any) -> bool:
    """Whether one thread plays on a known transition, with no floor under the states."""
    return not FOR_CUDA and bool(knows_every_row(rows)) and rows.least_occupancy == 0.0


@leaf
def has_matrices(matrices: Matrices) -> bool:
    """Whether the transition is held as matrices."""
    return bool(matrices.along.shape[0] > 0)


@leaf
def begin_known(graph: Graph, dual: Dual) -> None:
    """What every evaluation of the projection leaves as it is."""
    for r in range(dual.held.gain.shape[0]):
        hold_point(dual.held, r, 0.0)
    for x in range(dual.beta.shape[0]):
        dual.flows.lift[x] = 0.0
        dual.flows.inflow[x] = 0.0
        dual.flows.free_inflow[x] = 0.0
        dual.merged.lead[x] = 0.0
        dual.merged.mass[x] = 0.0
        dual.merged.others[x] = graph.n_actions


@leaf
def find_gains(
    graph: Graph, measure: Measure, matrices: Matrices, beta: Floats, gain: Floats
) -> None:
    """<p, beta> of every row."""
    if has_matrices(matrices):
        at = 0
        for k in range(n_layers(graph)):
            here = layer_begin(graph, k)
            there = layer_end(graph, k)
            n_rows = (there - here) * graph.n_actions
            width = layer_end(graph, k + 1) - there
            sum_lines(
                gain,
                here * graph.n_actions,
                beta,
                there,
                matrices.across,
                at,
                n_rows,
                width,
                n_rows,
            )
            at += n_rows * width
    else:
        for r in range(gain.shape[0]):
            gain[r] = row_dot(graph, r, measure.chance, beta)


@leaf
def weigh_rows(measure: Measure, dual: Dual) -> None:
    """The share of every row, which is not divided by the state's total before it is committed."""
    gain = dual.held.gain
    n_rows = gain.shape[0]
    if weigh_near(measure.policy, 0, gain, 0, dual.flows.share, 0, n_rows) > NEAR:
        for r in range(n_rows):
            growth = math.exp(gain[r])
            share = linear(measure.policy[r]) * growth
            dual.flows.share[r] = share if growth > SMALLEST else math.nan


@leaf
def find_outflows(graph: Graph, measure: Measure, dual: Dual) -> bool:
    """What flows out of the states before Z_k, and one over their totals in ``term``.

    False if floats cannot hold it.
    """
    flows = dual.flows
    n = dual.beta.shape[0] - 1
    for x in range(n):
        total = 0.0
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            total += flows.share[r]
        flows.total[x] = total
    lost = leave_states(
        measure.mass, 0, dual.tilt, 0, flows.total, 0, flows.outflow, 0, dual.term, 0, n
    )
    return lost == 0.0


@leaf
def settle_layer(graph: Graph, k: int, dual: Dual) -> float:
    """Divide the flows of layer k by Z_k, which is returned; the flows of its rows."""
    flows = dual.flows
    begin = layer_begin(graph, k)
    end = layer_end(graph, k)
    z = 0.0
    for x in range(begin, end):
        z += flows.outflow[x]
    shrink = 1.0 / z
    for x in range(begin, end):
        flows.outflow[x] *= shrink
        flows.mobile[x] = flows.outflow[x]
        lead = flows.outflow[x] * dual.term[x]
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            flows.row_mass[r] = lead * flows.share[r]
    return z


@leaf
def pour_flows(
    graph: Graph, measure: Measure, matrices: Matrices, row_mass: Floats, inflow: Floats
) -> None:
    """What flows into the states."""
    if has_matrices(matrices):
        at = 0
        for k in range(n_layers(graph)):
            first = layer_begin(graph, k) * graph.n_actions
            there = layer_end(graph, k)
            n_rows = there * graph.n_actions - first
            width = layer_end(graph, k + 1) - there
            sum_lines(inflow, there, row_mass, first, matrices.along, at, width, n_rows, width)
            at += n_rows * width
    else:
        for x in range(inflow.shape[0]):
            inflow[x] = 0.0
        for r in range(row_mass.shape[0]):
            row_add(graph, r, measure.chance, row_mass[r], inflow)


@kernel
def evaluate_known(graph: Graph, measure: Measure, matrices: Matrices, dual: Dual) -> float:
    """``evaluate`` for a known transition and no floor: G(beta), and everything in ``dual``."""
    find_gains(graph, measure, matrices, dual.beta, dual.held.gain)
    weigh_rows(measure, dual)
    if not find_outflows(graph, measure, dual):
        return math.nan
    value = 0.0
    for k in range(n_layers(graph)):
        z = settle_layer(graph, k, dual)
        value += math.log(z) if SMALLEST < z < math.inf else math.nan
    pour_flows(graph, measure, matrices, dual.flows.row_mass, dual.flows.inflow)
    return value if abs(value) < math.inf else math.nan


@leaf
def divide_shares(graph: Graph, dual: Dual) -> None:
    """The policy of the last evaluation: shares of one."""
    for x in range(dual.beta.shape[0] - 1):
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            dual.flows.share[r] *= dual.term[x]


@leaf
def forward_known(graph: Graph, measure: Measure, matrices: Matrices, flow: Floats) -> None:
    """The occupancy of the policy, as ``model/flow: forward`` has it; ``flow`` (R,) is scratch."""
    measure.mass[0] = 1.0
    at = 0
    for k in range(n_layers(graph)):
        here = layer_begin(graph, k)
        there = layer_end(graph, k)
        for x in range(here, there):
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                flow[r] = measure.mass[x] * linear(measure.policy[r])
        first = here * graph.n_actions
        n_rows = there * graph.n_actions - first
        width = layer_end(graph, k + 1) - there
        sum_lines(measure.mass, there, flow, first, matrices.along, at, width, n_rows, width)
        at += n_rows * width
