"""The two episode loops for feedback that comes at once: compiled, and through the two methods."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.evaluation.invariants import InvariantChecker, auditable
from advmdp.evaluation.recorder import Recorder
from advmdp.kernels.accounting.episode import note_certificate, play_slice
from advmdp.kernels.accounting.ledger import ITERATE, World
from advmdp.kernels.accounting.protocol import move_of_world
from advmdp.kernels.model.graph import Graph
from advmdp.kernels.model.losses import LossProgram
from advmdp.kernels.runtime.targets import machine_code
from advmdp.learners.base import EstimatesLosses, offers
from advmdp.learners.compiled import policy_vectors
from advmdp.learners.contract_checks import sees_all_losses, sees_the_sum
from advmdp.learners.feedback import Aggregate, FullInformation, Trajectory
from advmdp.one_thread import one_thread_of
from advmdp.playing.contexts import enter_context
from advmdp.playing.watch import SLICE_SECONDS, Watch
from advmdp.steps.upper_occupancy import checked_policy
from advmdp.world.loss_streams import LossStream


def play_compiled(
    world: World,
    stream: LossStream,
    learner: Any,
    recorder: Recorder,
    points: NDArray[np.int64],
    watch: Watch,
    check: bool,
    schedule: NDArray[np.int64] | None,
) -> None:
    """Slices of compiled episodes between checkpoints, each a fraction of a second long."""
    graph = recorder.mdp.layout.graph()
    ledger = recorder.ledger
    loop, one_thread = learner.compiled_loop(), one_thread_of(learner)
    notes_points = loop.kernel is play_slice and not watch.looks_at_checkpoints
    room = recorder.room if notes_points else 0
    done, size = recorder.episodes, 16
    while recorder.n_points < len(points):
        coming = points[recorder.n_points :]
        stop = min(int(coming[: max(room, 1)][-1]), done + size)
        stop = enter_context(learner, schedule, done, watch.observer.limit(done, stop))
        noted = recorder.expect(coming[:room])
        begin = time.perf_counter()
        with one_thread:
            reached = loop.kernel(
                graph, world, stream.program, ledger, noted, done, stop, *loop.state
            )
            if reached < stop:  # the fast path could not certify this episode's projection
                loop.finish(ledger.states, ledger.path)
        recorder.add_noted()
        if reached < stop:
            note_certificate(learner.kernel_state, ledger)
            reached += 1
        elif time.perf_counter() - begin < SLICE_SECONDS / 2:
            size *= 2
        done = reached
        if recorder.n_points < len(points) and done == points[recorder.n_points]:
            recorder.record(done)
        watch(done, last=done == points[-1])


def play_protocol(
    world: World,
    stream: LossStream,
    learner: Any,
    recorder: Recorder,
    points: NDArray[np.int64],
    watch: Watch,
    check: bool,
    schedule: NDArray[np.int64] | None,
) -> None:
    """One episode at a time through ``policy()`` and ``update()``."""
    graph = recorder.mdp.layout.graph()
    ledger = recorder.ledger
    checker = InvariantChecker(auditable(learner)) if check else None
    play_episode = episode_player(world, graph, learner, recorder, stream.program)
    done = recorder.episodes
    for point in points[recorder.n_points :]:
        while done < point:
            enter_context(learner, schedule, done, done + 1)
            if checker:
                checker.before()
            if stream.program is None:
                ledger.losses[:] = stream.table(done)
            play_episode(done)
            if checker:
                checker.after(ledger.path, ledger.path_losses)
            if stream.program is None:
                stream.observe(ledger.path, ledger.path_losses)
            done += 1
            if done == point:
                recorder.record(done)
            watch(done, last=done == points[-1])


def episode_player(
    world: World,
    graph: Graph,
    learner: Any,
    recorder: Recorder,
    program: LossProgram | None = None,
) -> Callable[[int], None]:
    """Plays an episode through ``policy()`` and ``update()``.

    Without a program of losses the ledger must hold them.  What the learner offers is asked once:
    the answers take longer than an update.
    """
    layout, ledger = recorder.mdp.layout, recorder.ledger
    n_layers, has_all_actions = layout.n_layers, layout.stands_for is None
    vectors = policy_vectors(learner)
    policy_of, is_flat = vectors or learner.policy, vectors is not None
    estimates = offers(learner, EstimatesLosses)
    sees_all, sees_sum = sees_all_losses(learner), sees_the_sum(learner)
    rows, no_walk = np.zeros(layout.n_rows), np.zeros(n_layers + 1, dtype=np.int64)
    moved = machine_code(
        move_of_world, graph, world, program, rows, 0, ledger, no_walk, no_walk[:-1]
    )

    def play_episode(episode: int) -> None:
        policy = policy_of()
        flat = policy if is_flat else layout.whole_pairs(policy)
        states, actions = np.empty(n_layers + 1, np.int64), np.empty(n_layers, np.int64)
        if (
            not has_all_actions
            or flat is None
            or not moved(graph, world, program, flat, episode, ledger, states, actions)
        ):
            flat = checked_policy(layout, policy)  # says what is wrong, or converts
            moved(graph, world, program, flat, episode, ledger, states, actions)
        iterate = learner.iterate_loss(ledger.losses) if estimates else 0.0
        ledger.sums[ITERATE] += iterate
        if sees_all:
            learner.update(FullInformation(states, actions, ledger.losses.copy()))
        elif sees_sum:
            total = np.cumsum(ledger.path_losses)[-1]  # in the order of the kernels
            learner.update(Aggregate(states, actions, float(total)))
        else:
            learner.update(Trajectory(states, actions, ledger.path_losses.copy()))
        if estimates:
            learner.account_for_last(ledger, iterate)

    return play_episode
