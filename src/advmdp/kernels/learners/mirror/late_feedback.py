"""Feedback that comes some episodes after its policy was played.

The learner has moved meanwhile.  What then divides the loss of episode j, with u_j the bound of the
policy and the set that it was played with, and u that of today:

    OWN_TIME   u_j            unbiased up to gamma, with a variance that the delay lets grow
    ADAPTED    max(u_j, u)    the delay-adapted denominator of Jin, Lancewicki, Luo, Mansour and
                              Rosenberg (2022): what is rare today counts no more than it did then
    TODAY      u              a control: the pair was drawn with u_j
    WAITING    u_j            a control: only of episodes that were played with today's policy
"""

from __future__ import annotations

from typing import NamedTuple

from ...model.graph import Floats, Graph
from ...model.visits import EPISODES, Counts
from ...runtime.storage import Scratch
from ...runtime.targets import kernel
from .mirror_descent import IssuedEpisode, MirrorState, bound_visits, estimate_losses, take_in

OWN_TIME, ADAPTED, TODAY, WAITING = 0, 1, 2, 3


class LateEpisode(NamedTuple):
    """A trajectory with the bounds of its own time."""

    states: Scratch[Counts]  # (L + 1,)
    path: Scratch[Counts]  # (L,)
    losses: Scratch[Floats]  # (L,)
    bound: Scratch[Floats]  # (L,) u_j(x_k, a_k)
    occupancy: Scratch[Floats]  # (L,) q^_j(x_k, a_k)
    learnt: Scratch[Counts]  # (1,) episodes learnt from when it was played


@kernel
def bound_present_visits(graph: Graph, state: MirrorState, states: Counts, path: Counts) -> None:
    """The bounds of a trajectory under today's policy and set, into ``state.visited``."""
    measure = state.step.measure
    bound_visits(
        graph, state, IssuedEpisode(measure.policy, measure.mass, state.rows), states, path
    )


@kernel
def is_dropped(state: MirrorState, reading: int, late: LateEpisode) -> bool:
    """Whether a learner that waits has moved since the episode was played."""
    return reading == WAITING and late.learnt[0] != state.visits.clock[EPISODES]


@kernel
def begin_late_update(graph: Graph, state: MirrorState, reading: int, late: LateEpisode) -> bool:
    """``begin_update`` for an episode of the past; False when the iterate does not move."""
    visited = state.visited
    if reading in (ADAPTED, TODAY):
        bound_present_visits(graph, state, late.states, late.path)
    for k in range(late.path.shape[0]):
        if reading == ADAPTED:
            visited.bound[k] = max(visited.bound[k], late.bound[k])
        elif reading != TODAY:
            visited.bound[k] = late.bound[k]
        visited.occupancy[k] = late.occupancy[k]
    measure = state.step.measure
    today = IssuedEpisode(measure.policy, measure.mass, state.rows)
    estimate_losses(graph, state, today, late.path, late.losses)
    return take_in(graph, state, today, late.states, late.path, late.losses)
