"""Any positive weights over triples as transition, policy and masses, ready to be projected."""

from __future__ import annotations

import math

from .dual import Measure
from .graph import Floats, Graph, layer_begin, layer_end, n_layers, row_begin, row_size
from .rows import FIXED, TransitionSet
from .signed import TINY, from_log
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
    shrink = 1.0 / top  # to a largest weight of one: the sum cannot overflow
    total = 0.0
    for j in range(size):
        total += weights[begin + j] * shrink
    log_weight = math.log(top) + math.log(total)
    if rows.kind[r] == FIXED:
        cost = 0.0
        for j in range(size):
            p = rows.lower[begin + j]
            chance[begin + j] = p
            if p > 0.0:
                cost += p * (math.log(p) - math.log(weights[begin + j]) + log_weight)
        return log_weight - cost
    normalise = 1.0 / total
    smallest = math.inf
    for j in range(size):
        share = weights[begin + j] * shrink * normalise
        chance[begin + j] = share
        smallest = min(smallest, share)
    if not (smallest >= TINY and top < 1e300):  # 1 / top may be less than any float holds
        for j in range(size):
            chance[begin + j] = from_log(math.log(weights[begin + j]) - log_weight)
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
