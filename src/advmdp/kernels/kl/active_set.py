"""Which bounds are about to hold, guessed before the first Newton step.

A projection starts at beta = 0, where most rows lie in their sets: entries on a bound are there
because the last step held them, and whether this one will depends on where beta goes.  One Jacobi
step, -gradient / flow of every state, tells that well enough.  Only the first Newton direction
depends on the guess: a wrong one costs an evaluation, a right one saves it.
"""

from __future__ import annotations

from ..model.graph import Floats, Graph, row_begin, row_dot, row_size, successor_of
from ..runtime.targets import kernel, leaf
from ..runtime.threads import barrier, shared
from ..sets.rows import TransitionSet
from .dual import Dual, Measure
from .linear.conjugate import EMPTY, Vectors
from .row_oracle import rests


@leaf
def foresee_row(
    graph: Graph, r: int, measure: Measure, rows: TransitionSet, dual: Dual, push: Floats
) -> None:
    """Mark the entries of a resting row that lie on a bound and are about to be pushed beyond."""
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    mean = row_dot(graph, r, measure.chance, push)
    free = 0.0
    for j in range(size):
        p = dual.work[begin + j]
        way = push[successor_of(graph, r, j)] - mean
        held = (p >= rows.upper[begin + j] and way > 0.0) or (
            p <= rows.lower[begin + j] and way < 0.0
        )
        dual.group[begin + j] = 0 if held else 1
        free += 0.0 if held else p
    dual.group_mass[2 * r] = free


@kernel
def foresee_bounds(
    graph: Graph, measure: Measure, rows: TransitionSet, dual: Dual, vectors: Vectors
) -> None:
    """At beta = 0 it is open which bounds will hold: guess from the flows where beta will go."""
    n = dual.beta.shape[0]
    for x in shared(0, n):
        flow = dual.inflow[x] + dual.outflow[x]
        inner = 0 < x < n - 1 and flow > EMPTY
        vectors.sums[x] = -vectors.gradient[x] / flow if inner else 0.0
    barrier()
    for r in shared(0, dual.holding.shape[0]):
        if rests(r, rows, dual):
            foresee_row(graph, r, measure, rows, dual, vectors.sums)
    barrier()
