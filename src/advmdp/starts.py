"""Episodes from start states that the adversary chooses, with exact regret."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.arguments import instance
from advmdp.checks.numbers import shown, whole_array
from advmdp.errors import InvalidInput
from advmdp.evaluation.account import Decomposition
from advmdp.evaluation.recorder import Recorder
from advmdp.evaluation.run import Run, checked_checkpoints
from advmdp.kernels.accounting.ledger import World
from advmdp.layout import Floats
from advmdp.layout.start_view import StartView, start_views
from advmdp.learners.base import Learner
from advmdp.learners.contract_checks import check_range, checked_learner, is_made_for
from advmdp.learners.per_start import PerStart
from advmdp.learners.tuning import checked_horizon
from advmdp.playing.loops import episode_player
from advmdp.seeds import seed_words
from advmdp.world.loss_streams import checked_process
from advmdp.world.losses import History, LossProcess
from advmdp.world.mdp import LayeredMDP


@dataclass(frozen=True)
class StartsRun:
    """Curves over evaluation points: entry i of every array belongs to ``episodes[i]``.

    The comparator minimises the total loss of the episodes, each from its own start, over policies
    that may depend on the start: for each start state it is the best policy for the losses of the
    episodes from there.  Every total is therefore a sum over ``by_start``.
    """

    episodes: NDArray[np.int64]
    """Numbers of episodes played at the evaluation points, from all start states together."""
    by_start: tuple[Run, ...]
    """The run of every start state at the same evaluation points, with its own episode numbers."""
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
        """Sum of the losses on the sampled trajectories."""
        return self._total("realised_loss")

    @property
    def best_loss(self) -> Floats:
        """Total loss of the comparator at each evaluation point."""
        return self._total("best_loss")

    def _total(self, curve: str) -> Floats:
        return np.asarray(np.sum([getattr(run, curve) for run in self.by_start], axis=0))

    @property
    def decomposition(self) -> Decomposition | None:
        """The four terms of the regret, for learners that estimate losses."""
        parts = [run.decomposition for run in self.by_start if run.decomposition is not None]
        if len(parts) < len(self.by_start):
            return None
        names = (field.name for field in fields(Decomposition))
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
    """Play episodes from chosen start states and compute their exact regret.

    Parameters
    ----------
    mdp, losses
        The world.  Layer 0 of the MDP is the opening layer, layer 1 holds the start states; an
        episode begins in layer 1, and the losses of the opening layer are ignored.
    learners
        One for each start state, built on its view: a ``PerStart``, whose learners share their
        counts, or a list of independent learners.
    starts
        The start state of every episode, or a function ``starts(episode, history)`` that chooses
        it from the past (``history[t].states[1]`` is the start of episode t).
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
    n_episodes = checked_horizon(n_episodes)
    points = checked_checkpoints(checkpoints, n_episodes)
    checked_process(losses)
    views = start_views(instance(mdp, LayeredMDP, "mdp").layout)
    chosen = _chooser(starts, len(views), n_episodes)
    _check_learners(learners, views, n_episodes)
    stream = losses.begin(mdp.layout, seed)
    stream.check_length(n_episodes)
    for learner in learners:
        check_range(learner, stream, "play_starts")
    players = [
        _StartPlayer(mdp, view, learner, seed)
        for view, learner in zip(views, learners, strict=True)
    ]
    begin = time.perf_counter()
    rows: list[NDArray[np.int64]] = []
    suffered: list[Floats] = []
    history, played, done = History(mdp.layout, rows, suffered), [], 0
    for point in points:
        while done < point:
            start = chosen(done, history)
            path, cost = players[start].play(done, stream.table(done))
            stream.observe(path, cost)
            rows.append(path)
            suffered.append(cost)
            played.append(start)
            done += 1
        for player in players:
            player.recorder.record(player.episodes)
    seconds = time.perf_counter() - begin
    by_start = tuple(player.recorder.run(seconds, compiled=False) for player in players)
    return StartsRun(points, by_start, np.array(played, dtype=np.int64), seconds)


def _check_learners(
    learners: Sequence[Learner], views: Sequence[StartView], n_episodes: int
) -> None:
    """Reject learners that do not match the start states or were made for a shorter run."""
    if not isinstance(learners, Sequence):
        raise InvalidInput("learners: give a PerStart, or a list with one for each start state")
    if len(learners) != len(views):
        raise InvalidInput(f"learners: {len(learners)} for {len(views)} start states; give as many")
    for view, learner in zip(views, learners, strict=True):
        checked_learner(learner, "learners")
        if not is_made_for(learner, view.layout):
            raise InvalidInput(f"learners: that of start state {view.start} has another layout")
    if isinstance(learners, PerStart) and learners[0].episodes + n_episodes > learners.n_episodes:
        raise InvalidInput(
            f"play_starts: {n_episodes} episodes, but the learners were made for "
            f"n_episodes={learners.n_episodes}"
        )


class _StartPlayer:
    """Plays the episodes from one start state: the MDP from there, its learner, its recorder."""

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
        world = World(np.array(seen.flat), *seed_words(seed))
        self._play_episode = episode_player(world, view.layout.graph(), learner, self.recorder)

    def play(self, episode: int, table: Floats) -> tuple[NDArray[np.int64], Floats]:
        """Play an episode; return its rows and losses in the whole layout, opening included."""
        ledger = self.recorder.ledger
        ledger.losses[:] = table[self.view.rows]
        self._play_episode(episode)
        self.episodes += 1
        path = np.concatenate([[0], self.view.rows[ledger.path]])
        return path, np.concatenate([[0.0], ledger.path_losses])


def _chooser(starts: Any, n_starts: int, n_episodes: int) -> Callable[[int, History], int]:
    """``starts`` as a function whose values are checked."""
    if not callable(starts):
        listed = whole_array(starts, "starts")
        if listed.shape != (n_episodes,):
            raise InvalidInput(f"starts: give {n_episodes} whole numbers, one for each episode")

    def choose(episode: int, history: History) -> int:
        start = starts(episode, history) if callable(starts) else int(listed[episode])
        wrong = isinstance(start, bool) or not isinstance(start, int | np.integer)
        if wrong or start not in range(n_starts):
            raise InvalidInput(
                f"starts: {shown(start)} in episode {episode} is not in 0..{n_starts - 1}"
            )
        return int(start)

    return choose
