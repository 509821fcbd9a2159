"""Whole episodes whose feedback comes late: the world's move, the account, and what arrives.

``episode.play_episodes`` with a queue between the trajectory and the update.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..learners.interface import (
    add_certificate,
    add_estimates,
    current_policy,
    settle_update,
    solve_pending,
)
from ..learners.late_feedback import (
    LateEpisode,
    begin_late_update,
    close_arrivals,
    is_dropped,
    note_departure,
)
from ..model.graph import Floats, Graph
from ..model.losses import LossProgram, fill_losses, observe_path
from ..model.visits import Counts
from ..runtime.storage import Common, Lasting
from ..runtime.targets import kernel
from .episode import note_iterate, open_episode
from .ledger import ESTIMATED, Ledger, World

# Places in ``InFlight.clock``.
DEPARTED, ARRIVED = 0, 1


class Arrivals(NamedTuple):
    """When feedback comes; the learner does not see this."""

    first: Common[Counts]  # (T + 1,) after episode t arrive order[first[t]:first[t + 1]]
    order: Common[Counts]  # episodes by the time their feedback comes, then by number


class InFlight(NamedTuple):
    """Episodes whose feedback has not come: episode t is in place t modulo the C places.

    The fields of ``LateEpisode``, C of each.
    """

    states: Lasting[Counts]  # (C, L + 1)
    path: Lasting[Counts]  # (C, L)
    losses: Lasting[Floats]  # (C, L)
    bound: Lasting[Floats]  # (C, L)
    occupancy: Lasting[Floats]  # (C, L)
    learnt: Lasting[Counts]  # (C,)
    policy: Lasting[Floats]  # (C, R), or (C, 0)
    upper: Lasting[Floats]  # (C, S), or (C, 0)
    lower: Lasting[Floats]  # (C, S), or (C, 0)
    clock: Lasting[Counts]  # (2,) episodes departed, episodes arrived
    present: LateEpisode  # the one that departs, or is being learnt from


@kernel
def depart(graph: Graph, state: Any, episode: int, ledger: Ledger, in_flight: InFlight) -> None:
    """Put the trajectory of the ledger into the queue, with what is fixed today."""
    late = in_flight.present
    n_layers = ledger.path.shape[0]
    for k in range(n_layers):
        late.states[k] = ledger.states[k]
        late.path[k] = ledger.path[k]
        late.losses[k] = ledger.path_losses[k]
    late.states[n_layers] = ledger.states[n_layers]
    note_departure(graph, state, late)
    place = episode % in_flight.learnt.shape[0]
    for k in range(n_layers):
        in_flight.states[place, k] = late.states[k]
        in_flight.path[place, k] = late.path[k]
        in_flight.losses[place, k] = late.losses[k]
        in_flight.bound[place, k] = late.bound[k]
        in_flight.occupancy[place, k] = late.occupancy[k]
    in_flight.states[place, n_layers] = late.states[n_layers]
    in_flight.learnt[place] = late.learnt[0]
    for r in range(late.policy.shape[0]):
        in_flight.policy[place, r] = late.policy[r]
    for x in range(late.upper.shape[0]):
        in_flight.upper[place, x] = late.upper[x]
        in_flight.lower[place, x] = late.lower[x]
    in_flight.clock[DEPARTED] = episode + 1


@kernel
def take_next(arrivals: Arrivals, in_flight: InFlight) -> None:
    """Take the next arrival out of the queue, into ``present``."""
    place = arrivals.order[in_flight.clock[ARRIVED]] % in_flight.learnt.shape[0]
    in_flight.clock[ARRIVED] += 1
    late = in_flight.present
    n_layers = late.path.shape[0]
    for k in range(n_layers):
        late.states[k] = in_flight.states[place, k]
        late.path[k] = in_flight.path[place, k]
        late.losses[k] = in_flight.losses[place, k]
        late.bound[k] = in_flight.bound[place, k]
        late.occupancy[k] = in_flight.occupancy[place, k]
    late.states[n_layers] = in_flight.states[place, n_layers]
    late.learnt[0] = in_flight.learnt[place]
    for r in range(late.policy.shape[0]):
        late.policy[r] = in_flight.policy[place, r]
    for x in range(late.upper.shape[0]):
        late.upper[x] = in_flight.upper[place, x]
        late.lower[x] = in_flight.lower[place, x]


@kernel
def note_late_estimates(state: Any, ledger: Ledger, late: LateEpisode) -> None:
    """Account for the estimates of an arrival, for the four terms of the regret."""
    ledger.sums[ESTIMATED] = add_estimates(
        state, late.path, ledger.losses, 0.0, ledger.estimated, ledger.sums[ESTIMATED]
    )


@kernel
def play_late_episodes(
    graph: Graph,
    world: World,
    program: LossProgram,
    ledger: Ledger,
    start: int,
    stop: int,
    state: Any,
    reading: int,
    arrivals: Arrivals,
    in_flight: InFlight,
) -> int:
    """Episodes start .. stop - 1 of a learner of late feedback.

    Returns ``stop``, or the episode in which the step of an arrival could not be certified: call
    again from there once that step is finished.
    """
    for episode in range(start, stop):
        if in_flight.clock[DEPARTED] <= episode:
            fill_losses(program, world.seed0, world.seed1, episode, ledger.losses)
            open_episode(graph, world, current_policy(state).array, episode, ledger)
            note_iterate(graph, state, ledger)
            depart(graph, state, episode, ledger, in_flight)
            observe_path(program, ledger.path)
        while in_flight.clock[ARRIVED] < arrivals.first[episode + 1]:
            take_next(arrivals, in_flight)
            if is_dropped(state, reading, in_flight.present):
                continue
            moves = begin_late_update(graph, state, reading, in_flight.present)
            note_late_estimates(state, ledger, in_flight.present)
            if moves:
                if not solve_pending(graph, state, None):
                    return episode
                add_certificate(state, ledger.counts, ledger.worst)
            settle_update(graph, state)
        close_arrivals(graph, state)
    return stop
