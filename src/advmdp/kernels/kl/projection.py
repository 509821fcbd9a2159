"""The KL projection: Newton on the dual, certified, and committed only when it has converged.

Start at beta = 0 (the last iterate is nearly feasible: only the visited rows were re-weighted).
While some state's inflow and outflow differ by more than a factor of ten, scale all of them:
``beta(x) += ln(outflow / inflow) / 2``, half of which is guaranteed to decrease G for any convex
row set (the bound e^{b-a} <= (e^{2b} + e^{-2a}) / 2 applied to Z_k).  Otherwise take Newton steps,
and scale again at the end if all that is left are states with next to no flow.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..linear.block_system import Blocks, FullCouplings, Strips
from ..model.graph import (
    Graph,
    layer_begin,
    layer_end,
    layer_of,
    n_layers,
)
from ..model.measure import Measure
from ..runtime.storage import Choice
from ..runtime.targets import FOR_CUDA, kernel, leaf
from ..runtime.threads import barrier, shared
from ..sets.interface import known_matrices
from ..steps.interface import (
    EVALUATIONS,
    GAP,
    ITERATIONS,
    RESIDUAL,
    SAFE,
    VALUE,
    Certificate,
)
from . import listed_packs as listed_packs  # registers itself, as does the next one
from .commit import commit
from .disturbance import Disturbance, flows_after_path, forget_disturbance, is_known
from .dual import Dual
from .evaluation import evaluate
from .imbalance import begin_line_search, measure_imbalance
from .known.passes import NEAR, near_exponential, tilt_near
from .known.sweep import begin_known, divide_shares, evaluate_known, only_policy_moves
from .linear import sparse_blocks as sparse_blocks
from .linear.conjugate import Vectors
from .linear.directions import newton_step, scaling_direction
from .linear.kept_factor import KeptFactor, keep_factor
from .linear.kept_inverse import keep_inverse
from .merged.merged_rows import merge_rows
from .packs import begin_packs

# Of |inflow - outflow|, with layers summing to one.  What is committed conserves flow to rounding
# in any case: the residual r says how good the dual solution is, and the duality gap is about r^2.
# With a floor under the states it is about r, since these then miss the floor by that much.
FLOW_TOLERANCE = 1e-10
FLOORED_TOLERANCE = 1e-12
RELATIVE_TOLERANCE = 1e-7  # of the same, against the state's own flow
FAR = 10.0  # ratio of inflow and outflow beyond which a state is scaled, not Newton-stepped
VALUE_ROUNDING = 1e-15  # of G, relative
MAX_SCALING = 300.0  # longest steps in beta
MAX_NEWTON = 5.0
SHORTEST = 1e-6  # part of a step before it is given up
MOST_ITERATIONS, MOST_SAFE_ITERATIONS = 60, 2000


class Solver(NamedTuple):
    """Work space of one projection."""

    dual: Dual
    vectors: Vectors
    blocks: Blocks
    couplings: FullCouplings | Strips
    kept: KeptFactor
    disturbance: Disturbance
    certificate: Certificate
    wide: Choice[bool | None]  # True: conjugate gradients; None: blocks (the branch is dropped)


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
    least = 0.0
    for x in shared(1, dual.beta.shape[0] - 1):
        dual.beta[x] -= dual.top[layer_of(graph, x)]
        least = min(least, dual.beta[x])
    if not FOR_CUDA and least >= -NEAR:
        for x in range(1, dual.beta.shape[0] - 1):
            dual.tilt[x] = near_exponential(dual.beta[x])
    else:
        for x in shared(1, dual.beta.shape[0] - 1):
            dual.tilt[x] = math.exp(dual.beta[x])
    barrier()


@leaf
def move_known(graph: Graph, dual: Dual, vectors: Vectors, step: float) -> None:
    """The same; where tilts are near one no layer has to be shifted."""
    n = dual.beta.shape[0]
    largest = tilt_near(vectors.base, 0, vectors.direction, 0, dual.beta, 0, dual.tilt, 0, n, step)
    if not (largest <= NEAR):
        move(graph, dual, vectors, step)


@leaf
def begin_search(
    graph: Graph, measure: Measure, rows: Any, solver: Solver, in_logs: bool | None
) -> None:
    """Start at beta = 0, with the rows that are expected to be free merged."""
    dual = solver.dual
    vectors = solver.vectors
    for i in range(solver.certificate.counts.shape[0]):
        solver.certificate.counts[i] = 0
    if in_logs is not None:
        solver.certificate.counts[SAFE] = 1
    for x in shared(0, dual.beta.shape[0]):
        dual.beta[x] = 0.0
        dual.tilt[x] = 1.0
        vectors.base[x] = 0.0
        vectors.direction[x] = 0.0
    barrier()
    if in_logs is None and only_policy_moves(rows):
        begin_known(graph, dual)
    elif in_logs is None:
        merge_rows(graph, measure, rows, dual)
    begin_packs(graph, measure, rows, dual, in_logs)
    solver.certificate.figures[RESIDUAL] = math.inf


@leaf
def evaluate_trial(
    graph: Graph,
    measure: Measure,
    rows: Any,
    solver: Solver,
    step: float,
    at_zero: bool,
    in_logs: bool | None,
) -> float:
    """G and the flows at  base + step * direction."""
    counts = solver.certificate.counts
    if in_logs is None and only_policy_moves(rows):
        move_known(graph, solver.dual, solver.vectors, step)
        matrices = known_matrices(measure.chance, rows)
        trial = evaluate_known(graph, measure, matrices, solver.dual)
    else:
        move(graph, solver.dual, solver.vectors, step)
        trial = evaluate(graph, measure, rows, solver.dual, at_zero, in_logs)
    counts[EVALUATIONS] += 1
    return trial


@leaf
def is_accepted(
    graph: Graph,
    trial: float,
    value: float,
    step: float,
    slope: float,
    absolute: float,
    residual: float,
) -> bool:
    """Whether a trial improves on the base point: Armijo's rule, up to rounding.

    Near the optimum the decrease drowns in the rounding of G: there the flow decides.
    """
    size = abs(trial) + n_layers(graph)
    decreased = trial <= value + 1e-4 * step * slope + VALUE_ROUNDING * size
    better = trial <= value + 1e-9 * size and absolute < 0.5 * residual
    return decreased or better


@leaf
def keep(graph: Graph, rows: Any, solver: Solver) -> None:
    """Keep the factors for the coming projections, where there is room for them."""
    if only_policy_moves(rows) and solver.kept.entries.shape[0] > 0:
        keep_inverse(graph, solver.blocks, solver.kept)
    else:
        keep_factor(solver.blocks, solver.kept)


@leaf
def commit_solution(
    graph: Graph, measure: Measure, rows: Any, solver: Solver, factored: bool, in_logs: bool | None
) -> None:
    """Write the solution, with its gap, and keep what helps the next projection."""
    if in_logs is None and only_policy_moves(rows):
        divide_shares(graph, solver.dual)
    solver.certificate.figures[GAP] = commit(graph, measure, rows, solver.dual)
    if factored and not FOR_CUDA and in_logs is None:
        keep(graph, rows, solver)


@leaf
def find_direction(
    graph: Graph,
    measure: Measure,
    rows: Any,
    solver: Solver,
    scaled: bool,
    before: tuple[float, float, float],
    tolerance: float,
    in_logs: bool | None,
) -> tuple[float, bool]:
    """The direction of the next step; returns what ``newton_step`` does, 0 where none is taken.

    ``before`` holds the flow residual, that of the last base point, and that of the factors.
    """
    if scaled:
        scaling_direction(solver.dual, solver.vectors.direction)
        return 0.0, False
    residual, last, factored_at = before
    return newton_step(
        graph, measure, rows, solver, residual, last, factored_at, tolerance, in_logs
    )


@kernel
def project(
    graph: Graph, measure: Measure, rows: Any, solver: Solver, in_logs: bool | None
) -> bool:
    """Project ``measure`` onto the set in place; False (and nothing changed) if not certified.

    ``in_logs`` (the safe path: slower, nothing overflows) is True or None, see ``evaluate``.
    """
    begin_search(graph, measure, rows, solver, in_logs)
    counts = solver.certificate.counts
    figures = solver.certificate.figures
    most = MOST_ITERATIONS if in_logs is None else MOST_SAFE_ITERATIONS
    tolerance = FLOORED_TOLERANCE if rows.least_occupancy > 0.0 else FLOW_TOLERANCE
    value = math.inf  # of G at the base point, whose flow residual is in figures
    slope = 0.0
    step = 1.0
    scaled = False
    trust_newton = True
    polish = False
    before = math.inf  # the relative imbalance at the last base point
    factored_at = 0.0  # the flow residual where the blocks were factored
    factored = False  # whether any were
    recalled = False  # whether the direction comes from the factors of the last projection
    foretold = False  # whether ``value`` is that of ``flows_after_path``
    known = in_logs is None and is_known(rows, solver.disturbance, solver.kept)
    forget_disturbance(solver.disturbance)
    while counts[EVALUATIONS] < 20 * most and counts[ITERATIONS] < most:
        at_zero = value == math.inf
        if known:
            trial = flows_after_path(graph, measure, solver.disturbance, solver.dual)
        else:
            trial = evaluate_trial(graph, measure, rows, solver, step, at_zero, in_logs)
        absolute, relative, ratio = measure_imbalance(solver.dual, solver.vectors.gradient)
        converged = absolute <= tolerance and relative <= RELATIVE_TOLERANCE
        if known and (converged or not abs(trial) < math.inf):
            known = False  # an evaluation decides
            continue
        if not is_accepted(graph, trial, value, step, slope, absolute, figures[RESIDUAL]):
            step *= 0.5
            if recalled:
                recalled = False
                step = 0.0  # evaluate the base point again, then factor its blocks
                value = math.inf if foretold else value  # which no evaluation has to the last place
            elif value == math.inf or step < SHORTEST:
                if value == math.inf or scaled or step == 0.0:
                    return False  # not even scaling helps, or the start cannot be evaluated
                trust_newton = False
                step = 0.0  # evaluate the base point again, then scale
            continue
        value = trial
        foretold, known = known, False
        last = figures[RESIDUAL]
        figures[RESIDUAL] = absolute
        figures[VALUE] = value
        if converged:
            commit_solution(graph, measure, rows, solver, factored, in_logs)
            return True
        counts[ITERATIONS] += 1
        # A linear system is solved to an absolute accuracy.  Where states with next to no flow need
        # a relative one that it does not reach, scaling balances them one by one.
        polish = absolute <= tolerance and (polish or relative > 0.5 * before)
        before = relative
        scaled = ratio > FAR or not trust_newton or polish
        trust_newton = True
        factored_at, recalled = find_direction(
            graph, measure, rows, solver, scaled, (absolute, last, factored_at), tolerance, in_logs
        )
        factored = factored or factored_at > 0.0
        longest = MAX_SCALING if scaled else MAX_NEWTON
        slope, step = begin_line_search(solver.dual, solver.vectors, longest)
    return False
