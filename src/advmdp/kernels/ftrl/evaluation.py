"""One evaluation of the dual along a direction: its value, the minimisers and their flows."""

from __future__ import annotations

import math
from typing import Any

from ..model.graph import Graph, row_add, row_dot
from ..runtime.targets import kernel, leaf
from . import interface
from .dual import FixedDual
from .fixed_measure import FixedMeasure
from .regulariser import Regulariser, is_in_domain, minimise_pair


@interface.evaluate.register(FixedDual)
@kernel
def evaluate(
    graph: Graph,
    measure: FixedMeasure,
    regulariser: Regulariser,
    dual: FixedDual,
    step: float,
) -> float:
    """The sum over pairs of  min m z + phi(m)  at  z + step * slope;  NaN outside its domain."""
    n = dual.inflow.shape[0] - 1
    for x in range(n + 1):
        dual.inflow[x] = 0.0
    dual.inflow[0] = 1.0
    total = 0.0
    for x in range(n):
        out = 0.0
        if measure.reached[x] != 0:
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                z = dual.reduced[r] + step * dual.slope[r]
                if not is_in_domain(regulariser, z):
                    return math.nan
                m, bend, value = minimise_pair(regulariser, r, z)
                dual.mass[r] = m
                dual.bend[r] = bend
                total += value
                out += m
                row_add(graph, r, measure.chance, m, dual.inflow)
        dual.outflow[x] = out
    return total


@leaf
def measure_imbalance(measure: FixedMeasure, dual: Any) -> tuple[float, float]:
    """The gradient of -D, and its worst entry: absolute, and relative to the flow."""
    absolute = 0.0
    relative = 0.0
    n = dual.gradient.shape[0] - 1
    for x in range(n):
        dual.gradient[x] = 0.0
        if measure.reached[x] != 0:
            difference = dual.outflow[x] - dual.inflow[x]
            dual.gradient[x] = difference
            absolute = max(absolute, abs(difference))
            relative = max(relative, abs(difference) / max(dual.inflow[x], dual.outflow[x]))
    dual.gradient[n] = 0.0
    return absolute, relative


@interface.find_slopes.register(FixedDual)
@leaf
def find_slopes(
    graph: Graph, measure: FixedMeasure, regulariser: Regulariser, dual: FixedDual
) -> tuple[float, float]:
    """The change of z along the direction; that of -D, and the longest step inside the domain."""
    n = dual.direction.shape[0] - 1
    descent = 0.0
    longest = math.inf
    for x in range(n):
        descent += dual.gradient[x] * dual.direction[x]
        if measure.reached[x] == 0:
            continue
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            slope = row_dot(graph, r, measure.chance, dual.direction) - dual.direction[x]
            dual.slope[r] = slope
            if slope < 0.0:
                longest = min(longest, longest_step(regulariser, dual.reduced[r], slope))
    return descent, longest


MOST_EXPONENT = 5.0  # of the change of an exponential in one step


@leaf
def longest_step(regulariser: Regulariser, z: float, slope: float) -> float:
    """How far a pair's reduced cost may fall along a direction."""
    if is_in_domain(regulariser, -1.0):
        return -MOST_EXPONENT * regulariser.weight / slope
    return -z / slope
