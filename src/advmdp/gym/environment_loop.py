"""The loop that runs a learner in a Gymnasium environment; it observes rewards only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.argument_checks import instance, with_methods
from advmdp.errors import InvalidInput
from advmdp.gym.unrolled import Unrolled
from advmdp.kernels.model.trajectory import pick
from advmdp.layout import Floats
from advmdp.learners.base import Learner, checked_learner, is_made_for, sees_all_losses
from advmdp.learners.feedback import Trajectory
from advmdp.learners.tuning import checked_horizon, refuse_too_many_episodes
from advmdp.seeds import seed_sequence
from advmdp.steps.upper_occupancy import checked_policy


@dataclass(frozen=True)
class EnvironmentRun:
    """The episodes of an environment; entry t of every array belongs to episode t."""

    reward: Floats
    """The total reward of the episode."""
    steps: NDArray[np.int64]
    """The number of calls of ``env.step``: less than the horizon if the episode ended early."""


def play(
    env: Any,
    learner: Learner,
    game: Unrolled,
    n_episodes: int,
    seed: int | np.random.SeedSequence = 0,
) -> EnvironmentRun:
    """Play episodes of an environment with a learner that needs bandit feedback only.

    Parameters
    ----------
    env
        A Gymnasium environment with discrete spaces.
    learner
        Anything with ``policy()`` and ``update(trajectory)``, built on ``game.layout``.
    game
        What ``unroll`` or ``from_gymnasium`` returned for the environment.
    seed
        Determines the randomness of the environment and the actions that are sampled.

    >>> import advmdp as am, gymnasium
    >>> env = gymnasium.make("FrozenLake-v1", is_slippery=False)
    >>> game = am.gym.unroll(env, 8, am.Rewards(0, 1), starts=[0])
    >>> learner = am.UOBREPS(game.layout, n_episodes=20)
    >>> am.gym.play(env, learner, game, n_episodes=20).steps.shape
    (20,)
    """
    n_episodes = checked_horizon(n_episodes)
    with_methods(env, "env", "a Gymnasium environment", "reset", "step")
    checked_learner(learner)
    instance(game, Unrolled, "game")
    if not is_made_for(learner, game.layout):
        raise InvalidInput("play: the learner has another layout; build it on game.layout")
    if sees_all_losses(learner):
        raise InvalidInput(
            "play: an environment reveals only the rewards of the path; "
            "choose a learner with bandit feedback"
        )
    refuse_too_many_episodes(learner, n_episodes)
    words = seed_sequence(seed).generate_state(2)
    rng = np.random.default_rng(int(words[0]))
    reward, steps = np.zeros(n_episodes), np.zeros(n_episodes, dtype=np.int64)
    for t in range(n_episodes):
        policy = checked_policy(game.layout, learner.policy())
        observation, _ = env.reset(seed=int(words[1]) if t == 0 else None)
        trajectory, reward[t], steps[t] = _episode(env, game, policy, observation, rng)
        learner.update(trajectory)
    return EnvironmentRun(reward, steps)


def _episode(
    env: Any, game: Unrolled, policy: Floats, observation: Any, rng: np.random.Generator
) -> tuple[Trajectory, float, int]:
    """One episode of ``horizon`` actions; after its end the finished state absorbs the rest."""
    layout, n_actions = game.layout, game.layout.n_actions
    states: list[int] = []
    actions: list[int] = []
    losses: list[float] = []

    def act(state: int) -> int:
        row = (int(layout.layer_start[len(states)]) + state) * n_actions
        states.append(state)
        actions.append(pick(policy, row, n_actions, rng.random()))
        return actions[-1]

    if game.opening:
        act(0)
        losses.append(0.0)
    place, total, taken = game.place(observation), 0.0, 0
    for step in range(game.horizon):
        action, reward = act(game.state(step, place)), 0.0
        if place != game.finished:
            observation, reward, terminated, truncated, _ = env.step(game.actions.element(action))
            over = terminated or truncated
            place = game.finished if over else game.place(observation)
            total += float(reward)
            taken += 1
        losses.append(float(game.rewards.to_losses(reward)))
    return Trajectory([*states, 0], actions, losses), total, taken
