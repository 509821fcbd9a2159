"""Weights given by their logarithms, of any size: as transition, policy and masses."""

from __future__ import annotations

import math
from typing import Any

from ...model.graph import Floats, Graph, layer_begin, layer_end, n_layers, row_begin, row_size
from ...model.log_storage import from_log
from ...model.measure import Measure
from ...model.row_status import is_known
from ...runtime.targets import kernel, leaf
from ...sets.interface import known_transition


@leaf
def share_state(graph: Graph, x: int, measure: Measure, logs: Floats) -> float:
    """The policy of a state from the logarithms of its rows' weights; returns that of their sum."""
    most = -math.inf
    for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
        most = max(most, logs[r])
    here = 0.0
    for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
        here += math.exp(logs[r] - most)
    log_here = most + math.log(here)
    for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
        measure.policy[r] = from_log(logs[r] - log_here)
    return log_here


@leaf
def share_layer(graph: Graph, k: int, measure: Measure) -> float:
    """The masses of layer k, given as logarithms; returns the logarithm of the layer's weight."""
    top = -math.inf
    for x in range(layer_begin(graph, k), layer_end(graph, k)):
        top = max(top, measure.mass[x])
    layer = 0.0
    for x in range(layer_begin(graph, k), layer_end(graph, k)):
        layer += math.exp(measure.mass[x] - top)
    log_layer = top + math.log(layer)
    for x in range(layer_begin(graph, k), layer_end(graph, k)):
        measure.mass[x] = from_log(measure.mass[x] - log_layer)
    return log_layer


@leaf
def normalise_row(begin: int, size: int, table: Floats) -> float:
    """Logarithms as a distribution in log storage; returns the logarithm of their weight."""
    top = -math.inf
    for e in range(begin, begin + size):
        top = max(top, table[e])
    if top == -math.inf:
        return top
    total = 0.0
    for e in range(begin, begin + size):
        total += math.exp(table[e] - top)
    log_weight = top + math.log(total)
    for e in range(begin, begin + size):
        table[e] = from_log(table[e] - log_weight)
    return log_weight


@kernel
def load_log_row(graph: Graph, r: int, logs: Floats, rows: Any, chance: Floats) -> float:
    """The transition of one row; returns the logarithm of the row's weight.

    A fixed row keeps its own transition P, which costs the divergence KL(P || p~).
    """
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    if is_known(rows, r):
        log_weight = 0.0
        for e in range(begin, begin + size):
            p = known_transition(rows).array[e]
            chance[e] = p
            if p > 0.0:
                log_weight += p * (logs[e] - math.log(p))
        return log_weight
    for e in range(begin, begin + size):
        chance[e] = logs[e]
    return normalise_row(begin, size, chance)


@kernel
def load_log_weights(
    graph: Graph, logs: Floats, rows: Any, measure: Measure, scratch: Floats
) -> float:
    """Fill ``measure``; returns what ``load_weights`` does, or infinity where that overflows."""
    cost = 0.0
    for k in range(n_layers(graph)):
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            first = x * graph.n_actions
            last = first + graph.n_actions
            for r in range(first, last):
                scratch[r] = load_log_row(graph, r, logs, rows, measure.chance)
            for e in range(row_begin(graph, first), row_begin(graph, last)):
                cost += math.exp(logs[e])
            measure.mass[x] = share_state(graph, x, measure, scratch)
        cost -= 1.0 + share_layer(graph, k, measure)
    measure.mass[measure.mass.shape[0] - 1] = 1.0
    return cost
