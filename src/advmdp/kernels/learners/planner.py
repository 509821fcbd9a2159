"""Rolling planners: the best policy if the coming losses were like those of the recent past."""

from __future__ import annotations

from typing import NamedTuple

from ..model.empirical import greedy
from ..model.graph import Floats, Graph, layer_begin, layer_end, n_layers, row_dot
from ..model.recent import Recent, remember
from ..model.transition import Transition, count_path, imagine_row
from ..model.visits import Counts
from ..runtime.storage import Lasting, Number, Scratch
from ..runtime.targets import kernel
from .interface import full_update


class PlannerState(NamedTuple):
    """The transition, and what the next episode is expected to cost."""

    policy: Lasting[Floats]  # (R,)
    transition: Transition
    forgetting: Number[float]  # g, used where the ring has no rows
    recent: Recent  # its mean is the forecast
    clock: Lasting[Counts]  # (1,) episodes
    costs: Scratch[Floats]  # (R,) Q
    value: Scratch[Floats]  # (S,) V


@kernel
def plan(graph: Graph, state: PlannerState) -> None:
    """Backward induction on the forecast; without one, the policy stays as it is."""
    if state.clock[0] == 0:
        return
    state.value[state.value.shape[0] - 1] = 0.0
    for back in range(n_layers(graph)):
        k = n_layers(graph) - 1 - back
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                imagine_row(graph, state.transition, r, state.value)
                behind = row_dot(graph, r, state.transition.chance, state.value)
                state.costs[r] = state.recent.mean[r] + behind
            state.value[x] = greedy(graph, x, state.costs, state.policy)


@full_update(PlannerState)
@kernel
def update_planner(
    graph: Graph, state: PlannerState, states: Counts, path: Counts, losses: Floats
) -> None:
    """Count the trajectory, renew the forecast, plan again.

    With a ring the forecast is the mean of its tables; without one it is F <- g F + l, which has
    the same plan as the mean with weights g^age.
    """
    count_path(graph, state.transition, states, path)
    if state.recent.tables.shape[0] > 0:
        remember(state.recent, state.clock[0], losses)
    else:
        for r in range(losses.shape[0]):
            state.recent.mean[r] = state.forgetting * state.recent.mean[r] + losses[r]
    state.clock[0] += 1
    plan(graph, state)
