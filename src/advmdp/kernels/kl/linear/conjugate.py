"""Newton directions for wide layers and sparse supports: preconditioned conjugate gradients.

Nothing is formed: each step costs one pass over the entries (``curvature.curvature_times``).
The preconditioner is the flow through each state, the diagonal of the Hessian up to the squares.
Moving a whole layer's beta (the gauge) is in the Hessian's null space.  The gradient has no part
in it but for rounding, and that part is taken out first, or the iteration would follow it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ...lanes.passes import inner
from ...model.graph import Floats, Graph, layer_begin, layer_end, n_layers
from ...model.measure import Measure
from ...runtime.storage import Scratch
from ...runtime.targets import kernel
from ..dual import Dual
from .curvature import curvature_times

EMPTY = 1e-290  # a state with less flow than this takes no part


class Vectors(NamedTuple):
    """State vectors of the solvers."""

    gradient: Scratch[Floats]
    direction: Scratch[Floats]
    base: Scratch[Floats]  # beta before the line search
    residual: Scratch[Floats]
    search: Scratch[Floats]
    product: Scratch[Floats]
    preconditioner: Scratch[Floats]  # one over the flow through each state
    tilted: Scratch[Floats]
    sums: Scratch[Floats]
    settled: Scratch[Floats]  # of the continuation: beta at the last power of the weights,
    trend: Scratch[Floats]  # and how it changes with the power


@kernel
def preconditioned_norm(preconditioner: Floats, residual: Floats) -> float:
    """residual^T D^{-1} residual."""
    total = 0.0
    for x in range(residual.shape[0]):
        total += residual[x] * (preconditioner[x] * residual[x])
    return total


@kernel
def remove_gauge(graph: Graph, dual: Dual, residual: Floats) -> None:
    """Make the residual of every layer sum to zero."""
    for k in range(1, n_layers(graph)):
        total = 0.0
        flow = 0.0
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            total += residual[x]
            flow += dual.flows.inflow[x] + dual.flows.outflow[x]
        share = total / flow
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            residual[x] -= share * (dual.flows.inflow[x] + dual.flows.outflow[x])


@kernel
def conjugate_direction(
    graph: Graph,
    measure: Measure,
    dual: Dual,
    vectors: Vectors,
    floor: float,
    largest: float,
    max_steps: int,
    ridge: float,
    exact: bool | None,
) -> int:
    """direction = -Hessian^{-1} gradient, nearly; returns the steps taken.

    States with more flow than ``largest`` stay where they are.  With ``exact``, which is of
    ``curvature_times``, the Hessian gets ``ridge`` times the flow of every state added.

    A Newton step leaves an error of the order of its own square, so the linear system is solved
    to ``size * min(4 size, 0.1)`` and no further (where rows meet their bounds the step leaves more
    than that anyway), and never below ``floor`` in every state's flow.
    """
    n = vectors.gradient.shape[0]
    for x in range(n):
        vectors.direction[x] = 0.0
        vectors.residual[x] = -vectors.gradient[x]
    remove_gauge(graph, dual, vectors.residual)
    widest = EMPTY
    for x in range(n):
        flow = dual.flows.inflow[x] + dual.flows.outflow[x]
        takes_part = EMPTY < flow <= largest
        if 0 < x < n - 1 and takes_part:
            widest = max(widest, flow)
        vectors.preconditioner[x] = 1.0 / flow if takes_part else 0.0
        vectors.search[x] = vectors.preconditioner[x] * vectors.residual[x]
    square = preconditioned_norm(vectors.preconditioner, vectors.residual)
    size = square if largest == math.inf else square / widest
    target = max(square * min(16.0 * size, 0.01), floor * floor / widest)
    for step in range(max_steps):
        if not (square > target):
            return step
        curvature_times(
            graph,
            measure,
            dual,
            vectors.search,
            vectors.product,
            vectors.tilted,
            vectors.sums,
            exact,
        )
        if exact is not None:
            for x in range(n):
                if vectors.preconditioner[x] > 0.0:
                    vectors.product[x] += ridge * vectors.search[x] / vectors.preconditioner[x]
        curvature = inner(vectors.search, 0, vectors.product, 0, n)
        if not (curvature > 0.0):
            return step
        length = square / curvature
        for x in range(n):
            vectors.direction[x] += length * vectors.search[x]
            vectors.residual[x] -= length * vectors.product[x]
        before = square
        # the first and the last layer carry no variable
        vectors.residual[0] = 0.0
        vectors.residual[n - 1] = 0.0
        square = preconditioned_norm(vectors.preconditioner, vectors.residual)
        keep = square / before
        for x in range(n):
            again = vectors.preconditioner[x] * vectors.residual[x]
            vectors.search[x] = again + keep * vectors.search[x]
    return max_steps
