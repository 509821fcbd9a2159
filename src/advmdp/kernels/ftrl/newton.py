"""The minimiser by Newton's method on the dual, certified and polished to an exact measure."""

from __future__ import annotations

import math
from typing import Any

from ..model.flow import forward
from ..model.graph import Graph
from ..runtime.targets import kernel, leaf
from ..steps.interface import EVALUATIONS, GAP, ITERATIONS, RESIDUAL, SAFE, VALUE
from . import interface
from .dual import FixedDual
from .evaluation import measure_imbalance
from .fixed_measure import FixedMeasure
from .hessian import assemble, newton_direction
from .regulariser import Regulariser, divergence

# Of |inflow - outflow|: what is committed conserves flow to rounding in any case, and the duality
# gap is about the square of the relative imbalance.
FLOW_TOLERANCE = 1e-10
RELATIVE_TOLERANCE = 1e-7
NEARLY = 0.3  # of the tolerance: what a step with old factors may leave
VALUE_ROUNDING = 1e-15
INSIDE = 0.9  # of the longest step inside the domain
SHORTEST = 1e-9  # part of a step before it is given up
MOST_ITERATIONS, MOST_SAFE_ITERATIONS = 60, 1000


@interface.commit.register(FixedDual)
@leaf
def commit_pairs(
    graph: Graph, measure: FixedMeasure, regulariser: Regulariser, dual: FixedDual
) -> float:
    """The measure of the minimisers' policy, exact in its flow; returns the duality gap.

    For a measure q the primal value minus D is the sum of the divergences of q(x, a) from m(x, a).
    """
    for x in range(dual.outflow.shape[0] - 1):
        out = dual.outflow[x]
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            uniform = measure.reached[x] == 0
            measure.policy[r] = 1.0 / graph.n_actions if uniform else dual.mass[r] / out
    forward(graph, measure.chance, measure.policy, measure.mass)
    gap = 0.0
    for r in range(measure.policy.shape[0]):
        x = r // graph.n_actions
        if measure.reached[x] != 0 and dual.mass[r] > 0.0:
            gap += divergence(regulariser, r, measure.mass[x] * measure.policy[r], dual.mass[r])
    return gap


@leaf
def begin_search(dual: Any, in_logs: bool | None) -> None:
    for i in range(dual.certificate.counts.shape[0]):
        dual.certificate.counts[i] = 0
    if in_logs is not None:
        dual.certificate.counts[SAFE] = 1
    dual.certificate.figures[RESIDUAL] = math.inf
    for r in range(dual.slope.shape[0]):
        dual.slope[r] = 0.0


@interface.judge.register(FixedDual)
@leaf
def judge_smooth(
    dual: FixedDual, trial: float, value: float, step: float, descent: float, residual: float
) -> float:
    """Armijo's rule, up to rounding.

    Near the optimum the decrease drowns in rounding: there the flow decides.
    """
    size = 1.0 + abs(trial)
    decreased = trial <= value + 1e-4 * (step * descent) + VALUE_ROUNDING * size
    halved = residual < 0.5 * dual.certificate.figures[RESIDUAL]
    better = trial <= value + 1e-9 * size and halved
    return 1.0 if decreased or better else 0.5


@kernel
def minimise_from(
    graph: Graph,
    measure: FixedMeasure,
    regulariser: Any,
    dual: Any,
    root_value: float,
    in_logs: bool | None,
) -> bool:
    """Search from the reduced costs in ``dual``; False, and ``measure`` unchanged, if not found.

    ``root_value`` is v(x_0) of the start; the value of D is figured with it.
    """
    begin_search(dual, in_logs)
    counts = dual.certificate.counts
    figures = dual.certificate.figures
    most = MOST_ITERATIONS if in_logs is None else MOST_SAFE_ITERATIONS
    value = math.inf  # of -D at the base point
    descent = 0.0
    step = 0.0
    shortest = 0.0
    factored_at = 0.0  # the flow residual where the Hessian was factored
    dual.direction[0] = 0.0
    while counts[EVALUATIONS] < 20 * most and counts[ITERATIONS] < most:
        trial = -interface.evaluate(graph, measure, regulariser, dual, step)
        trial -= root_value + step * dual.direction[0]
        counts[EVALUATIONS] += 1
        absolute, relative = measure_imbalance(measure, dual)
        part = interface.judge(dual, trial, value, step, descent, absolute)
        if part < 1.0:
            step *= part
            if value == math.inf or step < shortest:
                return False
            continue
        value = trial
        root_value += step * dual.direction[0]
        for r in range(dual.reduced.shape[0]):
            dual.reduced[r] += step * dual.slope[r]
        figures[RESIDUAL] = absolute
        figures[VALUE] = -value
        if absolute <= FLOW_TOLERANCE and relative <= RELATIVE_TOLERANCE:
            figures[GAP] = interface.commit(graph, measure, regulariser, dual)
            return True
        counts[ITERATIONS] += 1
        again = absolute * absolute <= NEARLY * FLOW_TOLERANCE * factored_at
        if not again:
            assemble(graph, measure, dual)
        newton_direction(graph, dual, again)
        factored_at = 0.0 if again else absolute
        descent, longest = interface.find_slopes(graph, measure, regulariser, dual)
        step = min(1.0, INSIDE * longest)
        shortest = SHORTEST * step
    return False
