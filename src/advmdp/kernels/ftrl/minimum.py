"""What Python calls: a minimum from scratch, and how it reacts to a change of the costs.

Newton's method on the multipliers of constraints needs the second.  If costs change by g, reduced
costs change by  dz = g + <P, dv> - dv(x)  with the dv that keeps flow conserved,
H dv = A^T (g / phi''),  A^T m = outflow - inflow;  masses change by  dm = -dz / phi''.
"""

from __future__ import annotations

from ..model.graph import Floats, Graph, row_add, row_dot
from ..runtime.targets import kernel
from .dual import FixedDual
from .fixed_measure import FixedMeasure
from .hessian import assemble, newton_direction
from .newton import minimise_from
from .regulariser import Regulariser
from .start import start_cold


@kernel
def minimise_costs(
    graph: Graph,
    costs: Floats,
    measure: FixedMeasure,
    regulariser: Regulariser,
    dual: FixedDual,
    in_logs: bool | None,
) -> bool:
    """The measure of least  <q, costs> + R(q)  in ``measure``; False if it is not certified."""
    for r in range(costs.shape[0]):
        dual.reduced[r] = costs[r]
    root_value = start_cold(graph, measure, regulariser, dual, in_logs)
    return minimise_from(graph, measure, regulariser, dual, root_value, in_logs)


@kernel
def mass_response(
    graph: Graph, measure: FixedMeasure, dual: FixedDual, change: Floats, out: Floats
) -> None:
    """out (R,) = dm for a ``change`` (R,) of the costs, at the solution that ``dual`` holds."""
    n = dual.gradient.shape[0] - 1
    for x in range(n + 1):
        dual.inflow[x] = 0.0
    for x in range(n):
        dual.gradient[x] = 0.0
        if measure.reached[x] != 0:
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                flow = dual.bend[r] * change[r]
                dual.gradient[x] -= flow
                row_add(graph, r, measure.chance, flow, dual.inflow)
    for x in range(n):
        if measure.reached[x] != 0:
            dual.gradient[x] += dual.inflow[x]
    dual.gradient[n] = 0.0
    assemble(graph, measure, dual)
    newton_direction(graph, dual, False)
    for x in range(n):
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            out[r] = 0.0
            if measure.reached[x] != 0:
                moved = row_dot(graph, r, measure.chance, dual.direction) - dual.direction[x]
                out[r] = -dual.bend[r] * (change[r] + moved)
