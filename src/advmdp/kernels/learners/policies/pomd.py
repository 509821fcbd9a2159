"""Optimistic mirror descent on policies (Shani, Efroni, Rosenberg, Mannor 2020): one update.

c^(x, a)      = loss 1{visited} / (u(x, a) + gamma)
Q(x, a)       = c^(x, a) + min over the row's set of <p, V>,   V(x) = sum_a pi_t(a | x) Q(x, a)
pi_{t+1}      proportional to  pi_t e^{-eta Q}
"""

from __future__ import annotations

from typing import NamedTuple

from ...model.graph import Floats, Graph, layer_begin, layer_end, n_layers
from ...model.visits import EPOCH, Counts
from ...planning.layer_extremes import extremes_over_layer
from ...runtime.storage import Lasting, Number, Scratch
from ...runtime.targets import kernel, leaf
from ...sets.interface import mean_width
from ..interface import bandit_update, epoch_and_width
from .bandit_state import (
    Believed,
    Weighed,
    divide_by_bounds,
    largest_occupancy,
    learn_transition,
)
from .weights import weigh_actions


class POMDState(NamedTuple):
    """The whole state of the learner, and its work space."""

    policy: Lasting[Floats]  # (R,)
    score: Lasting[Floats]  # (R,) sum of Q, the least of each state being zero
    eta: Number[float]
    gamma: Number[float]
    belief: Believed
    seen: Weighed
    value: Scratch[Floats]  # (S,) V


@kernel
def improve_optimistically(graph: Graph, state: POMDState, path: Counts) -> None:
    """Q in the most favourable transition of the set, and the policy that follows, backwards."""
    belief, policy, score = state.belief, state.policy, state.score
    state.value[state.value.shape[0] - 1] = 0.0
    for back in range(n_layers(graph)):
        k = n_layers(graph) - 1 - back
        extremes_over_layer(graph, k, belief.columns, state.value, True, belief.fill)
        belief.fill.total[path[k]] += state.seen.estimate[k]
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            mean = 0.0
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                mean += policy[r] * belief.fill.total[r]
                score[r] += belief.fill.total[r]
            state.value[x] = mean
            weigh_actions(policy, score, state.eta, x, graph.n_actions)


@bandit_update(POMDState)
@kernel
def update_pomd(
    graph: Graph, state: POMDState, states: Counts, path: Counts, losses: Floats
) -> None:
    """Estimates and Q-values with the set of this episode, then the counts."""
    for k in range(path.shape[0]):
        bound = largest_occupancy(graph, states[k], k, state.policy, state.belief)
        divide_by_bounds(state.policy, path, losses[k], k, bound, state.gamma, state.seen)
    improve_optimistically(graph, state, path)
    learn_transition(graph, state.belief, states, path)


@epoch_and_width.register(POMDState)
@leaf
def epoch_of_pomd(state: POMDState) -> tuple[int, float]:
    return state.belief.visits.clock[EPOCH], mean_width(state.belief.rows)
