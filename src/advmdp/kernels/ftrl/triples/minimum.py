"""What Python calls: a minimum over triples from scratch, and how it reacts to its costs."""

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
from ...sets.interface import known_transition
from ..fixed_measure import FixedMeasure, find_reached
from ..hessian import assemble, newton_direction
from ..newton import minimise_from
from ..regulariser import marginal
from . import evaluation as evaluation  # registers the problem
from . import line_search as line_search
from .dual import TripleDual, TripleProblem
from .simple_rows import may_end


@leaf
def can_happen(problem: TripleProblem, r: int, e: int) -> bool:
    """Whether a triple takes part: not those that a known row excludes."""
    return not is_known(problem.rows, r) or bool(known_transition(problem.rows).array[e] > 0.0)


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
                if may_end(dual):
                    least = min(least, dual.reduced[dual.flow.shape[0] + r])
            dual.value[x] = least - room
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                begin = row_begin(graph, r)
                dual.shift[r] = 0.0
                dual.scale[r] = dual.inflow[x] / graph.n_actions
                for e in range(begin, begin + row_size(graph, r)):
                    dual.reduced[e] -= dual.value[x]
                if may_end(dual):
                    dual.reduced[dual.flow.shape[0] + r] -= dual.value[x]
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


@leaf
def lost_mass(graph: Graph, r: int, dual: TripleDual, change: float) -> float:
    """How much less mass row r has when its costs grow by ``change`` and v by ``direction``."""
    begin = row_begin(graph, r)
    found = change - dual.direction[r // graph.n_actions]
    for j in range(row_size(graph, r)):
        found += dual.tie[begin + j] * dual.direction[successor_of(graph, r, j)]
    return found * dual.inverse_tie[r]  # type: ignore[no-any-return]


@kernel
def triple_response(
    graph: Graph, measure: FixedMeasure, dual: TripleDual, change: Floats, out: Floats
) -> None:
    """out (R,) = the change of q(x, a) for a ``change`` (R,) of the costs, as ``mass_response``.

    With unchanged v a row's flows change by  -change A / s  (``TripleDual``).
    """
    n = dual.gradient.shape[0] - 1
    for x in range(n + 1):
        dual.gradient[x] = 0.0
        dual.direction[x] = 0.0
    for x in range(n):
        if measure.reached[x] != 0:
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                begin = row_begin(graph, r)
                dual.gradient[x] -= lost_mass(graph, r, dual, change[r])
                for j in range(row_size(graph, r)):
                    flow = change[r] * dual.tie[begin + j] * dual.inverse_tie[r]
                    dual.gradient[successor_of(graph, r, j)] += flow
    dual.gradient[n] = 0.0
    assemble(graph, measure, dual)
    newton_direction(graph, dual, False)
    for x in range(n):
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            reached = measure.reached[x] != 0
            out[r] = -lost_mass(graph, r, dual, change[r]) if reached else 0.0
