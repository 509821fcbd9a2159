"""One episode of an environment, and what the learner is told of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from advmdp.gym.unrolled import Unrolled
from advmdp.kernels.model.trajectory import pick
from advmdp.layout import Floats
from advmdp.learners.feedback import Trajectory


class Episode(NamedTuple):
    """What happened; after the end of an episode the finished state absorbs the rest."""

    states: list[int]
    actions: list[int]
    rewards: list[float]
    """Of the steps of the horizon; zero after the end."""
    steps: int
    """Calls of ``env.step``."""

    def trajectory(self, losses: Floats) -> Trajectory:
        """The episode as the learner sees it; an opening layer has loss zero."""
        opening = len(self.actions) - len(losses)
        return Trajectory(self.states, self.actions, [0.0] * opening + losses.tolist())


def one_episode(
    env: Any, game: Unrolled, policy: Floats, observation: Any, rng: np.random.Generator
) -> Episode:
    """``horizon`` actions of the policy from a first observation on."""
    layout, n_actions = game.layout, game.layout.n_actions
    layer_start = layout.layer_start.tolist()
    states: list[int] = []
    actions: list[int] = []
    rewards: list[float] = []

    def act(state: int) -> int:
        row = (layer_start[len(states)] + state) * n_actions
        states.append(state)
        actions.append(pick(policy, row, n_actions, rng.random()))
        return actions[-1]

    if game.opening:
        act(0)
    place, taken = game.place(observation), 0
    for step in range(game.horizon):
        action, reward = act(game.state(step, place)), 0.0
        if place != game.finished:
            observation, reward, terminated, truncated, _ = env.step(game.actions.element(action))
            place = game.finished if terminated or truncated else game.place(observation)
            taken += 1
        rewards.append(float(reward))
    return Episode([*states, 0], actions, rewards, taken)
