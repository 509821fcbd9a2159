"""Whole episodes: the world's move, the exact accounting, the learner's update.

The protocol loop in ``advmdp.play`` calls ``open_episode`` (``protocol``) and the learner's own
methods; the compiled loop below calls the same kernels, so both give the same numbers.
"""

from __future__ import annotations

from typing import Any

from ..learners.interface import (
    add_certificate,
    add_estimates,
    begin_update,
    current_policy,
    iterate_loss,
    settle_update,
    solve_pending,
)
from ..model.flow import expected_loss, forward_shared
from ..model.graph import Floats, Graph
from ..model.losses import LossProgram, fill_losses, observe_path
from ..model.trajectory import draw_trajectory
from ..runtime.targets import kernel
from ..runtime.threads import align_at_episode, align_at_step, barrier, shared
from .evaluation_point import NEVER, Points, note_point
from .ledger import ESTIMATED, EXPECTED, ITERATE, REALISED, Ledger, World
from .observers import observe_after, observe_before, observe_end


@kernel
def open_episode(graph: Graph, world: World, policy: Floats, episode: int, ledger: Ledger) -> None:
    """Draw the trajectory of ``policy`` and account for it; the ledger holds the losses."""
    draw_trajectory(
        graph,
        policy,
        world.transitions,
        world.seed0,
        world.seed1,
        episode,
        ledger.states,
        ledger.path,
    )
    forward_shared(graph, world.transitions, policy, ledger.mass, ledger.flow)
    ledger.sums[EXPECTED] += expected_loss(graph, policy, ledger.mass, ledger.losses)
    for k in range(ledger.path.shape[0]):
        ledger.path_losses[k] = ledger.losses[ledger.path[k]]
        ledger.sums[REALISED] += ledger.path_losses[k]
    for r in shared(0, ledger.total.shape[0]):
        ledger.total[r] += ledger.losses[r]
    barrier()


@kernel
def note_iterate(graph: Graph, state: Any, ledger: Ledger) -> float:
    """Account for <q^_t, l_t> before the update; returns it."""
    iterate: float = iterate_loss(graph, state, ledger.losses)
    ledger.sums[ITERATE] += iterate
    return iterate


@kernel
def note_estimates(state: Any, ledger: Ledger, iterate: float) -> None:
    """Account for the estimated losses of the episode, for the four terms of the regret."""
    ledger.sums[ESTIMATED] = add_estimates(
        state, ledger.path, ledger.losses, iterate, ledger.estimated, ledger.sums[ESTIMATED]
    )


@kernel
def note_certificate(state: Any, ledger: Ledger) -> None:
    """Account for the certificate of one step."""
    add_certificate(state, ledger.counts, ledger.worst)


@kernel
def play_episodes(
    graph: Graph,
    world: World,
    program: LossProgram,
    ledger: Ledger,
    start: int,
    stop: int,
    state: Any,
    observer: Any,
) -> int:
    """Episodes start .. stop - 1 of any learner, with or without an observer.

    Returns ``stop``, or the episode whose step the fast path could not certify: everything of that
    episode is done except ``finish_safely``.
    """
    for episode in range(start, stop):
        align_at_episode()
        fill_losses(program, world.seed0, world.seed1, episode, ledger.losses)
        open_episode(graph, world, current_policy(state).array, episode, ledger)
        iterate = note_iterate(graph, state, ledger)
        observe_before(graph, world, state, ledger, observer)
        moves = begin_update(
            graph, state, ledger.states, ledger.path, ledger.path_losses, ledger.losses
        )
        note_estimates(state, ledger, iterate)
        observe_after(graph, world, state, ledger, observer)
        observe_path(program, ledger.path)
        if moves:
            align_at_step()
            if not solve_pending(graph, state, None):
                return episode
            note_certificate(state, ledger)
        settle_update(graph, state)
    observe_end(graph, world, state, ledger, observer)
    return stop


@kernel
def play_slice(
    graph: Graph,
    world: World,
    program: LossProgram,
    ledger: Ledger,
    points: Points,
    start: int,
    stop: int,
    state: Any,
    observer: Any,
) -> int:
    """``play_episodes`` with the evaluation points that lie among them: they cost no way back.

    ``points`` has room for all of them.  An episode that is left to ``finish_safely`` is at no
    point yet.
    """
    done = start
    while done < stop:
        at = points.at[points.found[0]] if points.found[0] < points.at.shape[0] else NEVER
        pause = min(stop, at)
        done = play_episodes(graph, world, program, ledger, done, pause, state, observer)
        if done < pause:
            return done
        if done == at:
            note_point(graph, world, ledger, points, state)
    return stop
