"""The KL projection: Newton on the dual, certified, and committed only when it has converged.

Start at beta = 0 (the last iterate is nearly feasible: only the visited rows were re-weighted).
While some state's inflow and outflow differ by more than a factor of ten, scale all of them:
``beta(x) += ln(outflow / inflow) / 2``, half of which is guaranteed to decrease G for any convex
row set (the bound e^{b-a} <= (e^{2b} + e^{-2a}) / 2 applied to Z_k).  Otherwise take Newton steps,
and scale again at the end if all that is left are states with next to no flow.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model.graph import (
    Floats,
    Graph,
    layer_begin,
    layer_end,
    layer_of,
    n_layers,
)
from ..runtime.targets import kernel
from ..runtime.threads import MAY_SHARE, barrier, n_threads, reduce_max, shared
from ..sets.rows import TransitionSet
from .active_set import foresee_bounds
from .commit import commit
from .dual import Dual, Measure
from .evaluation import evaluate
from .linear.block_entries import assemble_together
from .linear.block_solve import solve_blocks
from .linear.blocks import Blocks, assemble_alone
from .linear.conjugate import Vectors, conjugate_direction
from .merged_rows import fill_pool

# Of |inflow - outflow|, with layers summing to one.  What is committed conserves flow to rounding
# in any case: the residual r says how good the dual solution is, and the duality gap is about r^2.
# With a floor under the states it is about r, since these then miss the floor by that much.
FLOW_TOLERANCE = 1e-10
FLOORED_TOLERANCE = 1e-12
NEARLY = 0.3  # of the tolerance: what a linear system may leave
RELATIVE_TOLERANCE = 1e-7  # of the same, against the state's own flow
NEGLIGIBLE = 1e-200  # states with less flow are not asked for relative accuracy
FAR = 10.0  # ratio of inflow and outflow beyond which a state is scaled, not Newton-stepped
ROUNDING = 1e-15  # of G, relative
MAX_SCALING = 300.0  # longest steps in beta
MAX_NEWTON = 5.0

# Places in ``report``.
ITERATIONS, EVALUATIONS, PRODUCTS, SAFE = 0, 1, 2, 3
# Places in ``figures``.
RESIDUAL, GAP, VALUE = 0, 1, 2


class Solver(NamedTuple):
    """Work space of one projection."""

    dual: Dual
    vectors: Vectors
    blocks: Blocks
    report: NDArray[np.int64]  # (4,)
    figures: Floats  # (3,)


@kernel
def measure_imbalance(dual: Dual, gradient: Floats) -> tuple[float, float, float]:
    """The gradient, and its worst entry: absolute, relative to the flow, as a logarithm."""
    absolute = 0.0
    share = 1.0  # the worst of smaller flow / larger flow
    n = gradient.shape[0]
    for x in shared(1, n - 1):
        difference = dual.inflow[x] - dual.outflow[x]
        gradient[x] = difference
        absolute = max(absolute, abs(difference))
        high = max(dual.inflow[x], dual.outflow[x])
        if high > NEGLIGIBLE:
            share = min(share, min(dual.inflow[x], dual.outflow[x]) / high)
    barrier()
    absolute = reduce_max(absolute)
    share = -reduce_max(-share)
    gradient[0] = 0.0
    gradient[n - 1] = 0.0
    return absolute, 1.0 - share, 1.0 / max(share, 1e-300)


@kernel
def scaling_direction(dual: Dual, direction: Floats) -> None:
    """Half of ln(outflow / inflow) for every state.

    The outflow falls like e^-beta; the inflow grows like e^beta where rows are free and not at all
    where they are clipped.  Half the way at least halves the imbalance in both cases.
    """
    for x in range(direction.shape[0]):
        direction[x] = 0.0
    for x in range(1, direction.shape[0] - 1):
        low = max(dual.inflow[x], 1e-300)
        high = max(dual.outflow[x], 1e-300)
        if max(low, high) > NEGLIGIBLE:
            direction[x] = 0.5 * math.log(high / low)


@kernel
def move(graph: Graph, dual: Dual, vectors: Vectors, step: float) -> None:
    """beta = base + step * direction, with the largest beta of a layer at 0, and its tilt."""
    for k in shared(1, n_layers(graph)):
        top = -math.inf
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            dual.beta[x] = vectors.base[x] + step * vectors.direction[x]
            top = max(top, dual.beta[x])
        dual.top[k] = top
    barrier()
    for x in shared(1, dual.beta.shape[0] - 1):
        dual.beta[x] -= dual.top[layer_of(graph, x)]
        dual.tilt[x] = math.exp(dual.beta[x])
    barrier()


@kernel
def newton_direction(
    graph: Graph,
    measure: Measure,
    solver: Solver,
    wide: bool | None,
    factored: bool,
    nearly: float,
) -> None:
    """-Hessian^{-1} gradient; blocks that are factored already are used as they are."""
    vectors = solver.vectors
    blocks = solver.blocks
    if wide is None:
        if not factored:
            if MAY_SHARE and n_threads() > 1:
                assemble_together(graph, measure, solver.dual, blocks)
            else:
                assemble_alone(graph, measure, solver.dual, blocks)
        solve_blocks(graph, vectors.gradient, blocks, vectors.direction, factored)
    else:
        solver.report[PRODUCTS] += conjugate_direction(
            graph, measure, solver.dual, vectors, nearly, 500
        )


@kernel
def project(
    graph: Graph,
    measure: Measure,
    rows: TransitionSet,
    solver: Solver,
    wide: bool | None,
    in_logs: bool | None,
) -> bool:
    """Project ``measure`` onto the set in place; False (and nothing changed) if not certified.

    ``wide`` (conjugate gradients) and ``in_logs`` (the safe path: slower, nothing overflows) are
    True or None, see ``evaluate``.
    """
    for i in range(solver.report.shape[0]):
        solver.report[i] = 0
    max_iterations = 60
    if in_logs is not None:
        solver.report[SAFE] = 1
        max_iterations = 2000
    dual = solver.dual
    vectors = solver.vectors
    report = solver.report
    for x in shared(0, dual.beta.shape[0]):
        dual.beta[x] = 0.0
        dual.tilt[x] = 1.0
        vectors.base[x] = 0.0
        vectors.direction[x] = 0.0
    barrier()
    if in_logs is None:
        fill_pool(graph, measure, rows, dual)
    value = math.inf  # of G at the base point, whose flow residual is in figures
    solver.figures[RESIDUAL] = math.inf
    slope = 0.0
    step = 1.0
    scaled = False
    trust_newton = True
    polish = False
    before = math.inf  # the relative imbalance at the last base point
    tolerance = FLOORED_TOLERANCE if rows.least > 0.0 else FLOW_TOLERANCE
    nearly = NEARLY * tolerance
    factored_at = 0.0  # the flow residual where the blocks were factored
    while report[EVALUATIONS] < 20 * max_iterations and report[ITERATIONS] < max_iterations:
        # one trial: an evaluation at  base + step * direction  (the first one is at zero)
        move(graph, dual, vectors, step)
        trial = evaluate(graph, measure, rows, dual, report[EVALUATIONS] == 0, in_logs)
        report[EVALUATIONS] += 1
        absolute, relative, ratio = measure_imbalance(dual, vectors.gradient)
        # Near the optimum the decrease drowns in the rounding of G: there the flow decides.
        size = abs(trial) + n_layers(graph)
        decreased = trial <= value + 1e-4 * step * slope + ROUNDING * size
        better = trial <= value + 1e-9 * size and absolute < 0.5 * solver.figures[RESIDUAL]
        if not decreased and not better:
            step *= 0.5
            if value == math.inf or step < 1e-6:
                if value == math.inf or scaled or step == 0.0:
                    return False  # not even scaling helps, or the start cannot be evaluated
                trust_newton = False
                step = 0.0  # evaluate the base point again, then scale
            continue
        value = trial
        solver.figures[RESIDUAL] = absolute
        solver.figures[VALUE] = value
        if absolute <= tolerance and relative <= RELATIVE_TOLERANCE:
            solver.figures[GAP] = commit(graph, measure, rows, dual)
            return True
        report[ITERATIONS] += 1
        # A linear system is solved to an absolute accuracy.  Where states with next to no flow need
        # a relative one that it does not reach, scaling balances them one by one.
        polish = absolute <= tolerance and (polish or relative > 0.5 * before)
        before = relative
        scaled = ratio > FAR or not trust_newton or polish
        trust_newton = True
        if scaled:
            scaling_direction(dual, vectors.direction)
            factored_at = 0.0
        else:
            # A step that took the residual from f to a moved the Hessian by about a / f of itself:
            # with the blocks of before, the next one leaves a^2 / f.
            again = absolute * absolute <= nearly * factored_at
            if report[EVALUATIONS] == 1 and in_logs is None:
                foresee_bounds(graph, measure, rows, dual, vectors)
            newton_direction(graph, measure, solver, wide, again, nearly)
            factored_at = 0.0 if again else absolute
        longest = 0.0
        for x in shared(0, dual.beta.shape[0]):
            vectors.base[x] = dual.beta[x]
            dual.term[x] = vectors.gradient[x] * vectors.direction[x]
            longest = max(longest, abs(vectors.direction[x]))
        barrier()
        longest = reduce_max(longest)
        slope = 0.0
        for x in range(dual.beta.shape[0]):
            slope += dual.term[x]
        step = min(1.0, (MAX_SCALING if scaled else MAX_NEWTON) / max(longest, 1e-300))
    return False
