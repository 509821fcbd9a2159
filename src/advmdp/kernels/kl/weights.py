"""Any positive weights over triples as transition, policy and masses, and the way back."""

from __future__ import annotations

import math
from typing import Any

from ..lanes.passes import sum_and_low
from ..model.graph import (
    Floats,
    Graph,
    layer_begin,
    layer_end,
    n_layers,
    row_begin,
    row_scale,
    row_size,
)
from ..model.log_storage import TINY, from_log
from ..model.measure import Measure, join
from ..model.row_status import is_known
from ..runtime.targets import kernel, leaf
from ..sets.interface import known_transition
from .logs.log_weights import load_log_weights, share_layer, share_state
from .merged.merged_rows import note_all_rows
from .projection import Solver, project

ORDINARY = 1e-50  # weights between these two need no logarithms: their ratios are above TINY
LARGE = 1e150


@leaf
def row_total(graph: Graph, r: int, weights: Floats) -> float:
    """The sum of a row, or -1 when it, or a share of it, is better held as a logarithm."""
    total, small = sum_and_low(weights, row_begin(graph, r), row_size(graph, r), ORDINARY)
    # a weight that is not a number spoils the total, so it does not pass either
    return total if small == 0.0 and total < LARGE else -1.0


@leaf
def load_layer(
    graph: Graph, k: int, weights: Floats, rows: Any, measure: Measure, totals: Floats
) -> float:
    """Fill layer k of ``measure``; returns its weight, or -1 where that takes logarithms."""
    layer = 0.0
    for x in range(layer_begin(graph, k), layer_end(graph, k)):
        here = 0.0
        smallest = math.inf
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            totals[r] = row_total(graph, r, weights) if not is_known(rows, r) else -1.0
            here += totals[r]
            smallest = min(smallest, totals[r])
        if not (smallest > TINY * here):
            return -1.0
        shrink = 1.0 / here
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            measure.policy[r] = totals[r] * shrink
            row_scale(graph, r, weights, 1.0 / totals[r], measure.chance)
        measure.mass[x] = here
        layer += here
    for x in range(layer_begin(graph, k), layer_end(graph, k)):
        measure.mass[x] /= layer
        if measure.mass[x] < TINY:
            return -1.0
    return layer


@kernel
def load_row_in_logs(graph: Graph, r: int, weights: Floats, rows: Any, chance: Floats) -> float:
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
    if is_known(rows, r):
        cost = 0.0
        for j in range(size):
            p = known_transition(rows).array[begin + j]
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
def load_layer_in_logs(
    graph: Graph, k: int, weights: Floats, rows: Any, measure: Measure, logs: Floats
) -> float:
    """The same for any weights and sets; returns the logarithm of the layer's weight."""
    for x in range(layer_begin(graph, k), layer_end(graph, k)):
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            logs[r] = load_row_in_logs(graph, r, weights, rows, measure.chance)
        measure.mass[x] = share_state(graph, x, measure, logs)
    return share_layer(graph, k, measure)


@kernel
def load_weights(
    graph: Graph, weights: Floats, rows: Any, measure: Measure, scratch: Floats
) -> float:
    """Fill ``measure``; returns the sum over layers of (weight - 1 - ln weight).

    That is the divergence of the weights from themselves made a distribution on every layer.  NaN
    when some weight is not positive and finite.
    """
    cost = 0.0
    for k in range(n_layers(graph)):
        layer = load_layer(graph, k, weights, rows, measure, scratch)
        if layer > 0.0:
            cost += layer - 1.0 - math.log(layer)
            continue
        begin = row_begin(graph, layer_begin(graph, k) * graph.n_actions)
        for e in range(begin, row_begin(graph, layer_end(graph, k) * graph.n_actions)):
            if not (0.0 < weights[e] < math.inf):
                return math.nan
            cost += weights[e]
        cost -= 1.0 + load_layer_in_logs(graph, k, weights, rows, measure, scratch)
    measure.mass[measure.mass.shape[0] - 1] = 1.0
    return cost


@kernel
def project_weights(
    graph: Graph,
    table: Floats,
    measure: Measure,
    rows: Any,
    solver: Solver,
    logs: bool,
) -> tuple[bool, float]:
    """Project a table of weights, overwriting it with the answer: one call from Python.

    ``logs`` says that they are given by their logarithms.  Returns whether the projection is
    certified (if not, only ``measure`` is loaded), and what ``load_weights`` returned.
    """
    if logs:
        cost = load_log_weights(graph, table, rows, measure, solver.dual.held.gain)
    else:
        cost = load_weights(graph, table, rows, measure, solver.dual.held.gain)
    note_all_rows(graph, measure, rows, solver.dual)
    certified = cost == cost and project(graph, measure, rows, solver, None)
    if certified:
        join(graph, measure, table)
    return certified, cost
