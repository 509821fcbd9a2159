"""Play: a learner against a world, with exact accounting.

``play`` runs built-in learners and loss processes in compiled code, everything else through the
two methods of the ``Learner`` protocol.  Both use the same kernels and the same counter-based
random numbers: same seed, same trajectories, same figures.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.arguments import flag, function, instance
from advmdp.checks.numbers import shown
from advmdp.checks.range_policy import checked_outside
from advmdp.display.progress_line import ProgressLine
from advmdp.errors import InvalidInput
from advmdp.evaluation.observations import Moment, Observer
from advmdp.evaluation.recorder import Recorder, with_current_names
from advmdp.evaluation.run import Run, checked_checkpoints
from advmdp.kernels.accounting.ledger import World
from advmdp.layout import Layout
from advmdp.learners.adaptive.range_follower import RangeFollower
from advmdp.learners.base import Learner, TakesLateFeedback, offers, plays_compiled
from advmdp.learners.contract_checks import (
    check_feedback,
    check_layout,
    check_range,
    checked_learner,
    takes_any_losses,
)
from advmdp.learners.tuning import checked_horizon, refuse_too_many_episodes
from advmdp.playing.contexts import checked_contexts
from advmdp.playing.late_loops import play_late_compiled, play_late_protocol
from advmdp.playing.late_queue import LateQueue
from advmdp.playing.loops import play_compiled, play_protocol
from advmdp.playing.snapshots import part_of, restore_learner, stateful
from advmdp.playing.watch import Keep, Progress, Watch
from advmdp.seeds import seed_words
from advmdp.world.clipped_losses import ClippedStream, stream_leaves_range, with_range
from advmdp.world.delays import DelayProcess, checked_delays
from advmdp.world.loss_streams import LossProcess, checked_process
from advmdp.world.mdp import LayeredMDP


def play(
    mdp: LayeredMDP,
    losses: LossProcess,
    learner: Learner,
    n_episodes: int,
    seed: int | np.random.SeedSequence = 0,
    *,
    checkpoints: Any = None,
    check: bool = False,
    compiled: bool | None = None,
    progress: bool | Callable[[Progress], None] | None = None,
    record: Sequence[str] | None = None,
    every: int | None = None,
    callback: Callable[[Moment], None] | None = None,
    resume: Mapping[str, NDArray[Any]] | None = None,
    keep: Keep | None = None,
    contexts: Any = None,
    delays: DelayProcess | None = None,
    in_flight: int | None = None,
    losses_outside: str = "refuse",
    feedback: str | None = None,
) -> Run:
    """Play episodes and account for them exactly.

    Parameters
    ----------
    mdp, losses
        The world: the true transition, and a process from ``advmdp.losses``.
    learner
        Anything with ``policy()`` and ``update(trajectory)``.
    n_episodes
        Episodes of this call.  A learner that has played before goes on learning, within the
        horizon that it was made for; the world begins anew.
    seed
        Fixes losses and trajectories.  Two learners with one seed meet the same random numbers.
    checkpoints
        Numbers of episodes at which the account is taken; log-spaced by default.
    check
        Verify the invariants of the algorithm in every episode (slow; UOB-REPS only).
    compiled
        None: compiled code where possible.  False: the protocol loop.  True: insist.
    progress
        True: a line on stderr.  A function: called a few times a second with a ``Progress``.
    record
        Names of quantities to record, such as ``["policy", "q", "gap", "width"]``; the table is in
        ``advmdp.evaluation.observations``.  They are in ``run.recorded``: ``run.recorded["gap"]``
        has a row for each of ``run.recorded.episodes``.  A resumed run records from there on.
    every
        Episodes between two records, and between two calls of ``callback``; at the checkpoints by
        default.  The compiled loop pauses for them, and no number of the run changes.
    callback
        Called with a ``Moment``: the episodes played, the learner and the account.  What it raises
        ends the run.
    resume
        A snapshot of the same run: the episodes that it has behind it are not played again, and
        the result is the same to the last bit.  Everything else is given as at the start, the
        learner fresh.
    keep
        Called at every checkpoint and after every slice of a fraction of a second (every episode,
        in the protocol loop) with the episodes played and a function that takes a snapshot: names
        and arrays, nothing else.  What ``keep`` raises ends the run.
    contexts
        The context of every episode, one of 0, 1, ..., for a learner that takes them
        (``advmdp.PerContext``); it is told before its policy is asked for.
    delays
        A process of ``advmdp.delays``: trajectory and losses of an episode come so many episodes
        later, out of order, or never.  The learner must know late feedback (``DelayedUOBREPS``).
        ``run.feedback_times`` says when it came.
    in_flight
        So many episodes are played with one policy before the feedback of any comes: the same as
        ``delays=advmdp.delays.Blocks(in_flight)``.
    losses_outside
        What to do with a process of losses in any unit (``any_losses=True``) and a learner that
        needs them in [0, 1].  ``"refuse"`` it.  ``"clip"`` moves each loss to the nearest end: the
        run, its regret and its best policy are about the clipped losses, and ``run.clipped`` counts
        them.  ``"adapt"``: the learner sees losses in units of a range that is doubled, with a new
        beginning of the learner, whenever one leaves it; the run is about the losses as they are,
        and ``run.loss_range`` is the last range.  It is played outside of compiled code, without
        the four terms.  What it guarantees is said in ``advmdp.learners.adaptive.range_follower``.
    feedback
        What can be seen at most: ``"full"``, ``"bandit"`` or ``"aggregate"`` (the sum of an
        episode's losses); a learner that needs more is refused.  By default every learner is shown
        what it declares.

    >>> import advmdp as am
    >>> mdp = am.families.random_mdp((1, 2, 2, 1), 2, seed=0)
    >>> mean = [np.full((n, 2), [0.2, 0.8]) for n in (1, 2, 2)]
    >>> learner = am.UOBREPS(mdp.layout, n_episodes=2000)
    >>> run = am.play(mdp, am.losses.Stochastic(mean), learner, n_episodes=2000, seed=1)
    >>> bool(run.regret[-1] < 0.2 * 2000 * 3 * 0.6)
    True
    >>> bool(np.allclose(run.decomposition.total(), run.regret))
    True
    """
    n_episodes = checked_horizon(n_episodes)
    points = checked_checkpoints(checkpoints, n_episodes)
    report = (
        ProgressLine(n_episodes) if progress is True else None if progress is False else progress
    )
    _check_arguments(losses, learner, report, resume, keep)
    check, compiled = flag(check, "check"), None if compiled is None else flag(compiled, "compiled")
    layout = instance(mdp, LayeredMDP, "mdp").layout
    check_layout(learner, layout, "play")
    check_feedback(learner, feedback, "feedback")
    refuse_too_many_episodes(learner, n_episodes)
    schedule = checked_contexts(contexts, learner, n_episodes)
    outside = checked_outside(losses_outside, "losses_outside")
    stream = with_range(losses.begin(layout, seed), outside)
    if outside == "adapt" and stream_leaves_range(stream) and not takes_any_losses(learner):
        learner = RangeFollower(learner, "losses_outside")
    stream.check_length(n_episodes)
    check_range(learner, stream, "play")
    process = _checked_late(delays, in_flight, learner, check, schedule)
    can_compile = plays_compiled(learner) and stream.program is not None and not check
    if compiled and not can_compile:
        raise InvalidInput(
            "play: no compiled loop for this learner or loss process, or check=True; "
            "leave compiled=None"
        )
    words = seed_words(seed)
    world = World(np.array(mdp.flat), *words)
    recorder = Recorder(mdp, learner, words)
    observer = Observer(recorder, record, every, callback)
    queue = _new_queue(process, learner, layout, n_episodes, words)
    if resume is not None:
        resume = with_current_names(resume)
        recorder.check_resumable(resume, points)
        if queue is not None:
            queue.restore(part_of("late", resume), int(resume["episodes"]))
        stateful(stream).restore(part_of("losses", resume))
        restore_learner(learner, resume, n_episodes)
        recorder.restore(resume)
    in_kernels = can_compile and compiled is not False
    begin = time.perf_counter()
    watch = Watch(recorder, stream, report, keep, observer, queue)
    if queue is None:
        loop = play_compiled if in_kernels else play_protocol
        loop(world, stream, learner, recorder, points, watch, check, schedule)
    else:
        play_late = play_late_compiled if in_kernels else play_late_protocol
        play_late(world, stream, learner, recorder, points, watch, queue)
    run = recorder.run(time.perf_counter() - begin, compiled=in_kernels)
    return replace(
        run,
        recorded=observer.recorded(),
        clipped=stream.clipped_in(n_episodes) if isinstance(stream, ClippedStream) else 0,
        loss_range=learner.range if isinstance(learner, RangeFollower) else None,
        feedback_times=None if queue is None else queue.summary(),
    )


def _new_queue(
    process: DelayProcess | None,
    learner: Any,
    layout: Layout,
    n_episodes: int,
    words: tuple[int, int],
) -> LateQueue | None:
    """The queue of a run with late feedback, with room for what the learner keeps."""
    if process is None:
        return None
    return LateQueue(layout, process, n_episodes, words, learner.keeps_policies)


def _check_arguments(losses: Any, learner: Any, progress: Any, resume: Any, keep: Any) -> None:
    """Reject what has not the form that ``play`` needs."""
    checked_process(losses)
    checked_learner(learner)
    if progress is not None:
        function(progress, "progress", "progress(report)")
    if keep is not None:
        function(keep, "keep", "keep(episodes, snapshot)")
    if resume is not None and not isinstance(resume, Mapping):
        raise InvalidInput(f"resume: give a snapshot, names and arrays, not {shown(resume)}")


def _checked_late(
    delays: Any, in_flight: Any, learner: Any, check: bool, schedule: Any
) -> DelayProcess | None:
    """The delays, for a learner that knows late feedback; None when feedback comes at once."""
    process = checked_delays(delays, in_flight)
    if process is not None and not offers(learner, TakesLateFeedback):
        raise InvalidInput(
            f"delays: {type(learner).__name__} learns from an episode before the next one begins; "
            "play a learner that knows late feedback, such as DelayedUOBREPS"
        )
    if process is not None and (check or schedule is not None):
        raise InvalidInput("delays: leave out check and contexts, which are for feedback at once")
    return process
