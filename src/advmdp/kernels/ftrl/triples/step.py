"""The mirror-descent step of the log barrier on triples, with rates that grow.

    q_{t+1} = argmin over the set of  <q, l^_t> + sum of b_t(x, a) d(q(x, a, x') / q_t(x, a, x')),
              d(f) = f - 1 - ln f,   b_t = 1 / eta_t

which is the minimum of  <q, C> - sum b ln q  with  C = l^_t + b / q_t: a search from v = 0 starts
at q_t.  Before the step, with u_t the upper occupancy bounds of the episode,

    where 1 / u_t(x, a) >= rho(x, a):   rho = ahead / u_t(x, a),   eta(x, a) = growth * eta(x, a)
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...model.graph import Floats, Graph, row_begin, row_size
from ...model.visits import Counts
from ...planning.linear_maximum import Reach
from ...planning.upper_occupancy import upper_occupancies
from ...runtime.storage import Lasting, Number, Scratch
from ...runtime.targets import kernel, leaf
from ...sets.box.rows import BoxRows
from ...steps import interface
from ...steps.interface import Certificate
from ..fixed_measure import FixedMeasure
from ..newton import minimise_from
from ..regulariser import BARRIER, Regulariser
from . import evaluation as evaluation  # registers the problem
from . import line_search as line_search
from .dual import TripleDual, TripleProblem


class Rates(NamedTuple):
    """The weights of the barrier, and where they grow next."""

    barrier: Lasting[Floats]  # (R,) b = 1 / eta
    limit: Lasting[Floats]  # (R,) rho


class TripleStep(NamedTuple):
    """The iterate, the losses that are to be taken in, and the rates."""

    measure: FixedMeasure
    growth: Number[float]  # of eta; one for constant rates
    ahead: Number[float]  # how much rarer a pair has to become for the next growth
    rates: Rates
    cost: Lasting[Floats]  # (R,) losses since the last solution
    clock: Lasting[Counts]  # (1,) whether the rates were raised since the last solution
    dual: TripleDual
    upper: Scratch[Floats]  # (R,) u_t
    old: Scratch[Rates]
    old_cost: Scratch[Floats]  # (R,)


@interface.observe_episode.register(TripleStep)
@kernel
def raise_rates(graph: Graph, step: TripleStep, policy: Floats, rows: Any, reach: Reach) -> None:
    """Raise the rates of pairs whose upper bound has become small."""
    if step.growth == 1.0:
        return
    upper_occupancies(graph, policy, rows, reach, step.upper)
    step.clock[0] = 1
    for r in range(step.upper.shape[0]):
        step.old.barrier[r] = step.rates.barrier[r]
        step.old.limit[r] = step.rates.limit[r]
        if step.upper[r] * step.rates.limit[r] <= 1.0:
            step.rates.limit[r] = step.ahead / max(step.upper[r], 1e-300)
            step.rates.barrier[r] /= step.growth


@interface.add_path_losses.register(TripleStep)
@leaf
def add_path(graph: Graph, step: TripleStep, path: Counts, losses: Floats, eta: float) -> None:
    for r in range(step.cost.shape[0]):
        step.old_cost[r] = step.cost[r]
    for k in range(path.shape[0]):
        step.cost[path[k]] += eta * losses[k]


@interface.add_losses.register(TripleStep)
@leaf
def add_all(graph: Graph, step: TripleStep, losses: Floats, eta: float) -> None:
    for r in range(step.cost.shape[0]):
        step.old_cost[r] = step.cost[r]
        step.cost[r] += eta * losses[r]


@interface.replace_hint.register(TripleStep)
@leaf
def turn_to_hint(graph: Graph, step: TripleStep, heard: Floats, coming: Floats, eta: float) -> None:
    for r in range(step.cost.shape[0]):
        step.cost[r] += eta * (coming[r] - heard[r])


@kernel
def take_back(step: TripleStep) -> None:
    """Losses and rates of before the episode."""
    for r in range(step.cost.shape[0]):
        step.cost[r] = step.old_cost[r]
        if step.clock[0] != 0:
            step.rates.barrier[r] = step.old.barrier[r]
            step.rates.limit[r] = step.old.limit[r]
    step.clock[0] = 0


@interface.remove_path_losses.register(TripleStep)
@leaf
def remove_path(graph: Graph, step: TripleStep, path: Counts) -> None:
    take_back(step)


@interface.remove_losses.register(TripleStep)
@leaf
def remove_all(graph: Graph, step: TripleStep) -> None:
    take_back(step)


@interface.solve_step.register(TripleStep)
@kernel
def solve(graph: Graph, step: TripleStep, rows: BoxRows, in_logs: bool | None) -> bool:
    """Newton's method from the last iterate."""
    dual = step.dual
    measure = step.measure
    for r in range(step.cost.shape[0]):
        mass = measure.mass[r // graph.n_actions] * measure.policy[r]
        barrier = step.rates.barrier[r]
        dual.shift[r] = 0.0
        dual.scale[r] = mass
        begin = row_begin(graph, r)
        for e in range(begin, begin + row_size(graph, r)):
            q = mass * measure.chance[e]
            dual.reduced[e] = step.cost[r] + (barrier / q if q > 0.0 else 0.0)
    problem = TripleProblem(rows, Regulariser(BARRIER, 0.0, step.rates.barrier))
    if not minimise_from(graph, measure, problem, dual, 0.0, in_logs):
        return False
    for r in range(step.cost.shape[0]):
        step.cost[r] = 0.0
    step.clock[0] = 0
    return True


@interface.certificate_of.register(TripleStep)
@leaf
def certificate(step: TripleStep) -> Certificate:
    return step.dual.certificate
