"""Follow the perturbed leader: the best policy for the past losses minus random bonuses.

With an unknown transition the leader is optimistic, over the confidence set of the epoch (FPOP).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..model.flow import best_response
from ..model.graph import Floats, Graph
from ..model.visits import EPISODES, EPOCH, Counts, Visits, record, settle
from ..planning.linear_maximum import Reach
from ..planning.optimism import optimistic_response
from ..runtime.random_numbers import LEARNER, uniform_pair
from ..runtime.storage import Choice, Common, Lasting, Number, Scratch
from ..runtime.targets import kernel, leaf
from ..sets.ball import BallRows
from ..sets.confidence import open_epoch
from .interface import epoch_and_width, full_update


class Perturbation(NamedTuple):
    """The law of the random bonuses and the key of their stream."""

    mean: Number[float]  # 1 / eta
    seed0: Number[int]
    seed1: Number[int]


class FPOPState(NamedTuple):
    """Counters, confidence set, and the perturbed losses so far."""

    policy: Lasting[Floats]  # (R,)
    law: Perturbation
    fresh: Choice[bool]  # new bonuses in every episode, not in every epoch
    log_term: Number[float]
    visits: Visits
    rows: BallRows
    old_rows: Scratch[BallRows]  # what an episode has overwritten of them
    reach: Reach
    total: Lasting[Floats]  # (R,) sum of the losses
    noise: Lasting[Floats]  # (R,) Y
    costs: Scratch[Floats]  # (R,) total - Y
    q: Scratch[Floats]  # (R,)
    value: Scratch[Floats]  # (S,)


class FPLState(NamedTuple):
    """The same with a known transition."""

    policy: Lasting[Floats]  # (R,)
    law: Perturbation
    phase: Number[int]  # episodes between two choices
    clock: Lasting[Counts]  # (1,) episodes
    chance: Common[Floats]  # (E,) P
    total: Lasting[Floats]  # (R,)
    noise: Lasting[Floats]  # (R,)
    costs: Scratch[Floats]  # (R,)
    value: Scratch[Floats]  # (S,)


@kernel
def perturb(law: Perturbation, when: int, total: Floats, noise: Floats, costs: Floats) -> None:
    """Draw Y, exponential and independent over pairs, for the epoch, phase or episode ``when``."""
    n = noise.shape[0]
    for i in range((n + 1) // 2):
        u, v = uniform_pair(law.seed0, law.seed1, LEARNER, when, i)
        noise[2 * i] = -law.mean * math.log1p(-u)
        if 2 * i + 1 < n:
            noise[2 * i + 1] = -law.mean * math.log1p(-v)
    subtract(total, noise, costs)


@kernel
def subtract(total: Floats, noise: Floats, costs: Floats) -> None:
    """costs = total - noise."""
    for r in range(costs.shape[0]):
        costs[r] = total[r] - noise[r]


@kernel
def begin_fpop(graph: Graph, state: FPOPState, redraw: bool) -> None:
    """The policy of the next episode, with new bonuses if ``redraw``."""
    if redraw:
        when = state.visits.clock[EPISODES] if state.fresh else state.visits.clock[EPOCH]
        perturb(state.law, when, state.total, state.noise, state.costs)
    else:
        subtract(state.total, state.noise, state.costs)
    optimistic_response(
        graph, state.rows, state.costs, state.reach, state.q, state.value, state.policy
    )


@full_update(FPOPState)
@kernel
def update_fpop(
    graph: Graph, state: FPOPState, states: Counts, path: Counts, losses: Floats
) -> None:
    """Add the losses, count the trajectory, follow the perturbed optimistic leader."""
    opens = record(graph, state.visits, state.rows.status, states, path)
    if opens:
        open_epoch(graph, state.visits, state.rows, state.old_rows, state.log_term)
    settle(state.visits)
    for r in range(losses.shape[0]):
        state.total[r] += losses[r]
    begin_fpop(graph, state, opens or state.fresh)


@epoch_and_width.register(FPOPState)
@leaf
def epoch_of_fpop(state: FPOPState) -> tuple[int, float]:
    return state.visits.clock[EPOCH], 0.0


@kernel
def begin_fpl(graph: Graph, state: FPLState) -> None:
    """A new phase: new bonuses, and the best policy for the perturbed losses."""
    when = state.clock[0] // state.phase
    perturb(state.law, when, state.total, state.noise, state.costs)
    best_response(graph, state.chance, state.costs, state.value, state.policy)


@full_update(FPLState)
@kernel
def update_fpl(graph: Graph, state: FPLState, states: Counts, path: Counts, losses: Floats) -> None:
    """Add the losses; at the end of a phase, choose again."""
    for r in range(losses.shape[0]):
        state.total[r] += losses[r]
    state.clock[0] += 1
    if state.clock[0] % state.phase == 0:
        begin_fpl(graph, state)
