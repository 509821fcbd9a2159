"""The two episode loops for feedback that comes at once: compiled, and through the two methods."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.evaluation.invariants import InvariantChecker, auditable
from advmdp.evaluation.run import Recorder
from advmdp.kernels.accounting.episode import note_certificate, open_episode
from advmdp.kernels.accounting.ledger import ITERATE, World
from advmdp.kernels.model.graph import Graph
from advmdp.kernels.runtime.targets import machine_code
from advmdp.learners.base import EstimatesLosses, offers, sees_all_losses, sees_the_sum
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
    done, size = recorder.episodes, 16
    for point in points[recorder.n_points :]:
        while done < point:
            stop = watch.observer.limit(done, min(int(point), done + size))
            stop = enter_context(learner, schedule, done, stop)
            begin = time.perf_counter()
            with one_thread:
                reached = loop.kernel(graph, world, stream.program, ledger, done, stop, *loop.state)
                if reached < stop:  # the fast path could not certify this episode's projection
                    loop.finish(ledger.states, ledger.path)
            if reached < stop:
                note_certificate(learner.kernel_state, ledger)
                reached += 1
            elif time.perf_counter() - begin < SLICE_SECONDS / 2:
                size *= 2
            done = reached
            if done == point:
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
    play_episode = episode_player(world, graph, learner, recorder)
    done = recorder.episodes
    for point in points[recorder.n_points :]:
        while done < point:
            enter_context(learner, schedule, done, done + 1)
            if checker:
                checker.before()
            ledger.losses[:] = stream.table(done)
            play_episode(done)
            if checker:
                checker.after(ledger.path, ledger.path_losses)
            stream.observe(ledger.path, ledger.path_losses)
            done += 1
            if done == point:
                recorder.record(done)
            watch(done, last=done == points[-1])


def episode_player(
    world: World, graph: Graph, learner: Any, recorder: Recorder
) -> Callable[[int], None]:
    """Plays an episode through ``policy()`` and ``update()``; the ledger holds its losses.

    What the learner offers is asked once: the answers take longer than an update.
    """
    layout, ledger = recorder.mdp.layout, recorder.ledger
    estimates, begin = offers(learner, EstimatesLosses), layout.layer_start[:-1]
    sees_all, sees_sum = sees_all_losses(learner), sees_the_sum(learner)
    opened = machine_code(open_episode, graph, world, np.zeros(layout.n_rows), 0, ledger)

    def play_episode(episode: int) -> None:
        opened(graph, world, checked_policy(layout, learner.policy()), episode, ledger)
        iterate = learner.iterate_loss(ledger.losses) if estimates else 0.0
        ledger.sums[ITERATE] += iterate
        states, actions = ledger.states - begin, ledger.path % layout.n_actions
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
