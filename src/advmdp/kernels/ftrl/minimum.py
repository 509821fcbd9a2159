"""A minimum from scratch: one call from Python."""

from __future__ import annotations

from ..model.graph import Floats, Graph
from ..runtime.targets import kernel
from .dual import FixedDual
from .fixed_measure import FixedMeasure
from .newton import cold_room, minimise_from, shift_costs
from .regulariser import Regulariser


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
    cold_room(graph, measure, regulariser, dual)
    root_value = shift_costs(graph, measure, dual)
    return minimise_from(graph, measure, regulariser, dual, root_value, in_logs)
