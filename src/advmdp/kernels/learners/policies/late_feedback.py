"""Delay-adapted policy optimisation (Lancewicki, Rosenberg, Sotnikov 2023): one arrival.

With pi_j, u_j and l_j of the time of playing, pi of today, and r_j = pi_j / max(pi_j, pi),

    estimate_late       Q^_j(x, a) = r_j (loss to go) 1{visited} / (u_j(x, a) + gamma)
    charge_late_bonus   b_j(x) = sum_a pi r_j (3 gamma L + L (u_j - l_j)) / (u_j + gamma)
    add_to_scores       B_j from b_j, with the policy and the set of today

The scores of all arrivals between two episodes are added up before the policy moves and before the
set is renewed: their order does not matter.
"""

from __future__ import annotations

from ...model.graph import Graph
from ...model.visits import EPISODES, record
from ...runtime.targets import kernel, leaf
from ..late_feedback import (
    ADAPTED,
    TODAY,
    LateEpisode,
    begin_late_update,
    close_arrivals,
    episodes_learnt,
    note_departure,
)
from .bandit_state import divide_by_bounds, renew_set
from .dilated_bonus import (
    DilatedState,
    add_to_scores,
    bound_states,
    weigh_states,
    worth_exploring,
)

# Places in ``DilatedState.arrived``.
TAKEN, OPENS = 0, 1


@episodes_learnt.register(DilatedState)
@leaf
def episodes_of_policy(state: DilatedState) -> int:
    return state.belief.visits.clock[EPISODES]  # type: ignore[no-any-return]


@note_departure.register(DilatedState)
@kernel
def note_policy(graph: Graph, state: DilatedState, late: LateEpisode) -> None:
    bound_states(graph, state, late.states)
    for k in range(late.path.shape[0]):
        late.bound[k] = state.policy[late.path[k]] * state.upper[late.states[k]]
        late.occupancy[k] = 0.0  # the learner has none
    for r in range(late.policy.shape[0]):
        late.policy[r] = state.policy[r]
    for x in range(late.upper.shape[0]):
        late.upper[x] = state.upper[x]
        late.lower[x] = state.lower[x]
    late.learnt[0] = state.belief.visits.clock[EPISODES]


@leaf
def adapted_share(reading: int, then: float, now: float) -> float:
    """r = pi_j / max(pi_j, pi): an action that was rare then and is likely now counts less."""
    if reading != ADAPTED or now <= then:
        return 1.0
    return then / now


@kernel
def estimate_late(state: DilatedState, reading: int, late: LateEpisode) -> None:
    """The estimated loss to go of the visited pairs."""
    togo = 0.0
    for back in range(late.path.shape[0]):
        k = late.path.shape[0] - 1 - back
        togo += late.losses[k]
        row = late.path[k]
        observed = togo * adapted_share(reading, late.policy[row], state.policy[row])
        bound = late.upper[late.states[k]]
        gamma = state.settings.gamma
        divide_by_bounds(late.policy, late.path, observed, k, bound, gamma, state.seen)


@kernel
def charge_late_bonus(graph: Graph, state: DilatedState, reading: int, late: LateEpisode) -> None:
    """b_j of all states but the last."""
    for x in range(state.local.shape[0] - 1):
        total = 0.0
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            then, now = late.policy[r], state.policy[r]
            weight = now * adapted_share(reading, then, now)
            total += worth_exploring(state.settings, weight, then, late.upper[x], late.lower[x])
        state.local[x] = state.settings.bonus * total


@begin_late_update.register(DilatedState)
@kernel
def take_arrival(graph: Graph, state: DilatedState, reading: int, late: LateEpisode) -> bool:
    """Scores and counts; the policy and the set follow when all has arrived."""
    if reading == TODAY:
        note_policy(graph, state, late)
    estimate_late(state, reading, late)
    if state.settings.bonus > 0.0:
        charge_late_bonus(graph, state, reading, late)
    add_to_scores(graph, state, late.path)
    belief, arrived = state.belief, state.arrived
    arrived[TAKEN] += 1
    if record(graph, belief.visits, belief.rows.status, late.states, late.path):
        arrived[OPENS] = 1
    return False


@close_arrivals.register(DilatedState)
@kernel
def move_policy(graph: Graph, state: DilatedState) -> None:
    """The policy of all scores, and the set of all counts."""
    arrived = state.arrived
    if arrived[TAKEN] > 0:
        weigh_states(graph, state)
        renew_set(graph, state.belief, arrived[TAKEN], arrived[OPENS] == 1)
    arrived[TAKEN] = 0
    arrived[OPENS] = 0
