"""The active set, guessed before the first Newton step.

A projection starts at beta = 0, where most rows lie in their sets: entries on a bound are there
because the last step held them, and whether this one will depends on where beta goes.  One Jacobi
step, -gradient / flow of every state, tells that well enough.  Only the first Newton direction
depends on the guess: a wrong one costs an evaluation, a right one saves it.
"""

from __future__ import annotations

from typing import Any

from ..model.graph import Graph
from ..model.measure import Measure
from ..runtime.targets import kernel
from ..runtime.threads import barrier, shared
from ..sets.interface import guess_active_bounds
from .dual import Dual
from .linear.conjugate import EMPTY, Vectors
from .packs import guess_packs, slot_of
from .row_oracle import rests


@kernel
def guess_active_set(
    graph: Graph, measure: Measure, rows: Any, dual: Dual, vectors: Vectors
) -> None:
    """At beta = 0 it is open which bounds will hold: guess from the flows where beta will go."""
    n = dual.beta.shape[0]
    for x in shared(0, n):
        flow = dual.flows.inflow[x] + dual.flows.outflow[x]
        inner = 0 < x < n - 1 and flow > EMPTY
        vectors.sums[x] = -vectors.gradient[x] / flow if inner else 0.0
    barrier()
    guess_packs(graph, rows, dual, vectors.sums)
    for r in shared(0, dual.held.holding.shape[0]):
        if rests(r, rows, dual) and slot_of(dual, r) < 0:
            guess_active_bounds(graph, r, measure.chance, rows, dual.held, vectors.sums)
    barrier()
