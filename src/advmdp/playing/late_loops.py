"""The two loops of ``play`` for late feedback: compiled, and one episode at a time.

Both put every trajectory into a queue and learn from what arrives; they share the kernels, so both
give the same numbers.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.evaluation.recorder import Recorder
from advmdp.kernels.accounting.episode import note_certificate, open_episode
from advmdp.kernels.accounting.late_episodes import ARRIVED
from advmdp.kernels.accounting.ledger import ITERATE, World
from advmdp.learners.base import EstimatesLosses, offers
from advmdp.one_thread import one_thread_of
from advmdp.playing.late_queue import LateQueue
from advmdp.playing.watch import SLICE_SECONDS, Watch
from advmdp.steps.upper_occupancy import checked_policy
from advmdp.world.loss_streams import LossStream


def play_late_compiled(
    world: World,
    stream: LossStream,
    learner: Any,
    recorder: Recorder,
    points: NDArray[np.int64],
    watch: Watch,
    queue: LateQueue,
) -> None:
    """Slices of compiled episodes between checkpoints, each a fraction of a second long."""
    graph, ledger = recorder.mdp.layout.graph(), recorder.ledger
    loop, one_thread = learner.late_loop(queue), one_thread_of(learner)
    late = queue.in_flight.present
    done, size = recorder.episodes, 16
    for point in points[recorder.n_points :]:
        while done < point:
            stop = watch.observer.limit(done, min(int(point), done + size))
            begin = time.perf_counter()
            while done < stop:
                with one_thread:
                    done = loop.kernel(
                        graph, world, stream.program, ledger, done, stop, *loop.state
                    )
                    if done < stop:  # the fast path could not certify the step of an arrival
                        loop.finish(late.states, late.path)
                if done < stop:
                    note_certificate(learner.kernel_state, ledger)
            if time.perf_counter() - begin < SLICE_SECONDS / 2:
                size *= 2
            if done == point:
                recorder.record(done)
            watch(done, last=done == points[-1])


def play_late_protocol(
    world: World,
    stream: LossStream,
    learner: Any,
    recorder: Recorder,
    points: NDArray[np.int64],
    watch: Watch,
    queue: LateQueue,
) -> None:
    """One episode at a time through ``policy()``, ``depart`` and ``arrive``."""
    layout, ledger = recorder.mdp.layout, recorder.ledger
    graph, clock = layout.graph(), queue.in_flight.clock
    estimates = offers(learner, EstimatesLosses)
    done = recorder.episodes
    for point in points[recorder.n_points :]:
        while done < point:
            ledger.losses[:] = stream.table(done)
            open_episode(graph, world, checked_policy(layout, learner.policy()), done, ledger)
            ledger.sums[ITERATE] += learner.iterate_loss(ledger.losses) if estimates else 0.0
            learner.depart(done, ledger, queue)
            stream.observe(ledger.path, ledger.path_losses)
            while clock[ARRIVED] < queue.arrivals.first[done + 1]:
                learner.arrive(ledger, queue)
            done += 1
            if done == point:
                recorder.record(done)
            watch(done, last=done == points[-1])
