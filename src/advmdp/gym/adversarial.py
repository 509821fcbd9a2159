"""An MDP with adversarial losses as a Gymnasium environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from advmdp.checks.arguments import instance
from advmdp.errors import InvalidInput
from advmdp.kernels.model.trajectory import pick
from advmdp.kernels.runtime.random_numbers import TRAJECTORY, uniform_pair
from advmdp.layout import Floats
from advmdp.seeds import seed_words
from advmdp.world.loss_streams import LossProcess, LossStream, checked_process
from advmdp.world.mdp import LayeredMDP


class AdversarialMDP(gymnasium.Env[Any, Any]):
    """A layered MDP with a loss process; an episode passes through the layers once.

    Observations are flat state numbers, layer after layer, so a state determines its step.  The
    reward is the negative loss, in [-1, 0]; ``info`` contains the ``loss``, the number of the
    adversary's ``episode`` and the ``layer``.

    A ``reset`` with a seed restarts the adversary; a ``reset`` without one begins its next episode,
    or the same episode again if that was not finished.  With seed s the environment samples the
    losses and successors that ``advmdp.play(..., seed=s)`` samples.

    Parameters
    ----------
    mdp, losses
        As in ``advmdp.play``.

    >>> import advmdp as am
    >>> mdp = am.families.river_swim(length=3, horizon=4)
    >>> losses = am.losses.Switching([mdp.natural_loss], period=1)
    >>> env = gymnasium.make(am.gym.ENVIRONMENT_ID, mdp=mdp, losses=losses)
    >>> env.reset(seed=0)
    (0, {'episode': 0, 'layer': 0})
    >>> observation, reward, terminated, truncated, info = env.step(0)
    >>> observation, reward, terminated, info["loss"]
    (1, -0.995, False, 0.995)
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - the form that Gymnasium requires

    def __init__(self, mdp: LayeredMDP, losses: LossProcess) -> None:
        self.mdp = instance(mdp, LayeredMDP, "mdp")
        self.losses = checked_process(losses)
        self.observation_space = spaces.Discrete(mdp.layout.n_states)
        self.action_space = spaces.Discrete(mdp.layout.n_actions)
        self._chance = np.array(mdp.flat)
        self._successor = mdp.layout.entry_successors()
        self._stream: LossStream | None = None
        self._table: Floats | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Begin the next episode of the adversary; with a seed, its first."""
        super().reset(seed=seed)
        if seed is not None or self._stream is None:
            chosen = int(self.np_random.integers(2**31)) if seed is None else seed
            self._stream = self.losses.begin(self.mdp.layout, chosen)
            self._words = seed_words(chosen)
            self._episode = 0
        self._stream.check_length(self._episode + 1)
        self._table = self._stream.table(self._episode)
        self._state = 0
        self._rows: list[int] = []
        return 0, {"episode": self._episode, "layer": 0}

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Take one action; the action in the last layer ends the episode."""
        layout = self.mdp.layout
        if self._stream is None or self._table is None:
            raise InvalidInput("step: no episode is in progress; call reset first")
        if not self.action_space.contains(action):
            raise InvalidInput(f"action: {action!r} is not in 0..{layout.n_actions - 1}")
        k = len(self._rows)
        row = self._state * layout.n_actions + int(action)
        self._rows.append(row)
        begin, end = int(layout.row_start[row]), int(layout.row_start[row + 1])
        _, v = uniform_pair(*self._words, TRAJECTORY, self._episode, k)
        entry = begin + pick(self._chance, begin, end - begin, v)
        self._state = int(self._successor[entry])
        loss = float(self._table[row])
        info = {"loss": loss, "episode": self._episode, "layer": k + 1}
        over = k + 1 == layout.n_layers
        if over:
            rows = np.array(self._rows)
            self._stream.observe(rows, self._table[rows])
            self._episode += 1
            self._table = None
        return self._state, -loss, over, False, info
