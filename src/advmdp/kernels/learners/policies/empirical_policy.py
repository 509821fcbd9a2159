"""Policy optimisation with full information: Hedge in every state on optimistic Q-values.

With P^ and a bonus beta from the counters before the episode, backwards over the layers,

    Q(x, a) = max(0, l_t(x, a) + <P^(. | x, a), V> - beta(x, a)),     V(x) = sum_a pi_t(a | x) Q
    pi_{t+1}(a | x)  proportional to  e^{-rate sum of Q(x, a)}.

The learners differ in when P^ and beta follow the counters: after every episode (OPPO), or when a
counter has doubled, and the sums then begin again (APO-MVP).  Q never exceeds the number of layers
to come, since V does not: it needs no clipping from above.  An advantage Q - V in place of Q gives
the same policies.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ...model.graph import (
    Floats,
    Graph,
    layer_begin,
    layer_end,
    n_layers,
    row_begin,
    row_dot,
    row_size,
)
from ...model.row_status import KNOWN, Marks
from ...model.visits import (
    CHANGED,
    EPISODES,
    EPOCH,
    OPENS,
    Counts,
    Visits,
    forget_list,
    record,
    settle,
    take_counts,
)
from ...runtime.indices import int64, place
from ...runtime.storage import Choice, Common, Lasting, Number, Scratch
from ...runtime.targets import kernel, leaf
from ..interface import epoch_and_width, full_update
from .weights import forget_scores, weigh_actions


class Estimate(NamedTuple):
    """P^ = M / (N + prior) and beta = width / sqrt(N + prior); rows never visited lead nowhere."""

    prior: Number[float]
    status: Common[Marks]  # (R,) KNOWN where the layout says so
    width: Common[Floats]  # (R,) 0 for known rows and for those with one successor
    chance: Lasting[Floats]  # (E,)
    bonus: Lasting[Floats]  # (R,)


class EmpiricalPolicyState(NamedTuple):
    """The whole state of the learner, and its work space."""

    policy: Lasting[Floats]  # (R,)
    score: Lasting[Floats]  # (R,) sum of Q since the last restart, the least of each state zero
    rate: Common[Floats]  # (L,) of each layer
    anytime: Choice[bool]  # divide the rates by the root of the episodes since the restart
    by_epochs: Choice[bool]  # renew the estimate with every epoch, and restart
    estimate: Estimate
    visits: Visits
    value: Scratch[Floats]  # (S,) V


@leaf
def optimistic_cost(graph: Graph, r: int, estimate: Estimate, loss: float, value: Floats) -> float:
    """Q of a row; what the bonus takes below zero is zero."""
    return max(loss + row_dot(graph, r, estimate.chance, value) - estimate.bonus[r], 0.0)


@kernel
def improve_on_estimate(graph: Graph, state: EmpiricalPolicyState, losses: Floats) -> None:
    """Q of the policy that was played, and the policy that follows, backwards."""
    policy, score, value, visits = state.policy, state.score, state.value, state.visits
    shrink = 1.0
    if state.anytime:
        before = visits.starts[visits.clock[EPOCH] - 1]
        shrink = 1.0 / math.sqrt(visits.clock[EPISODES] - before + 2.0)  # of the coming episode
    value[value.shape[0] - 1] = 0.0
    for back in range(n_layers(graph)):
        k = n_layers(graph) - 1 - back
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            mean = 0.0
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                cost = optimistic_cost(graph, r, state.estimate, losses[r], value)
                mean += policy[r] * cost
                score[r] += cost
            value[x] = mean
            weigh_actions(policy, score, shrink * state.rate[k], x, graph.n_actions)


@kernel
def renew_estimate(graph: Graph, estimate: Estimate, visits: Visits) -> None:
    """P^ and beta of the rows whose counters are listed, and the counters frozen."""
    for i in range(visits.clock[CHANGED]):
        visits.opened[visits.changed[i]] = visits.pairs[visits.changed[i]]
    for r in range(estimate.bonus.shape[0]):
        counter = int64(visits.counter[r])
        size = row_size(graph, r)
        if visits.marked[counter] == 0 or estimate.status[r] == KNOWN or size == 1:
            continue
        begin = row_begin(graph, r)
        cell = int64(visits.cell[r])
        n = visits.pairs[counter] + estimate.prior
        for j in range(size):
            estimate.chance[place(begin + j)] = visits.triples[place(cell + j)] / n
        estimate.bonus[r] = estimate.width[r] / math.sqrt(n)


@kernel
def adopt_model(graph: Graph, state: EmpiricalPolicyState, earlier: Visits) -> None:
    """Begin with the counts of an earlier learner."""
    visits = state.visits
    take_counts(visits, earlier)
    renew_estimate(graph, state.estimate, visits)
    forget_list(visits)


@full_update(EmpiricalPolicyState)
@kernel
def update_on_estimate(
    graph: Graph, state: EmpiricalPolicyState, states: Counts, path: Counts, losses: Floats
) -> None:
    """Improve with the estimate of this episode, then count."""
    visits = state.visits
    improve_on_estimate(graph, state, losses)
    opens = record(graph, visits, state.estimate.status, states, path)
    if opens or not state.by_epochs:
        renew_estimate(graph, state.estimate, visits)
    if opens and state.by_epochs:
        forget_scores(graph, state.policy, state.score)
    if not state.by_epochs:
        forget_list(visits)
        visits.clock[OPENS] = 0
    settle(visits)


@epoch_and_width.register(EmpiricalPolicyState)
@leaf
def epoch_of_policy(state: EmpiricalPolicyState) -> tuple[int, float]:
    return state.visits.clock[EPOCH], 0.0
