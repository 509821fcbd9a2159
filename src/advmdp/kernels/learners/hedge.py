"""One adviser per state: exponential weights that are fed with Q-values.

The weight of a pair is e^{-score}; in every state the least score is kept at zero.  A policy of
probability zero therefore never loses its memory: a score of 10,000 comes down again when the
other actions' scores go up.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..model.flow import forward
from ..model.graph import Floats, Graph, layer_begin, layer_end, n_layers, row_dot
from ..model.log_storage import TINY
from ..model.visits import Counts
from ..runtime.storage import Common, Lasting, Number, Scratch
from ..runtime.targets import kernel, leaf
from .interface import bandit_update, full_update


class MDPEState(NamedTuple):
    """MDP-E: known transition, the losses of all pairs."""

    policy: Lasting[Floats]  # (R,)
    score: Lasting[Floats]  # (R,) minus the logarithm of the weights
    clock: Lasting[Counts]  # (1,) episodes
    rate: Common[Floats]  # (L,) eta of each layer
    chance: Common[Floats]  # (E,) P
    value: Scratch[Floats]  # (S,) V^{P, pi_t}


class NGSState(NamedTuple):
    """Neu, György, Szepesvári (2010): known transition, the losses of the path."""

    policy: Lasting[Floats]  # (R,)
    score: Lasting[Floats]  # (R,)
    clock: Lasting[Counts]  # (1,)
    rate: Common[Floats]  # (L,)
    chance: Common[Floats]  # (E,) P
    value: Scratch[Floats]  # (S,) V under the estimated losses
    mass: Scratch[Floats]  # (S,) q_t(x)
    estimate: Scratch[Floats]  # (R,) l^_t
    gamma: Number[float]  # share of the uniform policy


class Exp3IXState(NamedTuple):
    """A bandit in every state: nothing known, the losses of the path."""

    policy: Lasting[Floats]  # (R,)
    score: Lasting[Floats]  # (R,)
    clock: Lasting[Counts]  # (1,)
    eta: Number[float]
    gamma: Number[float]  # implicit exploration


@leaf
def follow(policy: Floats, score: Floats, x: int, n_actions: int, gamma: float) -> None:
    """policy(. | x) = (1 - gamma) e^{-score} / sum + gamma / |A|; the least score becomes zero."""
    begin = x * n_actions
    least = math.inf
    for r in range(begin, begin + n_actions):
        least = min(least, score[r])
    total = 0.0
    for r in range(begin, begin + n_actions):
        score[r] -= least
        policy[r] = math.exp(-score[r])
        total += policy[r]
    for r in range(begin, begin + n_actions):
        policy[r] = (1.0 - gamma) * (policy[r] / total) + gamma / n_actions


@leaf
def weighted(loss: float, chance: float) -> float:
    """loss / chance.  What had no chance to happen teaches nothing, and nothing overflows."""
    if chance < TINY:
        return 0.0
    return loss / chance


@kernel
def improve(
    graph: Graph,
    chance: Floats,
    losses: Floats,
    rate: Floats,
    gamma: float,
    policy: Floats,
    score: Floats,
    value: Floats,
) -> None:
    """score += rate * Q^{chance, policy}(losses) and the policy that follows, layer by layer.

    Q(x, a) = losses(x, a) + <chance(. | x, a), V> needs the next layer's V only, and V(x) is taken
    before the policy of x changes: one backward pass does everything.
    """
    value[value.shape[0] - 1] = 0.0
    for back in range(n_layers(graph)):
        k = n_layers(graph) - 1 - back
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            mean = 0.0
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                cost = losses[r] + row_dot(graph, r, chance, value)
                mean += policy[r] * cost
                score[r] += rate[k] * cost
            value[x] = mean
            follow(policy, score, x, graph.n_actions, gamma)


@full_update(MDPEState)
@kernel
def update_mdp_e(
    graph: Graph, state: MDPEState, states: Counts, path: Counts, losses: Floats
) -> None:
    """Hedge on the exact Q-values of the policy that was played."""
    improve(graph, state.chance, losses, state.rate, 0.0, state.policy, state.score, state.value)
    state.clock[0] += 1


@bandit_update(NGSState)
@kernel
def update_ngs(graph: Graph, state: NGSState, states: Counts, path: Counts, losses: Floats) -> None:
    """The same on unbiased estimates: the loss of a visited pair over its probability q_t(x, a)."""
    forward(graph, state.chance, state.policy, state.mass)
    for r in range(state.estimate.shape[0]):
        state.estimate[r] = 0.0
    for k in range(path.shape[0]):
        occupancy = state.mass[states[k]] * state.policy[path[k]]
        state.estimate[path[k]] = weighted(losses[k], occupancy)
    improve(
        graph,
        state.chance,
        state.estimate,
        state.rate,
        state.gamma,
        state.policy,
        state.score,
        state.value,
    )
    state.clock[0] += 1


@bandit_update(Exp3IXState)
@kernel
def update_exp3_ix(
    graph: Graph, state: Exp3IXState, states: Counts, path: Counts, losses: Floats
) -> None:
    """In every visited state the loss-to-go, scaled to [0, 1], over its probability plus gamma."""
    togo = 0.0
    for back in range(path.shape[0]):
        k = path.shape[0] - 1 - back
        r = path[k]
        togo += losses[k]
        loss = togo / (back + 1)
        state.score[r] += state.eta * weighted(loss, state.policy[r] + state.gamma)
        follow(state.policy, state.score, states[k], graph.n_actions, 0.0)
    state.clock[0] += 1
