"""The last part of the safe path: from tame weights to the true ones.

Newton's method finds the solution of the dual from nearby.  With weights whose logarithms reach s,
beta = 0 can be s away, and steps of length one are too many.  Raised to a power the weights are as
tame as wanted, and the solution is a continuous function of the power: start at a small one, raise
it, and begin each time where the last two solutions point.  With extreme weights the solution is
nearly linear in the power (beta / power tends to the multipliers of the linear programme), so that
the power can be doubled again and again.

The set is the same at every power, so a power without a solution means a set without a measure.
"""

from __future__ import annotations

import math
from typing import Any

from ...model.graph import Floats, Graph
from ...model.log_storage import logarithm
from ...model.measure import Measure
from ...runtime.targets import kernel
from ...steps.interface import EVALUATIONS, GAP, ITERATIONS, PRODUCTS, SAFE
from ..commit import commit
from ..projection import (
    FLOORED_TOLERANCE,
    FLOW_TOLERANCE,
    RELATIVE_TOLERANCE,
    Solver,
    project,
)
from .balancing import EXPONENT_ROUNDING, balance

TAME, TAMEST = 20.0, 0.1  # the largest logarithm among the weights at the start
ON_THE_WAY = 1e-6, 0.3  # flow residual, and the same relative to a state's flow
LARGEST_RAISE, SMALLEST_RAISE = 8.0, 1.002  # of the power, as a factor
MOST_ON_THE_WAY, MOST_AT_THE_END, MOST_IN_ALL = 60, 400, 4000  # Newton steps


@kernel
def largest_log(table: Floats) -> float:
    """The largest |logarithm| of a table in log storage."""
    largest = 0.0
    for i in range(table.shape[0]):
        value = logarithm(table[i])
        if value > -math.inf:
            largest = max(largest, abs(value))
    return largest


@kernel
def begin_at(solver: Solver, step: float) -> None:
    """Make  settled + step * trend  the base point."""
    vectors = solver.vectors
    for x in range(vectors.base.shape[0]):
        vectors.base[x] = vectors.settled[x] + step * vectors.trend[x]
        vectors.direction[x] = 0.0


@kernel
def settle(solver: Solver, power: float, step: float) -> None:
    """The solution at ``power``, reached from ``power - step``, and where it points."""
    vectors = solver.vectors
    for x in range(vectors.base.shape[0]):
        vectors.trend[x] = (solver.dual.beta[x] - vectors.settled[x]) / step
        vectors.settled[x] = solver.dual.beta[x]


@kernel
def raise_power(
    graph: Graph, measure: Measure, rows: Any, solver: Solver, spread: float, tolerance: float
) -> bool:
    """Follow the solution from tame weights to the true ones."""
    for x in range(solver.vectors.base.shape[0]):
        solver.vectors.settled[x] = 0.0
        solver.vectors.trend[x] = 0.0
    power = 0.0
    goal = min(1.0, TAME / spread)
    growth = LARGEST_RAISE
    while solver.certificate.counts[ITERATIONS] < MOST_IN_ALL:
        begin_at(solver, goal - power)
        aim = (ON_THE_WAY[0], ON_THE_WAY[1], MOST_ON_THE_WAY)
        if goal == 1.0:
            aim = (tolerance, RELATIVE_TOLERANCE, MOST_AT_THE_END)
        done = balance(graph, measure, rows, solver, goal, spread * goal, aim[0], aim[1], aim[2])
        if done and goal == 1.0:
            return True
        if done:
            settle(solver, goal, goal - power)
            power = goal
            growth = min(LARGEST_RAISE, growth * growth)
            goal = min(1.0, power * growth)
        elif power > 0.0:
            growth = math.sqrt(goal / power)
            goal = power * growth
        else:
            goal /= LARGEST_RAISE
        if growth < SMALLEST_RAISE or goal * spread < TAMEST:
            return False
    return False


@kernel
def project_safely(graph: Graph, measure: Measure, rows: Any, solver: Solver) -> bool:
    """Project ``measure`` onto the set in place; False (and nothing changed) if not certified.

    First the ordinary search in logarithms; then, from where that has stopped, the one that allows
    for rounding; and in the end the way from tame weights.
    """
    if project(graph, measure, rows, solver, True):
        return True
    counts = solver.certificate.counts
    spread = max(
        largest_log(measure.chance), max(largest_log(measure.policy), largest_log(measure.mass))
    )
    tolerance = FLOW_TOLERANCE
    if rows.least_occupancy > 0.0:  # flows are known no better than the logarithms they come from
        tolerance = min(tolerance, max(FLOORED_TOLERANCE, EXPONENT_ROUNDING * spread))
    for i in (ITERATIONS, EVALUATIONS, PRODUCTS):
        counts[i] = 0
    counts[SAFE] = 1
    if balance(
        graph, measure, rows, solver, 1.0, spread, tolerance, RELATIVE_TOLERANCE, MOST_ON_THE_WAY
    ) or raise_power(graph, measure, rows, solver, spread, tolerance):
        solver.certificate.figures[GAP] = commit(graph, measure, rows, solver.dual)
        return True
    return False
