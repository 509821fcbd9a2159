"""A step from outside the package: 1/2-Tsallis FTRL where every layer has one state.

    q_{t+1} = argmin over q of  <q, C> - sum sqrt(q),     C = eta times the sum of the losses,

whose solution in each state is  q(a) = 1 / (2 (C(a) - v))^2  with the one v for which it sums to
one: Tsallis-INF (Zimmert and Seldin, 2021), once for every layer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import advmdp as am
from advmdp.kernels.learners.mirror.mirror_descent import OWN
from advmdp.kernels.model.graph import Floats, Graph
from advmdp.kernels.model.measure import Measure
from advmdp.kernels.model.visits import Counts
from advmdp.kernels.runtime.storage import Lasting, Scratch
from advmdp.kernels.runtime.targets import kernel, leaf
from advmdp.kernels.steps import interface
from advmdp.kernels.steps.interface import RESIDUAL, Certificate
from advmdp.learners.mirror.mirror_descent import MirrorDescent


class TsallisStep(NamedTuple):
    """The iterate and the accumulated costs."""

    measure: Measure
    cost: Lasting[Floats]  # (R,) C
    old_cost: Scratch[Floats]  # (R,)
    certificate: Certificate


@leaf
def weight(cost: float, shift: float) -> float:
    root = 2.0 * (cost - shift)
    return 1.0 / (root * root)


@interface.add_path_losses.register(TsallisStep)
@leaf
def add_path(graph: Graph, step: TsallisStep, path: Counts, losses: Floats, eta: float) -> None:
    for k in range(path.shape[0]):
        step.old_cost[path[k]] = step.cost[path[k]]
        step.cost[path[k]] += eta * losses[k]


@interface.add_losses.register(TsallisStep)
@leaf
def add_all(graph: Graph, step: TsallisStep, losses: Floats, eta: float) -> None:
    for r in range(losses.shape[0]):
        step.old_cost[r] = step.cost[r]
        step.cost[r] += eta * losses[r]


@interface.remove_path_losses.register(TsallisStep)
@leaf
def remove_path(graph: Graph, step: TsallisStep, path: Counts) -> None:
    for k in range(path.shape[0]):
        step.cost[path[k]] = step.old_cost[path[k]]


@interface.remove_losses.register(TsallisStep)
@leaf
def remove_all(graph: Graph, step: TsallisStep) -> None:
    for r in range(step.cost.shape[0]):
        step.cost[r] = step.old_cost[r]


@interface.solve_step.register(TsallisStep)
@kernel
def solve(graph: Graph, step: TsallisStep, rows: Any, in_logs: bool | None) -> bool:
    """Bisection on v in every state, to the last bit."""
    n_actions = graph.n_actions
    worst = 0.0
    for x in range(step.cost.shape[0] // n_actions):
        least = step.cost[x * n_actions]
        for r in range(x * n_actions, (x + 1) * n_actions):
            least = min(least, step.cost[r])
        below = least - 0.5 * n_actions
        above = least - 0.5
        for _ in range(200):
            middle = 0.5 * (below + above)
            total = 0.0
            for r in range(x * n_actions, (x + 1) * n_actions):
                total += weight(step.cost[r], middle)
            if total > 1.0:
                above = middle
            else:
                below = middle
        total = 0.0
        for r in range(x * n_actions, (x + 1) * n_actions):
            total += weight(step.cost[r], below)
        for r in range(x * n_actions, (x + 1) * n_actions):
            step.measure.policy[r] = weight(step.cost[r], below) / total
        worst = max(worst, abs(total - 1.0))
    step.certificate.figures[RESIDUAL] = worst
    return worst < 1e-12


@interface.certificate_of.register(TsallisStep)
@leaf
def certificate(step: TsallisStep) -> Certificate:
    return step.certificate


class LayeredTsallisINF(MirrorDescent):
    """Tsallis-INF in every layer; all layers have one state, so there is nothing to learn of P."""

    def __init__(self, layout: am.Layout, n_episodes: int, eta: float = 0.1) -> None:
        if max(layout.layer_sizes) > 1:
            raise am.InvalidInput("layout: every layer needs exactly one state")
        super().__init__(
            layout,
            n_episodes,
            eta=eta,
            gamma=0.0,
            log_term=1.0,
            estimator=OWN,
            confidence=am.AnyTransition(layout),
        )

    def _new_step(self, layout: am.Layout, measure: Measure) -> TsallisStep:
        costs = (np.zeros(layout.n_rows) for _ in range(2))
        return TsallisStep(measure, *costs, Certificate(np.zeros(4, np.int64), np.zeros(3)))
