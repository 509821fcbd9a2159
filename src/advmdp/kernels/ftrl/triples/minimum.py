"""A minimum over triples from scratch: one call from Python."""

from __future__ import annotations

import math

from ...model.graph import (
    Floats,
    Graph,
    layer_begin,
    layer_end,
    n_layers,
    row_begin,
    row_size,
    successor_of,
)
from ...model.row_status import is_known
from ...runtime.targets import kernel, leaf
from ..fixed_measure import FixedMeasure, find_reached
from ..newton import minimise_from
from ..regulariser import marginal
from . import evaluation as evaluation  # registers the problem
from . import line_search as line_search
from .dual import TripleDual, TripleProblem


@leaf
def can_happen(problem: TripleProblem, r: int, e: int) -> bool:
    """Whether a triple takes part: not those that a known row excludes."""
    return not is_known(problem.rows, r) or bool(problem.rows.lower[e] > 0.0)


@kernel
def shift_triples(
    graph: Graph, measure: FixedMeasure, problem: TripleProblem, dual: TripleDual
) -> float:
    """Shift the costs so that the uniform measure is near; returns v(x_0).

    Last layer first, v(x) makes the least reduced cost of a state that of its uniform triples,
    -phi'(q(x) / (|A| n)).  ``inflow`` holds the masses of the uniform policy.
    """
    dual.value[dual.value.shape[0] - 1] = 0.0
    for back in range(n_layers(graph)):
        k = n_layers(graph) - 1 - back
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            dual.value[x] = 0.0
            if measure.reached[x] == 0:
                continue
            least = math.inf
            room = -math.inf
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                size = row_size(graph, r)
                begin = row_begin(graph, r)
                share = dual.inflow[x] / (graph.n_actions * size)
                room = max(room, marginal(problem.regulariser, r, share))
                for j in range(size):
                    dual.reduced[begin + j] += dual.value[successor_of(graph, r, j)]
                    if can_happen(problem, r, begin + j):
                        least = min(least, dual.reduced[begin + j])
            dual.value[x] = least - room
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                begin = row_begin(graph, r)
                dual.shift[r] = 0.0
                dual.scale[r] = dual.inflow[x] / graph.n_actions
                for e in range(begin, begin + row_size(graph, r)):
                    dual.reduced[e] -= dual.value[x]
    return dual.value[0]


@kernel
def minimise_triples(
    graph: Graph,
    costs: Floats,
    measure: FixedMeasure,
    problem: TripleProblem,
    dual: TripleDual,
    in_logs: bool | None,
) -> bool:
    """The measure of least  <q, costs> + R(q)  in ``measure``; False if it is not certified."""
    for e in range(costs.shape[0]):
        dual.reduced[e] = costs[e]
    find_reached(graph, measure, dual.inflow)
    root_value = shift_triples(graph, measure, problem, dual)
    return minimise_from(graph, measure, problem, dual, root_value, in_logs)
