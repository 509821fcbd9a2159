"""The loop that runs a learner in a Gymnasium environment; it observes rewards only."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.arguments import function, instance
from advmdp.checks.range_policy import LossRange, checked_outside
from advmdp.display.progress_line import ProgressLine
from advmdp.errors import InvalidInput
from advmdp.evaluation.observations import Moment, Observer
from advmdp.evaluation.reward_run import EnvironmentRun
from advmdp.gym.checks import checked_environment, refuse_early_end
from advmdp.gym.episode import one_episode
from advmdp.gym.interrupts import Interrupts
from advmdp.gym.progress import EnvironmentProgress, Reporter, mean_reward
from advmdp.gym.recorder import RewardRecorder
from advmdp.gym.snapshots import KeptInFile, checked_keep, checked_snapshot
from advmdp.gym.tabular import Tabular
from advmdp.gym.unrolled import Unrolled
from advmdp.learners.adaptive.range_follower import RangeFollower
from advmdp.learners.base import Learner
from advmdp.learners.contract_checks import (
    checked_learner,
    is_made_for,
    sees_all_losses,
    takes_any_losses,
)
from advmdp.learners.tuning import checked_horizon, refuse_too_many_episodes
from advmdp.playing.contexts import checked_contexts, enter_context
from advmdp.playing.watch import Keep
from advmdp.seeds import seed_sequence
from advmdp.steps.upper_occupancy import checked_policy


def play(
    env: Any,
    learner: Learner,
    game: Unrolled,
    n_episodes: int,
    seed: int | np.random.SeedSequence = 0,
    *,
    progress: bool | Callable[[EnvironmentProgress], None] | None = None,
    record: Sequence[str] | None = None,
    every: int | None = None,
    callback: Callable[[Moment], None] | None = None,
    resume: Mapping[str, NDArray[Any]] | str | Path | None = None,
    keep: Keep | str | Path | None = None,
    contexts: Any = None,
    rewards_outside: str = "refuse",
) -> EnvironmentRun:
    """Play episodes of an environment with a learner that needs bandit feedback only.

    Ctrl-C ends the run after the current episode, and the rewards so far are returned (``stopped``
    says so); a second Ctrl-C raises ``KeyboardInterrupt`` at once.

    Parameters
    ----------
    env
        A Gymnasium environment with discrete spaces, or the id of one.
    learner
        Anything with ``policy()`` and ``update(trajectory)``, built on ``game.layout``.
    game
        What ``unroll`` or ``from_gymnasium`` returned for the environment.
    seed
        Determines the randomness of the environment and the actions that are sampled.
    progress
        True: a line on stderr.  A function: called a few times a second.
    record, every, callback
        As in ``advmdp.play``, without what needs the best policy: there is no regret.  The account
        of a ``Moment`` is an ``evaluation.reward_run.Earned``.
    resume
        A snapshot of the same run, or the file that ``keep`` wrote; all else is given as at the
        start, the learner fresh.  The rewards before are part of the result.  Environments that
        remember nothing but their random numbers between episodes go on with the same bits.
    keep
        The path of a file that is written every half a minute and at the end, also by Ctrl-C; or a
        function as in ``advmdp.play``.
    contexts
        The context of every episode, as in ``advmdp.play``.
    rewards_outside
        What to do with rewards outside ``game.rewards``: ``"refuse"`` ends the run, ``"clip"``
        moves them to the nearest end for the learner (``clipped`` counts them), ``"adapt"`` doubles
        the range, with a new beginning of the learner, until it holds them (``reward_range``, see
        ``advmdp.learners.adaptive.range_follower``).  The rewards of the result are those of the
        environment.

    >>> import advmdp as am, gymnasium
    >>> env = gymnasium.make("FrozenLake-v1", is_slippery=False)
    >>> game = am.gym.unroll(env, 8, am.Rewards(0, 1), starts=[0])
    >>> learner = am.UOBREPS(game.layout, n_episodes=20)
    >>> am.gym.play(env, learner, game, n_episodes=20).steps.shape
    (20,)
    """
    n_episodes = checked_horizon(n_episodes)
    env = checked_environment(env)
    _check_learner(env, learner, game)
    refuse_too_many_episodes(learner, n_episodes)
    outside = checked_outside(rewards_outside, "rewards_outside")
    if outside == "adapt" and not takes_any_losses(learner):
        learner = RangeFollower(learner, "rewards_outside")
    schedule = checked_contexts(contexts, learner, n_episodes)
    keep, resume = checked_keep(keep), checked_snapshot(resume)
    line = ProgressLine(n_episodes, figure=mean_reward) if progress is True else progress
    if line is not None and line is not False:
        function(line, "progress", "progress(report)")
    recorder = RewardRecorder(env, game, learner, n_episodes, seed_sequence(seed))
    observer = Observer(recorder, record, every, callback, has_account=False)
    recorder.begin(resume)
    report = Reporter(line or None, recorder)
    begin = time.perf_counter()
    with Interrupts() as interrupts:
        while recorder.episodes < n_episodes and not interrupts.asked:
            t = recorder.episodes
            enter_context(learner, schedule, t, t + 1)
            policy = checked_policy(game.layout, learner.policy())
            episode = one_episode(env, game, policy, recorder.first_observation(), recorder.rng)
            losses, clipped = game.losses_of(episode.rewards, outside)
            learner.update(episode.trajectory(losses))
            recorder.add(episode, clipped)
            report()
            observer(recorder.episodes)
            if keep is not None:
                keep(recorder.episodes, recorder.snapshot)
    recorder.seconds += time.perf_counter() - begin
    if isinstance(keep, KeptInFile):
        keep(recorder.episodes, recorder.snapshot, last=True)
    run = replace(recorder.run(), recorded=observer.recorded())
    if isinstance(learner, RangeFollower):
        run = replace(run, reward_range=_in_rewards(learner.range, game))
    return run


def _in_rewards(losses: LossRange, game: Unrolled) -> LossRange:
    """The range of the losses in the unit of the rewards, whose largest is the smallest loss."""
    low, high = game.rewards.to_rewards([losses.high, losses.low]).tolist()
    return losses._replace(low=low, high=high)


def _check_learner(env: Any, learner: Any, game: Unrolled) -> None:
    """The learner, the game and the environment must go together."""
    checked_learner(learner)
    instance(game, Unrolled, "game")
    if not is_made_for(learner, game.layout):
        raise InvalidInput("play: the learner has another layout; build it on game.layout")
    if sees_all_losses(learner):
        raise InvalidInput(
            "play: an environment reveals only the rewards of the path; "
            "choose a learner with bandit feedback"
        )
    if isinstance(game, Tabular):
        refuse_early_end(env, game.horizon, "the table knows of no such end")
    elif game.pooled:
        refuse_early_end(env, game.horizon, "pooled counts are for what does not change over time")
