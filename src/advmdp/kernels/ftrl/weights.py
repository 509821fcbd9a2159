"""Log-barrier weights that grow with what the losses did to the iterate.

    b(x, a) += c  q_t(x, a)^2 (Q(x, a) - V(x))^2 / b(x, a)

with Q and V those of the played policy under the fixed transition, for the estimated losses of the
episode: b^2 grows by 2 c times the stability term of the analysis.
"""

from __future__ import annotations

from ..model.graph import Floats, Graph, layer_begin, layer_end, n_layers, row_dot
from ..model.log_storage import linear
from ..runtime.targets import leaf
from .fixed_measure import FixedMeasure


@leaf
def adapt_barrier(
    graph: Graph,
    measure: FixedMeasure,
    losses: Floats,
    value: Floats,
    factor: float,
    barrier: Floats,
) -> None:
    """Grow the weights by the losses (R,), which are overwritten with Q; ``value`` (S,) is V."""
    value[value.shape[0] - 1] = 0.0
    for back in range(n_layers(graph)):
        k = n_layers(graph) - 1 - back
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            mean = 0.0
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                losses[r] += row_dot(graph, r, measure.chance, value)
                mean += linear(measure.policy[r]) * losses[r]
            value[x] = mean
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                q = linear(measure.mass[x]) * linear(measure.policy[r])
                away = q * (losses[r] - mean)
                barrier[r] += factor * away * away / barrier[r]
