"""AdaFTRL: the entropy-regularised leader whose rate follows from its own mixability gaps.

With Phi_eta(C) = min over policies of <q^pi, C> + (1/eta) sum_x q^pi(x) KL(pi(.|x) || uniform),
which one soft backward pass finds,

    V(x) = -(1/eta) ln (1/|A|) sum_a e^{-eta Q(x,a)},   Q(x,a) = C(x,a) + <P(.|x,a), V>,

episode t plays the minimiser for C = S + c m, and its mixability gap is

    <q_t, l - c m> - [Phi(S + l) - Phi(S + c m)]  >=  0.

The difference is never taken of two large numbers: the change of V obeys a recursion of its own,

    dV(x) = -(1/eta) ln (1/|A|) sum_a e^{-eta (Q - V + dQ)(x,a)},   dQ = l - c m + <P, dV>,

and the gap of a state is what its mean of dQ exceeds dV by, plus the expected gaps behind it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..model.graph import Floats, Graph, layer_begin, layer_end, n_layers, row_dot
from ..model.recent import Recent, remember
from ..model.transition import Transition, count_path, imagine_row
from ..model.visits import Counts
from ..runtime.storage import Lasting, Number, Scratch
from ..runtime.targets import kernel, leaf
from .interface import full_update

NOTHING = 700.0  # e^-700 is 1e-304
TIE = 1e-13  # relative to the largest cost: nearer values are ties for a leader without a rate

# Places in ``gaps``: G of the coming episode, and G after the last one, before it was forgotten.
COMING, LAST = 0, 1


class AdaFTRLState(NamedTuple):
    """The discounted losses S, the discounted gaps G, and the regularised leader."""

    policy: Lasting[Floats]  # (R,)
    advantage: Lasting[Floats]  # (R,) Q - V of the leader
    transition: Transition
    entropy: Number[float]  # L ln |A|
    forgetting: Number[float]  # g
    hint_weight: Number[float]  # c
    total: Lasting[Floats]  # (R,) S
    gaps: Lasting[Floats]  # (2,)
    hint: Recent  # its mean is m
    clock: Lasting[Counts]  # (1,) episodes
    costs: Scratch[Floats]  # (R,)
    value: Scratch[Floats]  # (S,) V
    change: Scratch[Floats]  # (S,) dV
    behind: Scratch[Floats]  # (S,) expected gaps from a state on


@leaf
def rate_of(state: AdaFTRLState) -> float:
    """eta = L ln|A| / G; infinite as long as there was no gap."""
    return state.entropy / state.gaps[COMING] if state.gaps[COMING] > 0.0 else math.inf


@leaf
def shrink(x: float) -> float:
    """e^{-x}; where it is nothing, without asking for it."""
    return math.exp(-x) if x < NOTHING else 0.0


@leaf
def soft_least(values: Floats, begin: int, end: int, eta: float) -> float:
    """-(1/eta) ln of the mean of e^{-eta values}: their minimum at an infinite rate."""
    least = math.inf
    for r in range(begin, end):
        least = min(least, values[r])
    if eta == math.inf:
        return least
    total = 0.0
    for r in range(begin, end):
        total += shrink(eta * (values[r] - least))
    return least - math.log(total / (end - begin)) / eta


@leaf
def share_out(state: AdaFTRLState, begin: int, end: int, eta: float, tie: float) -> None:
    """policy(.|x) in proportion to e^{-eta (Q - V)}; at an infinite rate alike over the best."""
    total = 0.0
    for r in range(begin, end):
        if eta == math.inf:
            state.policy[r] = 1.0 if state.advantage[r] <= tie else 0.0
        else:
            state.policy[r] = shrink(eta * state.advantage[r])
        total += state.policy[r]
    for r in range(begin, end):
        state.policy[r] /= total


@kernel
def lead(graph: Graph, state: AdaFTRLState) -> None:
    """The regularised leader for S + c m."""
    eta = rate_of(state)
    largest = 0.0
    for r in range(state.costs.shape[0]):
        state.costs[r] = state.total[r] + state.hint_weight * state.hint.mean[r]
        largest = max(largest, abs(state.costs[r]))
    state.value[state.value.shape[0] - 1] = 0.0
    for back in range(n_layers(graph)):
        k = n_layers(graph) - 1 - back
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            begin = x * graph.n_actions
            end = begin + graph.n_actions
            for r in range(begin, end):
                imagine_row(graph, state.transition, r, state.value)
                cost = state.costs[r] + row_dot(graph, r, state.transition.chance, state.value)
                state.advantage[r] = cost
            state.value[x] = soft_least(state.advantage, begin, end, eta)
            for r in range(begin, end):
                state.advantage[r] -= state.value[x]
            share_out(state, begin, end, eta, TIE * (back + 1) * largest)


@kernel
def mixability_gap(graph: Graph, state: AdaFTRLState) -> float:
    """The gap of an episode; ``costs`` holds l - c m, and is overwritten."""
    eta = rate_of(state)
    chance = state.transition.chance
    last = state.value.shape[0] - 1
    state.change[last] = 0.0
    state.behind[last] = 0.0
    for back in range(n_layers(graph)):
        k = n_layers(graph) - 1 - back
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            begin = x * graph.n_actions
            end = begin + graph.n_actions
            mean = 0.0
            behind = 0.0
            for r in range(begin, end):
                moved = state.costs[r] + row_dot(graph, r, chance, state.change)
                mean += state.policy[r] * moved
                behind += state.policy[r] * row_dot(graph, r, chance, state.behind)
                state.costs[r] = state.advantage[r] + moved
            state.change[x] = soft_least(state.costs, begin, end, eta)
            state.behind[x] = behind + max(mean - state.change[x], 0.0)
    return state.behind[0]


@full_update(AdaFTRLState)
@kernel
def update_ada_ftrl(
    graph: Graph, state: AdaFTRLState, states: Counts, path: Counts, losses: Floats
) -> None:
    """G <- g (G + gap), S <- g (S + l), count the trajectory, lead again.

    Forgetting before the next episode makes this the learner with g = 1 on the losses g^{-t} l_t,
    up to their unit, which no policy depends on: what holds for g = 1 holds for discounted losses.
    """
    for r in range(losses.shape[0]):
        state.costs[r] = losses[r] - state.hint_weight * state.hint.mean[r]
    state.gaps[LAST] = state.gaps[COMING] + mixability_gap(graph, state)
    state.gaps[COMING] = state.forgetting * state.gaps[LAST]
    for r in range(losses.shape[0]):
        state.total[r] = state.forgetting * (state.total[r] + losses[r])
    remember(state.hint, state.clock[0], losses)
    count_path(graph, state.transition, states, path)
    state.clock[0] += 1
    lead(graph, state)
