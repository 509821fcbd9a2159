"""Episodes whose start states the adversary chooses, with exact accounting."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.errors import InvalidInput
from advmdp.evaluation.account import Decomposition
from advmdp.evaluation.run import Recorder, Run, checked_checkpoints
from advmdp.kernels.accounting.ledger import World
from advmdp.layout import Floats
from advmdp.learners.base import Learner, is_made_for
from advmdp.learners.per_start import PerStart
from advmdp.learners.tuning import checked_horizon
from advmdp.play import play_episode
from advmdp.seeds import seed_words
from advmdp.start_view import StartView, start_views
from advmdp.world.losses import History, LossProcess
from advmdp.world.mdp import LayeredMDP


@dataclass(frozen=True)
class StartsRun:
    """Curves over checkpoints: entry i of every array belongs to ``episodes[i]``.

    The comparator minimises the sum over episodes of the loss from that episode's start, over
    policies that may remember the start; it is the best policy of each start state for the losses
    of its own episodes.  Every total is therefore a sum over ``by_start``.
    """

    episodes: NDArray[np.int64]
    """Numbers of episodes played at the checkpoints, from all start states together."""
    by_start: tuple[Run, ...]
    """The account of every start state at the same checkpoints, with its own episode numbers."""
    starts: NDArray[np.int64]
    """The start state of every episode."""
    seconds: float

    @property
    def regret(self) -> Floats:
        """Expected loss minus that of the comparator."""
        return self._total("regret")

    @property
    def expected_loss(self) -> Floats:
        """Sum of the exact expectations under the true transition."""
        return self._total("expected_loss")

    @property
    def realised_loss(self) -> Floats:
        """Sum of the losses on the trajectories drawn."""
        return self._total("realised_loss")

    @property
    def best_loss(self) -> Floats:
        """Total loss of the comparator at each checkpoint."""
        return self._total("best_loss")

    def _total(self, curve: str) -> Floats:
        return np.asarray(np.sum([getattr(run, curve) for run in self.by_start], axis=0))

    @property
    def decomposition(self) -> Decomposition | None:
        """The four terms of the regret, for learners that estimate losses."""
        parts = [run.decomposition for run in self.by_start if run.decomposition is not None]
        if len(parts) < len(self.by_start):
            return None
        names = ("error", "bias1", "reg", "bias2")
        return Decomposition(*(np.sum([getattr(p, n) for p in parts], axis=0) for n in names))


def play_starts(
    mdp: LayeredMDP,
    losses: LossProcess,
    learners: Sequence[Learner],
    starts: Sequence[int] | NDArray[np.int64] | Callable[[int, History], int],
    n_episodes: int,
    seed: int | np.random.SeedSequence = 0,
    *,
    checkpoints: Any = None,
) -> StartsRun:
    """Play episodes from chosen start states and account for them exactly.

    Parameters
    ----------
    mdp, losses
        The world.  Layer 0 of the MDP is the opening, layer 1 holds the start states; an episode
        begins in layer 1 and the losses of the opening are ignored.
    learners
        One for each start state, built on its view: a ``PerStart``, whose learners share their
        counts, or any list of independent ones.
    starts
        The start state of every episode, or ``starts(episode, history)`` to choose it knowing the
        past (``history[t].states[1]`` is the start of episode t).
    n_episodes, seed, checkpoints
        As in ``advmdp.play``.

    >>> import advmdp as am
    >>> mdp = am.families.random_mdp((1, 2, 3, 1), n_actions=2, seed=0)
    >>> losses = am.losses.Stochastic(np.random.default_rng(0).random(mdp.layout.n_rows))
    >>> learners = am.PerStart(mdp.layout, lambda view: am.UOBREPS(view.layout, 1000))
    >>> run = am.play_starts(mdp, losses, learners, lambda t, history: t % 2, n_episodes=1000)
    >>> [int(part.episodes[-1]) for part in run.by_start]
    [500, 500]
    >>> bool(np.allclose(run.decomposition.total(), run.regret))
    True
    """
    checked_horizon(n_episodes)
    points = checked_checkpoints(checkpoints, n_episodes)
    views = start_views(mdp.layout)
    chosen = _chooser(starts, len(views), n_episodes)
    if len(learners) != len(views):
        raise InvalidInput(f"learners: {len(learners)} for {len(views)} start states; give as many")
    for view, learner in zip(views, learners, strict=True):
        if not is_made_for(learner, view.layout):
            raise InvalidInput(f"learners: that of start state {view.start} has another layout")
    if isinstance(learners, PerStart) and learners[0].episodes + n_episodes > learners.n_episodes:
        raise InvalidInput(
            f"play_starts: {n_episodes} episodes, but the learners were made for "
            f"n_episodes={learners.n_episodes}"
        )
    stream = losses.begin(mdp.layout, seed)
    stream.check_length(n_episodes)
    stages = [
        _Stage(mdp, view, learner, seed) for view, learner in zip(views, learners, strict=True)
    ]
    begin = time.perf_counter()
    rows: list[NDArray[np.int64]] = []
    suffered: list[Floats] = []
    history, played, done = History(mdp.layout, rows, suffered), [], 0
    for point in points:
        while done < point:
            start = chosen(done, history)
            path, cost = stages[start].play(done, stream.table(done))
            stream.observe(path, cost)
            rows.append(path)
            suffered.append(cost)
            played.append(start)
            done += 1
        for stage in stages:
            stage.recorder.record(stage.episodes)
    seconds = time.perf_counter() - begin
    by_start = tuple(stage.recorder.run(seconds, compiled=False) for stage in stages)
    return StartsRun(points, by_start, np.array(played, dtype=np.int64), seconds)


class _Stage:
    """One start state: the world from there, its learner and its account."""

    def __init__(
        self,
        mdp: LayeredMDP,
        view: StartView,
        learner: Learner,
        seed: int | np.random.SeedSequence,
    ) -> None:
        seen = LayeredMDP(view.layout, np.array(mdp.flat)[view.entries])
        self.view, self.learner, self.episodes = view, learner, 0
        self.recorder = Recorder(seen, learner)
        self._world = World(np.array(seen.flat), *seed_words(seed))
        self._graph = view.layout.graph()

    def play(self, episode: int, table: Floats) -> tuple[NDArray[np.int64], Floats]:
        """One episode; its rows and losses in the whole layout, the opening (row 0) included."""
        ledger = self.recorder.ledger
        ledger.losses[:] = table[self.view.rows]
        play_episode(self._world, self._graph, self.learner, self.recorder, episode)
        self.episodes += 1
        path = np.concatenate([[0], self.view.rows[ledger.path]])
        return path, np.concatenate([[0.0], ledger.path_losses])


def _chooser(starts: Any, n_starts: int, n_episodes: int) -> Callable[[int, History], int]:
    """``starts`` as a function whose every answer is checked."""
    if not callable(starts):
        listed = np.asarray(starts)
        if listed.shape != (n_episodes,) or listed.dtype.kind not in "iu":
            raise InvalidInput(f"starts: give {n_episodes} whole numbers, one for each episode")

    def choose(episode: int, history: History) -> int:
        start = starts(episode, history) if callable(starts) else starts[episode]
        if start not in range(n_starts):
            raise InvalidInput(
                f"starts: {start!r} in episode {episode} is not in 0..{n_starts - 1}"
            )
        return int(start)

    return choose
