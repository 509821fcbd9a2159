"""Occupancy measures of a fixed transition, whose rows may sum to less than one.

What is missing from a row ends the episode.  States that nothing leads to take no part: their
policy is uniform, which is what it tends to as their mass tends to zero.
"""

from __future__ import annotations

from typing import NamedTuple

from ..model.graph import Floats, Graph, layer_begin, layer_end, n_layers, row_add
from ..model.row_status import Marks
from ..runtime.storage import Lasting
from ..runtime.targets import kernel

LEAST_MASS = 1e-100  # of a state under the uniform policy: below, it takes no part


class FixedMeasure(NamedTuple):
    """q(x, a, x') = mass(x) policy(a | x) chance(x' | x, a); layers may have masses below one."""

    chance: Lasting[Floats]  # (E,) the fixed transition
    policy: Lasting[Floats]  # (R,) pi(a | x)
    mass: Lasting[Floats]  # (S,) q(x)
    reached: Lasting[Marks]  # (S,) 1 for the states that take part


@kernel
def find_reached(graph: Graph, measure: FixedMeasure, mass: Floats) -> None:
    """Fill ``mass`` with that of the uniform policy, and mark the states that it reaches."""
    share = 1.0 / graph.n_actions
    mass[0] = 1.0
    for x in range(1, mass.shape[0]):
        mass[x] = 0.0
    for k in range(n_layers(graph)):
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            measure.reached[x] = 1 if mass[x] > LEAST_MASS else 0
            if mass[x] > LEAST_MASS:
                for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                    row_add(graph, r, measure.chance, share * mass[x], mass)
    measure.reached[mass.shape[0] - 1] = 1
