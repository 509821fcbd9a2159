"""A start for the search: what the losses of one path do to the states on it.

The estimated loss of a rare pair is large, and a Newton step from far away is a poor one.  But what
it does to its own state is a problem in one number: v(x) such that the pairs of x keep their mass.
Solved for the states of the path, last layer first, what is left for Newton's method is how the
flow between states changes, which is nearly linear.
"""

from __future__ import annotations

import math

from ..model.graph import Graph, layer_begin, layer_end, position_of, row_begin
from ..model.visits import Counts
from ..runtime.targets import leaf
from .dual import FixedDual
from .fixed_measure import FixedMeasure
from .regulariser import Regulariser, is_in_domain, minimise_pair

MOST_TRIALS = 8
CLOSE = 1e-3  # to the mass, relative: the search does the rest


@leaf
def local_potential(
    graph: Graph, x: int, mass: float, regulariser: Regulariser, dual: FixedDual
) -> float:
    """v(x) for which the minimisers of the pairs of x sum to ``mass``; zero if it is not found.

    Newton's method on one over the root of the sum, which is nearly linear in v(x).
    """
    wanted = 1.0 / math.sqrt(mass)
    potential = 0.0
    for _ in range(MOST_TRIALS):
        total = 0.0
        bend = 0.0
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            z = dual.reduced[r] - potential
            if not is_in_domain(regulariser, z):
                return 0.0
            m, curved, _ = minimise_pair(regulariser, r, z)
            total += m
            bend += curved
        if abs(total - mass) <= CLOSE * mass:
            return potential
        potential += 2.0 * (1.0 / math.sqrt(total) - wanted) * total * math.sqrt(total) / bend
    return 0.0


@leaf
def settle_path(
    graph: Graph,
    path: Counts,
    measure: FixedMeasure,
    regulariser: Regulariser,
    dual: FixedDual,
) -> float:
    """Shift the costs in ``reduced`` by these potentials; returns v(x_0)."""
    potential = 0.0
    for back in range(path.shape[0]):
        k = path.shape[0] - 1 - back
        x = path[k] // graph.n_actions
        if measure.reached[x] == 0 or not (measure.mass[x] > 0.0):
            potential = 0.0
            continue
        potential = local_potential(graph, x, measure.mass[x], regulariser, dual)
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            dual.reduced[r] -= potential
        if k > 0 and potential != 0.0:
            first = layer_begin(graph, k - 1) * graph.n_actions
            for r in range(first, layer_end(graph, k - 1) * graph.n_actions):
                j = position_of(graph, r, x)
                if j >= 0:
                    dual.reduced[r] += potential * measure.chance[row_begin(graph, r) + j]
    return potential
