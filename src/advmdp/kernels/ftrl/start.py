"""Where the search starts: potentials at which every state has a mass that is about right.

The estimated loss of a rare pair is large, and a Newton step from far away is a poor one.  But what
it does to its own state is a problem in one number: v(x) such that the pairs of x have a given
mass.  Solved last layer first with the masses of the last solution (``settle_states``), it leaves
masses that do not belong to the policy it finds.  Those that do, from a pass forward, correct it to
first order (``follow_flow``).  Together they cost about a third of a Newton step and save one or
two.
"""

from __future__ import annotations

import math

from ..model.flow import forward
from ..model.graph import Floats, Graph, layer_begin, layer_end, n_layers, row_dot
from ..runtime.targets import kernel, leaf
from .dual import FixedDual
from .fixed_measure import LEAST_MASS, FixedMeasure, find_reached
from .regulariser import ENTROPY, Regulariser, is_in_domain, marginal, minimiser

MOST_TRIALS = 8
CLOSE = 0.03  # to the mass, relative: the last step leaves about its square


@leaf
def is_feasible(
    graph: Graph, measure: FixedMeasure, regulariser: Regulariser, dual: FixedDual
) -> bool:
    """Whether the search may start at v = 0."""
    for r in range(dual.reduced.shape[0]):
        if not is_in_domain(regulariser, dual.reduced[r]) and measure.reached[r // graph.n_actions]:
            return False
    return True


@kernel
def shift_costs(graph: Graph, measure: FixedMeasure, dual: FixedDual) -> float:
    """Shift the costs in ``reduced`` by the potential whose least cost in x is ``room[x]``.

    Last layer first:  v(x) = min over a of (C + <P, v>) - room(x).  Returns v(x_0).
    """
    dual.value[dual.value.shape[0] - 1] = 0.0
    for back in range(n_layers(graph)):
        k = n_layers(graph) - 1 - back
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            dual.value[x] = 0.0
            if measure.reached[x] == 0:
                continue
            least = math.inf
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                dual.reduced[r] += row_dot(graph, r, measure.chance, dual.value)
                least = min(least, dual.reduced[r])
            dual.value[x] = least - dual.room[x]
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                dual.reduced[r] -= dual.value[x]
    return dual.value[0]


@leaf
def highest_potential(
    graph: Graph, x: int, mass: float, regulariser: Regulariser, dual: FixedDual
) -> float:
    """Where no pair of x has more than ``mass`` and one has as much: the solution is below."""
    highest = math.inf
    for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
        highest = min(highest, dual.reduced[r] - marginal(regulariser, r, mass))
    return highest


@leaf
def local_potential(
    graph: Graph, x: int, mass: float, start: float, regulariser: Regulariser, dual: FixedDual
) -> float:
    """v(x) for which the minimisers of the pairs of x sum to ``mass``, from a guess.

    Newton's method on one over the root of the sum, which is nearly linear in v(x), and concave:
    from ``highest_potential``, where it begins anew if it leaves the domain, it cannot leave again.
    For the entropy it is on the logarithm, which is linear.  Fills the minimisers.
    """
    potential = start
    for _ in range(MOST_TRIALS):
        total = 0.0
        bend = 0.0
        inside = True
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            z = dual.reduced[r] - potential
            inside = inside and is_in_domain(regulariser, z)
            m, curved = minimiser(regulariser, r, z)
            dual.mass[r] = m
            dual.bend[r] = curved
            total += m
            bend += curved
        if not inside:
            potential = highest_potential(graph, x, mass, regulariser, dual)
            continue
        if regulariser.kind == ENTROPY:
            step = regulariser.weight * math.log(mass / total)
        else:
            step = 2.0 * (total / bend) * (1.0 - math.sqrt(total / mass))
        potential += step
        if abs(total - mass) <= CLOSE * mass:
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                dual.mass[r] += step * dual.bend[r]
            break
    return potential


@kernel
def settle_states(
    graph: Graph, measure: FixedMeasure, mass: Floats, regulariser: Regulariser, dual: FixedDual
) -> float:
    """Shift the costs in ``reduced`` so that every state has its ``mass``; returns v(x_0).

    The least reduced cost of a state is guessed to be its ``room``.
    """
    dual.value[dual.value.shape[0] - 1] = 0.0
    for back in range(n_layers(graph)):
        k = n_layers(graph) - 1 - back
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            dual.value[x] = 0.0
            if measure.reached[x] == 0:
                continue
            least = math.inf
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                dual.reduced[r] += row_dot(graph, r, measure.chance, dual.value)
                least = min(least, dual.reduced[r])
            start = least - dual.room[x]
            wanted = max(mass[x], LEAST_MASS)
            dual.value[x] = local_potential(graph, x, wanted, start, regulariser, dual)
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                dual.reduced[r] -= dual.value[x]
    return dual.value[0]


@kernel
def flow_of_minimisers(graph: Graph, measure: FixedMeasure, dual: FixedDual) -> None:
    """The masses of the policy of the minimisers, in ``inflow``."""
    for x in range(dual.value.shape[0] - 1):
        total = 0.0
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            total += dual.mass[r]
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            taking_part = measure.reached[x] != 0
            dual.slope[r] = dual.mass[r] / total if taking_part else 1.0 / graph.n_actions
    forward(graph, measure.chance, dual.slope, dual.inflow)


@kernel
def follow_flow(graph: Graph, measure: FixedMeasure, dual: FixedDual) -> float:
    """Shift them further, to first order, for the masses of the minimisers' policy."""
    flow_of_minimisers(graph, measure, dual)
    n = dual.value.shape[0] - 1
    dual.value[n] = 0.0
    for back in range(n_layers(graph)):
        k = n_layers(graph) - 1 - back
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            dual.value[x] = 0.0
            if measure.reached[x] == 0:
                continue
            total = 0.0
            bend = 0.0
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                change = row_dot(graph, r, measure.chance, dual.value)
                dual.reduced[r] += change
                dual.mass[r] -= dual.bend[r] * change
                total += dual.mass[r]
                bend += dual.bend[r]
            dual.value[x] = (dual.inflow[x] - total) / bend
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                dual.reduced[r] -= dual.value[x]
                dual.mass[r] += dual.bend[r] * dual.value[x]
    return dual.value[0]


@leaf
def start_near(
    graph: Graph, measure: FixedMeasure, mass: Floats, regulariser: Regulariser, dual: FixedDual
) -> float:
    """Shift the costs to a start inside the domain, for states with about these masses and room.

    Returns v(x_0).
    """
    root_value = settle_states(graph, measure, mass, regulariser, dual)
    root_value += follow_flow(graph, measure, dual)
    if not is_feasible(graph, measure, regulariser, dual):
        root_value += shift_costs(graph, measure, dual)
    return root_value


@kernel
def start_cold(
    graph: Graph,
    measure: FixedMeasure,
    regulariser: Regulariser,
    dual: FixedDual,
    in_logs: bool | None,
) -> float:
    """A start near the uniform policy, for a problem of which nothing is known; returns v(x_0).

    The room of a state is that at which the masses of the uniform policy are minimisers.  The safe
    path takes it as it is, and so does a log barrier alone, under which masses follow policies too
    closely for the rest to help: settled with the masses of the uniform policy, and again with
    those half way to what that policy has, in logarithms, since all the way overshoots.
    """
    find_reached(graph, measure, dual.outflow)
    for x in range(dual.room.shape[0] - 1):
        if measure.reached[x] != 0:
            share = dual.outflow[x] / graph.n_actions
            room = 0.0
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                room = max(room, marginal(regulariser, r, share))
            dual.room[x] = room
    if in_logs is not None or (regulariser.kind != ENTROPY and regulariser.weight == 0.0):
        return shift_costs(graph, measure, dual)
    root_value = settle_states(graph, measure, dual.outflow, regulariser, dual)
    flow_of_minimisers(graph, measure, dual)
    for x in range(dual.outflow.shape[0]):
        dual.outflow[x] = math.sqrt(dual.outflow[x] * dual.inflow[x])
    root_value += settle_states(graph, measure, dual.outflow, regulariser, dual)
    if not is_feasible(graph, measure, regulariser, dual):
        root_value += shift_costs(graph, measure, dual)
    return root_value
