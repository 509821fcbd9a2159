"""Any positive weights over triples as transition, policy and masses, ready to be projected."""

from __future__ import annotations

import math

from .dual import Measure
from .graph import Floats, Graph, layer_begin, layer_end, n_layers, row_begin, row_size
from .rows import FIXED, TransitionSet
from .signed import from_log, logarithm
from .targets import kernel


@kernel
def load_row(graph: Graph, r: int, weights: Floats, rows: TransitionSet, chance: Floats) -> float:
    """The transition of one row; returns the logarithm of the row's weight.

    A fixed row keeps its own transition P, which costs the divergence KL(P || p~).
    """
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    top = 0.0
    for j in range(size):
        top = max(top, weights[begin + j])
    total = 0.0
    for j in range(size):
        total += weights[begin + j] / top
    log_weight = math.log(top) + math.log(total)
    if rows.kind[r] == FIXED:
        cost = 0.0
        for j in range(size):
            p = rows.lower[begin + j]
            chance[begin + j] = p
            if p > 0.0:
                cost += p * (math.log(p) - math.log(weights[begin + j]) + log_weight)
        return log_weight - cost
    for j in range(size):
        share = weights[begin + j] / top / total
        if share < 1e-200:
            share = from_log(math.log(weights[begin + j]) - log_weight)
        chance[begin + j] = share
    return log_weight


@kernel
def load_weights(
    graph: Graph, weights: Floats, rows: TransitionSet, measure: Measure, scratch: Floats
) -> float:
    """Fill ``measure``; returns the sum over layers of ln(the layer's weight)."""
    total = 0.0
    for k in range(n_layers(graph)):
        top = -math.inf
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            most = -math.inf
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                scratch[r] = load_row(graph, r, weights, rows, measure.chance)
                most = max(most, scratch[r])
            here = 0.0
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                here += math.exp(scratch[r] - most)
            log_here = most + math.log(here)
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                measure.policy[r] = from_log(scratch[r] - log_here)
            measure.mass[x] = log_here
            top = max(top, log_here)
        layer = 0.0
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            layer += math.exp(measure.mass[x] - top)
        log_layer = top + math.log(layer)
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            measure.mass[x] = from_log(measure.mass[x] - log_layer)
        total += log_layer
    measure.mass[measure.mass.shape[0] - 1] = 1.0
    return total


@kernel
def divergence(graph: Graph, measure: Measure, weights: Floats) -> float:
    """D(q || weights) of Eq. (KL) without its linear part: the sum of q ln(q / weight)."""
    total = 0.0
    for r in range(measure.policy.shape[0]):
        log_row = logarithm(measure.mass[r // graph.n_actions]) + logarithm(measure.policy[r])
        begin = row_begin(graph, r)
        for j in range(row_size(graph, r)):
            p = measure.chance[begin + j]
            if p > 0.0 and log_row > -700.0:
                q = math.exp(log_row) * p
                total += q * (log_row + math.log(p) - math.log(weights[begin + j]))
    return total
