"""The step of follow-the-regularised-leader over a fixed transition that is renewed with epochs.

    q_{t+1} = argmin over q in Omega(P) of  <q, m_{t+1} + C_t> + R_t(q)

C_t is the sum since the last restart of the estimates  m + 1{visited} (l - m) / u - bonus,  R_t has
the weights  w = rate sqrt(episodes since then + 1)  and  b(x, a).  P is the empirical transition,
or the lower bounds of the confidence set, what is missing ending the episode; a known row is
itself.  A new epoch makes P and the bonus anew and restarts: its first objective has no losses.

All of it is data: learners with and without a known transition, with and without bonus, adaptive
weights or predictions share one compiled program.
"""

from __future__ import annotations

import math

from ..model.graph import Floats, Graph
from ..model.log_storage import linear
from ..model.visits import Counts, Visits
from ..runtime.targets import kernel, leaf
from ..sets.box.rows import BoxRows
from ..steps import interface
from ..steps.interface import Certificate
from .model import renew_rows
from .newton import minimise_from
from .objective import (
    AGE,
    PENDING,
    RENEWED,
    FTRLStep,
    adapt_barrier,
    keep_objective,
    take_back,
)
from .regulariser import Regulariser
from .start import start_cold, start_near


@interface.forget_bounds.register(FTRLStep)
@kernel
def restart(graph: Graph, step: FTRLStep, rows: BoxRows, visits: Visits) -> None:
    """A new epoch: new rows and bonuses from the counters, and an objective without losses."""
    keep_objective(step)
    for e in range(step.old_chance.shape[0]):
        step.old_chance[e] = step.measure.chance[e]
    for x in range(step.old_reached.shape[0]):
        step.old_reached[x] = float(step.measure.reached[x])
    settings = step.settings
    renew_rows(
        graph,
        visits,
        rows,
        settings.model,
        settings.log_term,
        settings.bonus,
        step.measure.chance,
        step.objective.bonus,
    )
    for r in range(step.objective.cost.shape[0]):
        step.objective.cost[r] = 0.0
        step.objective.barrier[r] = settings.barrier
    step.clock[AGE] = 0
    step.clock[PENDING] = 1
    step.clock[RENEWED] = 1


@leaf
def begin_episode(graph: Graph, step: FTRLStep) -> bool:
    """Whether losses count: not those of the episode that opened an epoch, which is restarted."""
    if step.clock[PENDING] != 0:
        return False
    keep_objective(step)
    step.clock[RENEWED] = 0
    step.clock[AGE] += 1
    return True


@leaf
def expect_losses(step: FTRLStep) -> None:
    """What is added for every pair: its prediction, less the bonus."""
    objective = step.objective
    if step.settings.bonus > 0.0 or step.settings.learn > 0.0:
        for r in range(objective.cost.shape[0]):
            objective.cost[r] += objective.prediction[r] - objective.bonus[r]


@interface.add_path_losses.register(FTRLStep)
@leaf
def add_path(graph: Graph, step: FTRLStep, path: Counts, losses: Floats, eta: float) -> None:
    if not begin_episode(graph, step):
        return
    objective = step.objective
    excess = step.dual.slope  # free until the next search
    if step.settings.adapt > 0.0:
        for r in range(excess.shape[0]):
            excess[r] = 0.0
    for k in range(path.shape[0]):
        r = path[k]
        excess[r] = eta * losses[k]
        if step.settings.learn > 0.0:  # losses are divided by q(x, a) where predictions are used
            q = linear(step.measure.mass[r // graph.n_actions]) * linear(step.measure.policy[r])
            excess[r] -= objective.prediction[r] / max(q, 1e-300)
        objective.cost[r] += excess[r]
    if step.settings.adapt > 0.0:
        adapt_barrier(
            graph, step.measure, excess, step.dual.value, step.settings.adapt, objective.barrier
        )
    expect_losses(step)
    if step.settings.learn > 0.0:
        for k in range(path.shape[0]):
            r = path[k]
            q = linear(step.measure.mass[r // graph.n_actions]) * linear(step.measure.policy[r])
            loss = min(max(eta * losses[k] * q, 0.0), 1.0)
            objective.prediction[r] += step.settings.learn * (loss - objective.prediction[r])


@interface.add_losses.register(FTRLStep)
@leaf
def add_all(graph: Graph, step: FTRLStep, losses: Floats, eta: float) -> None:
    if not begin_episode(graph, step):
        return
    objective = step.objective
    if step.settings.adapt > 0.0:  # to what the prediction has missed
        excess = step.dual.slope  # free until the next search
        for r in range(losses.shape[0]):
            excess[r] = eta * losses[r] - objective.prediction[r]
        adapt_barrier(
            graph, step.measure, excess, step.dual.value, step.settings.adapt, objective.barrier
        )
    for r in range(losses.shape[0]):
        objective.cost[r] += eta * losses[r] - objective.bonus[r]


@interface.replace_hint.register(FTRLStep)
@leaf
def predict(graph: Graph, step: FTRLStep, heard: Floats, coming: Floats, eta: float) -> None:
    """Hints are the predictions m; a restart leaves them alone."""
    for r in range(coming.shape[0]):
        step.objective.prediction[r] = eta * coming[r]


@interface.remove_path_losses.register(FTRLStep)
@leaf
def remove_path(graph: Graph, step: FTRLStep, path: Counts) -> None:
    take_back(step)


@interface.remove_losses.register(FTRLStep)
@leaf
def remove_all(graph: Graph, step: FTRLStep) -> None:
    take_back(step)


@interface.forget_everything.register(FTRLStep)
@leaf
def forget_solution(step: FTRLStep) -> None:
    """The iterate of before is back: so is its objective."""
    take_back(step)


@interface.moves_without_losses.register(FTRLStep)
@leaf
def always_moves(step: FTRLStep) -> bool:
    """The weights of the regulariser change with every episode."""
    return True


@leaf
def warm_room(graph: Graph, step: FTRLStep) -> None:
    """Room as the last iterate had it: each state's least reduced cost."""
    for x in range(step.dual.room.shape[0] - 1):
        r = x * graph.n_actions
        least = step.old.cost[r] + step.old.prediction[r]
        for i in range(1, graph.n_actions):
            least = min(least, step.old.cost[r + i] + step.old.prediction[r + i])
        step.dual.room[x] = least


@interface.solve_step.register(FTRLStep)
@kernel
def solve(graph: Graph, step: FTRLStep, rows: BoxRows, in_logs: bool | None) -> bool:
    """Newton's method from the last solution; from the uniform policy after a restart."""
    objective = step.objective
    dual = step.dual
    weight = step.settings.rate * math.sqrt(step.clock[AGE] + 1.0)
    regulariser = Regulariser(step.settings.kind, weight, objective.barrier)
    for r in range(dual.reduced.shape[0]):
        dual.reduced[r] = objective.cost[r] + objective.prediction[r]
    root_value = 0.0
    if step.clock[PENDING] != 0 or in_logs is not None:
        root_value = start_cold(graph, step.measure, regulariser, dual, in_logs)
    else:
        warm_room(graph, step)
        root_value = start_near(graph, step.measure, step.measure.mass, regulariser, dual)
    if not minimise_from(graph, step.measure, regulariser, dual, root_value, in_logs):
        return False
    for r in range(dual.reduced.shape[0]):
        objective.cost[r] = dual.reduced[r] - objective.prediction[r]
    step.clock[PENDING] = 0
    return True


@interface.certificate_of.register(FTRLStep)
@leaf
def certificate(step: FTRLStep) -> Certificate:
    return step.dual.certificate
