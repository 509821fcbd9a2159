"""Optimistic planning: the cheapest policy in the most favourable transition of a set.

In a layered MDP one backward pass is exact, for any set that is a product over rows:

    Q(x, a) = cost(x, a) + min over p in the row's set of <p, V>,      V(x) = min_a Q(x, a).

The minimum is found by the maximisation of ``upper_occupancy``: for C the largest V of the layer,
min <p, V> = C - max <p, C - V>, and C - V is not negative, as that maximisation requires.
"""

from __future__ import annotations

from typing import Any

from ..model.empirical import greedy
from ..model.graph import Floats, Graph, layer_begin, layer_end, n_layers
from ..runtime.targets import kernel, leaf
from .linear_maximum import Reach, maximum_over_row, sort_layer


@leaf
def turn_values(graph: Graph, k: int, value: Floats, reach: Reach) -> float:
    """Put C - V of layer k into ``reach.value``, sorted; return C."""
    begin = layer_begin(graph, k)
    end = layer_end(graph, k)
    top = value[begin]
    for x in range(begin + 1, end):
        top = max(top, value[x])
    for x in range(begin, end):
        reach.value[x] = top - value[x]
    sort_layer(graph, k, reach)
    return top


@kernel
def optimistic_response(
    graph: Graph,
    rows: Any,
    costs: Floats,
    reach: Reach,
    q: Floats,
    value: Floats,
    policy: Floats,
) -> float:
    """Q, V and the greedy policy (ties to the first action) for any real costs; returns V(x_0)."""
    value[value.shape[0] - 1] = 0.0
    for back in range(n_layers(graph)):
        k = n_layers(graph) - 1 - back
        top = turn_values(graph, k + 1, value, reach)
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                q[r] = costs[r] + top - maximum_over_row(graph, r, k, rows, reach)
            value[x] = greedy(graph, x, q, policy)
    return value[0]
