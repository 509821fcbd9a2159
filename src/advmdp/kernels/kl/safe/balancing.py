"""Newton on the dual where rounding hides the decrease of G: the flows decide.

The fast search of ``projection`` asks every step to decrease G.  At extreme weights that question
has no answer: logarithms of a thousand carry an error of 1e-13, while a state with flow f adds only
about f to G.  Here G is compared up to its own rounding error, and below that the flows are: the
worst ratio of a state's inflow and outflow has to fall.  It is also what the answer needs, since
with q the committed measure, o the outflow of the dual solution and q* any measure of the set,

    D(q* || q~) >= D(q* || q) + D(q || q~) + sum over x of (q*(x) - q(x)) ln(q(x) / o(x)).

Where no Newton step passes, scaling does without being asked: half of ln(outflow / inflow) in every
state decreases G for any convex rows (``projection``).
"""

from __future__ import annotations

import math
from typing import Any

from ...model.graph import Graph, n_layers
from ...model.measure import Measure
from ...runtime.targets import kernel, leaf
from ...steps.interface import EVALUATIONS, ITERATIONS, RESIDUAL, VALUE
from ..imbalance import NEGLIGIBLE, begin_line_search, measure_imbalance
from ..linear.blocks import RIDGE
from ..linear.directions import careful_direction, scaling_direction
from ..projection import FAR, MAX_NEWTON, MAX_SCALING, Solver, move
from .tempered import evaluate_tempered

EXPONENT_ROUNDING = 4e-16  # of G, relative to the largest logarithm in it
SHORTEST = 1e-8  # part of a Newton step before it is given up for scaling: kinks can be near
STIFFEST = 0.1  # ridge, as a part of a state's flow
NEIGHBOURS = 1e6  # states with this much more flow than any that is out of balance stay


@leaf
def evaluate_at(
    graph: Graph, measure: Measure, rows: Any, solver: Solver, power: float, step: float
) -> tuple[float, float, float, float]:
    """G at  base + step * direction  for the weights w^power, and the imbalance there."""
    move(graph, solver.dual, solver.vectors, step)
    solver.certificate.counts[EVALUATIONS] += 1
    value = evaluate_tempered(graph, measure, rows, solver.dual, power)
    absolute, relative, ratio = measure_imbalance(solver.dual, solver.vectors.gradient)
    return value, absolute, relative, ratio


@kernel
def rounding_of_value(graph: Graph, solver: Solver, spread: float) -> float:
    """What rounding can do to G; ``spread`` is the largest logarithm among the weights."""
    largest = spread
    for x in range(solver.dual.beta.shape[0]):
        largest = max(largest, abs(solver.dual.beta[x]))
    return EXPONENT_ROUNDING * n_layers(graph) * (1.0 + largest)


@kernel
def largest_unbalanced(solver: Solver, closeness: float) -> float:
    """The largest flow of a state that is out of balance by more than ``closeness``."""
    flows = solver.dual.flows
    found = 0.0
    for x in range(1, solver.dual.beta.shape[0] - 1):
        high = max(flows.inflow[x], flows.outflow[x])
        low = min(flows.inflow[x], flows.outflow[x])
        if high > NEGLIGIBLE and high - low > closeness * high:
            found = max(found, high)
    return found


@kernel
def newton_within_reach(graph: Graph, measure: Measure, solver: Solver, largest: float) -> None:
    """A Newton direction not much longer than a step may be, by a ridge if need be.

    Where bounds and floors fix all flows of a state, G is linear in its beta: the Newton step is
    endless, and cut to its length nothing of it is left for the other states.
    """
    ridge = 0.0
    longest = careful_direction(graph, measure, solver, solver.wide, largest, ridge)
    while longest > 2.0 * MAX_NEWTON and ridge < STIFFEST:
        ridge = max(RIDGE * longest / MAX_NEWTON, 10.0 * ridge)
        longest = careful_direction(graph, measure, solver, solver.wide, largest, ridge)


@kernel
def balance(
    graph: Graph,
    measure: Measure,
    rows: Any,
    solver: Solver,
    power: float,
    spread: float,
    tolerance: float,
    closeness: float,
    most: int,
) -> bool:
    """Solve the dual of the weights w^power from ``vectors.base``; False if it takes too long.

    ``tolerance`` is of |inflow - outflow|, ``closeness`` of the same against the state's own flow,
    and ``spread`` the largest logarithm among the weights.
    """
    vectors = solver.vectors
    figures = solver.certificate.figures
    value, absolute, relative, ratio = evaluate_at(graph, measure, rows, solver, power, 0.0)
    for _ in range(most):
        figures[RESIDUAL] = absolute
        figures[VALUE] = value
        if not (abs(value) < math.inf):
            return False  # flows that are no numbers look as if they were conserved
        if absolute <= tolerance and relative <= closeness:
            return True
        solver.certificate.counts[ITERATIONS] += 1
        accepted = False
        if ratio <= FAR:
            largest = math.inf
            if absolute <= tolerance:
                largest = NEIGHBOURS * largest_unbalanced(solver, closeness)
            newton_within_reach(graph, measure, solver, largest)
            slope, step = begin_line_search(solver.dual, vectors, MAX_NEWTON)
            rounding = rounding_of_value(graph, solver, spread)
            while step > SHORTEST and not accepted:
                found = evaluate_at(graph, measure, rows, solver, power, step)
                decreased = found[0] <= value + 1e-4 * step * slope + rounding
                visible = step * slope < -10.0 * rounding
                accepted = decreased and (visible or found[2] <= relative + rounding)
                if accepted:
                    value, absolute, relative, ratio = found
                step *= 0.5
        if not accepted:
            if ratio <= FAR:  # the trials have left their flows behind
                evaluate_at(graph, measure, rows, solver, power, 0.0)
            scaling_direction(solver.dual, vectors.direction)
            _, step = begin_line_search(solver.dual, vectors, MAX_SCALING)
            value, absolute, relative, ratio = evaluate_at(
                graph, measure, rows, solver, power, step
            )
    return False
