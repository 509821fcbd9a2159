"""Late feedback of the mirror-descent family: one step for every arrival."""

from __future__ import annotations

from ...model.graph import Graph
from ...model.visits import EPISODES
from ...runtime.targets import kernel, leaf
from ..late_feedback import (
    ADAPTED,
    TODAY,
    LateEpisode,
    begin_late_update,
    episodes_learnt,
    note_departure,
)
from .mirror_descent import IssuedEpisode, MirrorState, bound_visits, estimate_losses, take_in


@episodes_learnt.register(MirrorState)
@leaf
def episodes_of_mirror(state: MirrorState) -> int:
    return state.visits.clock[EPISODES]  # type: ignore[no-any-return]


@kernel
def bound_late_visits(graph: Graph, state: MirrorState, late: LateEpisode) -> None:
    """The bounds of its trajectory under today's policy and set, into ``state.visited``."""
    measure = state.step.measure
    today = IssuedEpisode(measure.policy, measure.mass, state.rows)
    bound_visits(graph, state, today, late.states, late.path)


@note_departure.register(MirrorState)
@kernel
def note_bounds(graph: Graph, state: MirrorState, late: LateEpisode) -> None:
    bound_late_visits(graph, state, late)
    for k in range(late.path.shape[0]):
        late.bound[k] = state.visited.bound[k]
        late.occupancy[k] = state.visited.occupancy[k]
    late.learnt[0] = state.visits.clock[EPISODES]


@begin_late_update.register(MirrorState)
@kernel
def begin_late_step(graph: Graph, state: MirrorState, reading: int, late: LateEpisode) -> bool:
    """False when the iterate does not move."""
    visited = state.visited
    if reading in (ADAPTED, TODAY):
        bound_late_visits(graph, state, late)
    for k in range(late.path.shape[0]):
        if reading == ADAPTED:
            visited.bound[k] = max(visited.bound[k], late.bound[k])
        elif reading != TODAY:
            visited.bound[k] = late.bound[k]
        visited.occupancy[k] = late.occupancy[k]
    measure = state.step.measure
    today = IssuedEpisode(measure.policy, measure.mass, state.rows)
    estimate_losses(graph, state, today, late.path, late.losses)
    return take_in(graph, state, today, late.states, late.path, late.losses)  # type: ignore[no-any-return]
