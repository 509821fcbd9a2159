"""Policy optimisation with dilated bonuses (Luo, Wei, Lee 2021): one update, line by line.

    estimate        Q^(x, a) = (loss to go) 1{visited} / (u(x, a) + gamma)
    charge_bonus    b(x) = sum_a pi(a | x) (3 gamma L + L (u - l)(x, a)) / (u(x, a) + gamma)
    add_to_scores   B(x, a) = b(x) + (1 + 1/L) max over the row's set of <p, V_B>
    weigh_actions   pi proportional to e^{-eta sum of (Q^ - B)}

u and l are the occupancy bounds of pi_t over the set of the episode, for *all* states: as many
passes as there are states.  Without a bonus those of the visited states are enough.

Where only the sum of the losses is seen (Lancewicki, Mansour 2025) it takes the place of the loss
to go.  The estimate is then one of U(x, a), the expected loss of the *whole* episode given that it
goes through (x, a).  U - Q, what was lost before x, is the same for all actions.
"""

from __future__ import annotations

from typing import NamedTuple

from ...model.graph import Floats, Graph, layer_begin, layer_end, n_layers
from ...model.visits import EPOCH, Counts
from ...planning.layer_extremes import extremes_over_layer
from ...planning.occupancy_bounds import bounds_of_states
from ...runtime.storage import Choice, Lasting, Number, Scratch, Switch
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

TO_GO, WHOLE = 0, 1  # what is divided by u + gamma: the losses from a layer on, or their whole sum


class DilatedSettings(NamedTuple):
    """The constants of a run."""

    eta: Number[float]
    gamma: Number[float]
    bonus: Switch[float]  # multiplies b; 0 for none
    exploring: Number[float]  # 3 gamma L of the bonus
    doubting: Number[float]  # L of the bonus, which multiplies u - l
    dilation: Number[float]  # 1 + 1 / L
    observed: Choice[int]  # TO_GO or WHOLE


class DilatedState(NamedTuple):
    """The whole state of the learner, and its work space."""

    policy: Lasting[Floats]  # (R,)
    score: Lasting[Floats]  # (R,) sum of Q^ - B, the least of each state being zero
    settings: DilatedSettings
    belief: Believed
    seen: Weighed
    arrived: Scratch[Counts]  # (2,) late feedback since the last episode: how many were learnt
    #                           from, and whether an epoch opens (``late_feedback``)
    upper: Scratch[Floats]  # (S,) max over the set of q(x)
    lower: Scratch[Floats]  # (S,) min over the set of q(x)
    local: Scratch[Floats]  # (S,) b, times its multiplier
    value: Scratch[Floats]  # (S,) V_B


@kernel
def bound_states(graph: Graph, state: DilatedState, states: Counts) -> None:
    """Occupancy bounds of all states; without a bonus u of the visited ones."""
    belief = state.belief
    if state.settings.bonus > 0.0:
        bounds_of_states(
            graph, state.policy, belief.columns, belief.fill, belief.reach, state.upper, state.lower
        )
    else:
        for k in range(states.shape[0] - 1):
            state.upper[states[k]] = largest_occupancy(graph, states[k], k, state.policy, belief)


@kernel
def estimate(
    graph: Graph, state: DilatedState, states: Counts, path: Counts, losses: Floats
) -> None:
    """Bounds, and the estimated loss to go (or whole loss) of the visited pairs."""
    settings = state.settings
    bound_states(graph, state, states)
    total, togo = 0.0, 0.0
    for k in range(path.shape[0]):
        total += losses[k]
    for back in range(path.shape[0]):
        k = path.shape[0] - 1 - back
        togo += losses[k]
        observed = total if settings.observed == WHOLE else togo
        bound = state.upper[states[k]]
        divide_by_bounds(state.policy, path, observed, k, bound, settings.gamma, state.seen)


@leaf
def worth_exploring(
    settings: DilatedSettings, weight: float, share: float, upper: float, lower: float
) -> float:
    """The part of an action in b(x); u - l is rounded up to zero where both are the same."""
    width = share * max(upper - lower, 0.0)
    worth = settings.exploring + settings.doubting * width
    return weight * worth / (share * upper + settings.gamma)


@kernel
def charge_bonus(graph: Graph, state: DilatedState) -> None:
    """b of all states but the last."""
    for x in range(state.local.shape[0] - 1):
        total = 0.0
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            share = state.policy[r]
            total += worth_exploring(state.settings, share, share, state.upper[x], state.lower[x])
        state.local[x] = state.settings.bonus * total


@kernel
def add_to_scores(graph: Graph, state: DilatedState, path: Counts) -> None:
    """Q^ - B, backwards; B with the policy and the set of today."""
    settings, belief, policy, score = state.settings, state.belief, state.policy, state.score
    state.value[state.value.shape[0] - 1] = 0.0
    for back in range(n_layers(graph)):
        k = n_layers(graph) - 1 - back
        score[path[k]] += state.seen.estimate[k]
        if settings.bonus > 0.0:
            extremes_over_layer(graph, k, belief.columns, state.value, None, belief.fill)
            for x in range(layer_begin(graph, k), layer_end(graph, k)):
                mean = 0.0
                for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                    later = settings.dilation * belief.fill.total[r]
                    score[r] -= state.local[x] + later
                    mean += policy[r] * later
                state.value[x] = state.local[x] + mean


@kernel
def weigh_states(graph: Graph, state: DilatedState) -> None:
    """The policy that the scores give, in all states but the last."""
    for x in range(state.value.shape[0] - 1):
        weigh_actions(state.policy, state.score, state.settings.eta, x, graph.n_actions)


@bandit_update(DilatedState)
@kernel
def update_dilated(
    graph: Graph, state: DilatedState, states: Counts, path: Counts, losses: Floats
) -> None:
    """Bounds and bonus with the set of this episode, then the counts."""
    has_bonus = state.settings.bonus > 0.0
    estimate(graph, state, states, path, losses)
    if has_bonus:
        charge_bonus(graph, state)
    add_to_scores(graph, state, path)
    if has_bonus:
        weigh_states(graph, state)
    else:
        for k in range(path.shape[0]):
            weigh_actions(state.policy, state.score, state.settings.eta, states[k], graph.n_actions)
    learn_transition(graph, state.belief, states, path)


@epoch_and_width.register(DilatedState)
@leaf
def epoch_of_dilated(state: DilatedState) -> tuple[int, float]:
    return state.belief.visits.clock[EPOCH], mean_width(state.belief.rows)
