"""The rewards of a run in an environment, while it is played."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.errors import InvalidInput
from advmdp.evaluation.recorder import Snapshot
from advmdp.evaluation.reward_run import Earned, EnvironmentRun, earned
from advmdp.evaluation.run import log_spaced
from advmdp.gym.episode import Episode
from advmdp.gym.snapshots import random_of, set_words, words_of
from advmdp.gym.unrolled import Unrolled
from advmdp.playing.snapshots import part_of, restore_learner, stateful

SEED, ACTIONS, ENVIRONMENT = "run.seed", "random.actions", "random.environment"


class RewardRecorder:
    """Collects an ``EnvironmentRun``; takes snapshots, and goes on from one."""

    def __init__(
        self, env: Any, game: Unrolled, learner: Any, n_episodes: int, seed: np.random.SeedSequence
    ) -> None:
        self.mdp = game  # what an observer asks for: something with a layout
        self.learner = learner
        self.n_episodes = n_episodes
        self.episodes = 0
        self.seconds = 0.0
        self._env = env
        self._words = seed.generate_state(2)
        self.rng = np.random.default_rng(int(self._words[0]))
        self._reward = np.zeros(n_episodes)
        self._steps = np.zeros(n_episodes, dtype=np.int64)
        self._clipped = 0
        self._checkpoints = set(log_spaced(n_episodes).tolist())
        self._seeds_next = True

    def first_observation(self) -> Any:
        """Begin an episode; the first one of a sitting seeds the environment."""
        seed = int(self._words[1]) if self._seeds_next else None
        self._seeds_next = False
        return self._env.reset(seed=seed)[0]

    def add(self, episode: Episode, clipped: int) -> None:
        """The learner has learnt from an episode."""
        self._reward[self.episodes] = sum(episode.rewards)
        self._steps[self.episodes] = episode.steps
        self._clipped += clipped
        self.episodes += 1

    def is_checkpoint(self, episodes: int) -> bool:
        """Whether the run is looked at after so many episodes."""
        return episodes in self._checkpoints

    def evaluate(self) -> Earned:
        """The rewards so far."""
        return earned(self._reward[: self.episodes])

    def run(self) -> EnvironmentRun:
        """Everything so far."""
        played = slice(0, self.episodes)
        return EnvironmentRun(
            reward=self._reward[played].copy(),
            steps=self._steps[played].copy(),
            seconds=self.seconds,
            stopped=self.episodes < self.n_episodes,
            clipped=self._clipped,
        )

    # ------------------------------------------------------------------ keeping

    def snapshot(self) -> Snapshot:
        """A copy of everything that the run goes on from."""
        learner = stateful(self.learner).state()
        own = {
            "reward": self._reward[: self.episodes].copy(),
            "steps": self._steps[: self.episodes].copy(),
            "clipped": np.array(self._clipped),
            "seconds": np.array(self.seconds),
            "episodes": np.array(self.episodes),
            SEED: self._words.copy(),
            ACTIONS: words_of(self.rng),
            ENVIRONMENT: words_of(random_of(self._env)),
        }
        kept = {name: array for name, array in own.items() if array is not None}
        return kept | {f"learner.{name}": array for name, array in learner.items()}

    def begin(self, saved: Mapping[str, NDArray[Any]] | None) -> None:
        """Go on from a snapshot, if there is one."""
        if saved is None:
            return
        self._check(saved)
        done = int(saved["episodes"])
        restore_learner(self.learner, saved, self.n_episodes)
        set_words(self.rng, saved[ACTIONS])
        self._reward[:done], self._steps[:done] = saved["reward"], saved["steps"]
        self._clipped, self.seconds = int(saved["clipped"]), float(saved["seconds"])
        self.episodes = done
        if ENVIRONMENT in saved:
            self.first_observation()  # seeds whatever else the environment has
            set_words(random_of(self._env), saved[ENVIRONMENT])
        else:  # other numbers than those of the first sitting
            self._words = np.random.SeedSequence([*self._words.tolist(), done]).generate_state(2)

    def _check(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Refuse what is not a snapshot of this run, before anything is changed."""
        names = ("reward", "steps", "clipped", "seconds", "episodes", SEED, ACTIONS)
        missing = [name for name in names if name not in saved]
        if missing:
            raise InvalidInput(f"resume: not the snapshot of a run, it has no {missing[0]!r}")
        if not np.array_equal(saved[SEED], self._words):
            raise InvalidInput(
                "resume: the snapshot is of a run with another seed; "
                "resume with what the run was begun with"
            )
        shapes = {"clipped": (), "seconds": (), "episodes": ()}
        proper = all(saved[name].shape == shape for name, shape in shapes.items())
        done = int(saved["episodes"]) if proper else -1
        shape = (done,)
        if saved["reward"].shape != shape or saved["steps"].shape != shape:
            raise InvalidInput("resume: the snapshot does not hold one reward for each episode")
        if done > self.n_episodes or not np.isfinite(saved["reward"]).all():
            raise InvalidInput(
                f"resume: the snapshot is after {done} episodes of {self.n_episodes}; "
                "resume with the same n_episodes"
            )
        if not len(part_of("learner", saved)):
            raise InvalidInput("resume: the snapshot holds no learner; resume from another one")
