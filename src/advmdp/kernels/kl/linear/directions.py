"""Where the dual moves next: a Newton direction, or a scaling of states that are far off."""

from __future__ import annotations

import math
from typing import Any

from ...linear.block_solve import solve_blocks
from ...model.graph import Floats, Graph, layer_begin, layer_of
from ...model.measure import Measure
from ...runtime.targets import kernel, leaf
from ...steps.interface import ITERATIONS, PRODUCTS
from ..active_set import guess_active_set
from ..dual import Dual
from ..imbalance import NEGLIGIBLE
from ..known.sweep import only_policy_moves
from .block_directions import block_direction
from .blocks import assemble_alone, line_of
from .conjugate import conjugate_direction
from .floored_blocks import soften_floors
from .kept_factor import has_factor, recall_factor
from .kept_inverse import keeps_converging, solve_kept

NEARLY = 0.3  # of the tolerance: what a linear system may leave
STIFF = 1e30  # curvature of a state that is to stay where it is


@kernel
def scaling_direction(dual: Dual, direction: Floats) -> None:
    """Half of ln(outflow / inflow) for every state.

    The outflow falls like e^-beta; the inflow grows like e^beta where rows are free and not at all
    where they are clipped.  Half the way at least halves the imbalance in both cases.
    """
    for x in range(direction.shape[0]):
        direction[x] = 0.0
    for x in range(1, direction.shape[0] - 1):
        low = max(dual.flows.inflow[x], 1e-300)
        high = max(dual.flows.outflow[x], 1e-300)
        if max(low, high) > NEGLIGIBLE:
            direction[x] = 0.5 * math.log(high / low)


@leaf
def newton_direction(
    graph: Graph,
    measure: Measure,
    rows: Any,
    solver: Any,
    wide: bool | None,
    factored: bool,
    nearly: float,
) -> None:
    """-Hessian^{-1} gradient; blocks that are factored already are used as they are."""
    if wide is None:
        block_direction(solver.couplings, graph, measure, rows, solver, factored)
    else:
        solver.certificate.counts[PRODUCTS] += conjugate_direction(
            graph, measure, solver.dual, solver.vectors, nearly, math.inf, 500, 0.0, None
        )


@kernel
def careful_direction(
    graph: Graph, measure: Measure, solver: Any, wide: bool | None, largest: float, ridge: float
) -> float:
    """The Newton direction of the states with at most ``largest`` flow; returns its longest entry.

    The other states stay.  ``ridge`` times the flow of every state is added to the Hessian, which
    is exact where floors hold states up.

    Next to a state with flow one the gradient of a state with flow 1e-20 is rounding, and no linear
    system that holds both says anything about the second.  Among its like it is as good as any.
    """
    vectors = solver.vectors
    dual = solver.dual
    if wide is None:
        blocks = solver.blocks
        assemble_alone(graph, measure, dual, blocks)
        soften_floors(graph, measure, dual, vectors, blocks)
        for x in range(1, dual.beta.shape[0] - 1):
            k = layer_of(graph, x)
            flow = dual.flows.inflow[x] + dual.flows.outflow[x]
            pivot = line_of(graph, x, k, blocks) + x - layer_begin(graph, k)
            blocks.entries[pivot] += ridge * flow if flow <= largest else STIFF
        solve_blocks(graph, vectors.gradient, blocks, vectors.direction, False)
    else:
        solver.certificate.counts[PRODUCTS] += conjugate_direction(
            graph, measure, dual, vectors, 0.0, largest, 500, ridge, True
        )
    longest = 0.0
    for x in range(vectors.direction.shape[0]):
        longest = max(longest, abs(vectors.direction[x]))
    return longest


@leaf
def newton_step(
    graph: Graph,
    measure: Measure,
    rows: Any,
    solver: Any,
    absolute: float,
    before: float,
    factored_at: float,
    tolerance: float,
    in_logs: bool | None,
) -> tuple[float, bool]:
    """The Newton direction at flow residual ``absolute``; returns where the blocks were factored.

    A step that took the residual from f to a moved the Hessian by about a / f of itself: with the
    blocks of before, the next one leaves a^2 / f.  The first step of a projection takes the factors
    that were kept, if there are any, and over a known transition so do the following ones while
    they get from ``before`` to ``absolute`` fast enough; whether it does is the second result.
    """
    nearly = NEARLY * tolerance
    again = absolute * absolute <= nearly * factored_at
    recalled = False
    done = solver.certificate.counts[ITERATIONS] - 1
    if only_policy_moves(rows) and in_logs is None:
        recalled = factored_at == 0.0 and has_factor(solver.kept)
        recalled = recalled and (done == 0 or keeps_converging(done, absolute, before, tolerance))
        if recalled:
            solve_kept(
                graph, solver.vectors.gradient, solver.kept, solver.blocks, solver.vectors.direction
            )
            return 0.0, True
    elif done == 0 and in_logs is None:
        recalled = recall_factor(solver.kept, solver.blocks)
        if not recalled:
            guess_active_set(graph, measure, rows, solver.dual, solver.vectors)
    newton_direction(graph, measure, rows, solver, solver.wide, again or recalled, nearly)
    return 0.0 if again or recalled else absolute, recalled
