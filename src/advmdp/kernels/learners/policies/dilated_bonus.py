"""Policy optimisation with dilated bonuses (Luo, Wei, Lee 2021): one update, line by line.

    estimate      Q^(x, a) = (loss to go) 1{visited} / (u(x, a) + gamma)
    local_bonus   b(x) = sum_a pi(a | x) (3 gamma L + L (u - l)(x, a)) / (u(x, a) + gamma)
    dilate        B(x, a) = b(x) + (1 + 1/L) max over the row's set of <p, V_B>
    improve       pi proportional to e^{-eta sum of (Q^ - B)}

u and l are the occupancy bounds of pi_t over the set of the episode, for *all* states: as many
passes as there are states.  Without a bonus those of the visited states are enough.
"""

from __future__ import annotations

from typing import NamedTuple

from ...model.graph import Floats, Graph, layer_begin, layer_end, n_layers
from ...model.visits import EPOCH, Counts
from ...planning.layer_extremes import extremes_over_layer
from ...planning.occupancy_bounds import bounds_of_states
from ...runtime.storage import Lasting, Number, Scratch, Switch
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


class DilatedSettings(NamedTuple):
    """The constants of a run."""

    eta: Number[float]
    gamma: Number[float]
    bonus: Switch[float]  # multiplies b; 0 for none
    exploring: Number[float]  # 3 gamma L of the bonus
    doubting: Number[float]  # L of the bonus, which multiplies u - l
    dilation: Number[float]  # 1 + 1 / L


class DilatedState(NamedTuple):
    """The whole state of the learner, and its work space."""

    policy: Lasting[Floats]  # (R,)
    score: Lasting[Floats]  # (R,) sum of Q^ - B, the least of each state being zero
    settings: DilatedSettings
    belief: Believed
    seen: Weighed
    upper: Scratch[Floats]  # (S,) max over the set of q(x)
    lower: Scratch[Floats]  # (S,) min over the set of q(x)
    value: Scratch[Floats]  # (S,) V_B


@kernel
def estimate(
    graph: Graph, state: DilatedState, states: Counts, path: Counts, losses: Floats
) -> None:
    """Bounds, and the estimated loss to go of the visited pairs."""
    belief, settings = state.belief, state.settings
    if settings.bonus > 0.0:
        bounds_of_states(
            graph, state.policy, belief.columns, belief.fill, belief.reach, state.upper, state.lower
        )
    togo = 0.0
    for back in range(path.shape[0]):
        k = path.shape[0] - 1 - back
        togo += losses[k]
        if not settings.bonus > 0.0:
            state.upper[states[k]] = largest_occupancy(graph, states[k], k, state.policy, belief)
        bound = state.upper[states[k]]
        divide_by_bounds(state.policy, path, togo, k, bound, settings.gamma, state.seen)


@leaf
def local_bonus(graph: Graph, state: DilatedState, x: int) -> float:
    """b(x), times its multiplier; u - l is rounded up to zero where both are the same."""
    settings = state.settings
    upper = state.upper[x]
    width = max(upper - state.lower[x], 0.0)
    total = 0.0
    for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
        share = state.policy[r]
        worth = settings.exploring + settings.doubting * (share * width)
        total += share * worth / (share * upper + settings.gamma)
    return settings.bonus * total


@kernel
def improve(graph: Graph, state: DilatedState, states: Counts, path: Counts) -> None:
    """Backwards: B of a layer, with the policy that was played; then its new policy."""
    settings, belief, policy, score = state.settings, state.belief, state.policy, state.score
    state.value[state.value.shape[0] - 1] = 0.0
    for back in range(n_layers(graph)):
        k = n_layers(graph) - 1 - back
        score[path[k]] += state.seen.estimate[k]
        if settings.bonus > 0.0:
            extremes_over_layer(graph, k, belief.columns, state.value, None, belief.fill)
            for x in range(layer_begin(graph, k), layer_end(graph, k)):
                local = local_bonus(graph, state, x)
                mean = 0.0
                for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                    later = settings.dilation * belief.fill.total[r]
                    score[r] -= local + later
                    mean += policy[r] * later
                state.value[x] = local + mean
                weigh_actions(policy, score, settings.eta, x, graph.n_actions)
        else:
            weigh_actions(policy, score, settings.eta, states[k], graph.n_actions)


@bandit_update(DilatedState)
@kernel
def update_dilated(
    graph: Graph, state: DilatedState, states: Counts, path: Counts, losses: Floats
) -> None:
    """Bounds and bonus with the set of this episode, then the counts."""
    estimate(graph, state, states, path, losses)
    improve(graph, state, states, path)
    learn_transition(graph, state.belief, states, path)


@epoch_and_width.register(DilatedState)
@leaf
def epoch_of_dilated(state: DilatedState) -> tuple[int, float]:
    return state.belief.visits.clock[EPOCH], mean_width(state.belief.rows)
