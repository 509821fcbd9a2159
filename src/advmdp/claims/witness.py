"""Runs with a witness: ``play`` as always, and the sums of the lemmas beside it.

Many of them can be one batch on a GPU (``watch_all``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.batch import BatchRun, play_batch
from advmdp.evaluation.run import Run
from advmdp.kernels.accounting.witness import LOOKED, Witness, look_at_set, play_watched
from advmdp.kernels.kl.projection import Solver
from advmdp.kernels.model.visits import EPOCH
from advmdp.layout import Layout, Table
from advmdp.learners.base import CompiledLoop
from advmdp.learners.mirror_descent import MirrorDescent
from advmdp.play import play
from advmdp.world.loss_streams import LossProcess
from advmdp.world.mdp import LayeredMDP


@dataclass(frozen=True)
class Watched:
    """A run, the learner after it, and what the witness had noted at each checkpoint."""

    run: Run
    learner: MirrorDescent
    notes: dict[int, Witness]

    @property
    def last(self) -> Witness:
        """The notes at the end of the run."""
        return self.notes[max(self.notes)]


class _WatchedLearner:
    """A learner whose compiled loop has a witness."""

    def __init__(self, learner: MirrorDescent, witness: Witness) -> None:
        self.learner, self.witness = learner, witness
        self.layout, self.n_episodes = learner.layout, learner.n_episodes
        self.last_path = learner.last_path

    @property
    def episodes(self) -> int:
        return self.learner.episodes

    @property
    def last_projection(self) -> Solver:
        return self.learner.last_projection

    def policy(self) -> Table:
        return self.learner.policy()

    def update(self, feedback: Any) -> None:
        raise NotImplementedError("a watched learner plays in compiled code only")

    def compiled_loop(self) -> CompiledLoop:
        _, state, finish = self.learner.compiled_loop()
        return CompiledLoop(play_watched, (*state, self.witness), finish)


def watch(
    mdp: LayeredMDP,
    losses: LossProcess,
    learner: MirrorDescent,
    n_episodes: int,
    seed: int | np.random.SeedSequence,
    *,
    checkpoints: Any = None,
    bounds: bool = True,
) -> Watched:
    """Play a fresh bandit learner with a witness; the run is the same as without one.

    >>> import advmdp as am
    >>> mdp = am.families.random_mdp((1, 2, 1), 2, seed=0)
    >>> mean = [np.full((n, 2), 0.5) for n in (1, 2)]
    >>> watched = watch(mdp, am.losses.Stochastic(mean), am.UOBREPS(mdp.layout, 50), 50, seed=1)
    >>> watched.last.inverse.shape, int(watched.last.counts[1])  # per layer; sets that missed P
    ((2,), 0)
    """
    witness = new_witness(mdp.layout, bounds)
    truth, notes = np.array(mdp.flat), {}
    points = [n_episodes] if checkpoints is None else [*checkpoints, n_episodes]

    def keep(episodes: int, _: object) -> None:
        if episodes in points:
            # done in ``play_watched``, unless the safe path took the last step
            look_at_set(mdp.layout.graph(), truth, learner.compiled_loop().state[0], witness)
            notes[episodes] = _copy(witness)

    run = play(
        mdp,
        losses,
        _WatchedLearner(learner, witness),
        n_episodes,
        seed,
        checkpoints=points,
        compiled=True,
        keep=keep,
    )
    return Watched(run, learner, notes)


def watch_all(
    runs: Iterable[BatchRun], n_episodes: int, *, bounds: bool = True, on_card: bool = False
) -> list[Witness]:
    """What the witness of each run has noted at its end; the learners are fresh ones."""

    def watch_here(run: BatchRun) -> Witness:
        learner: Any = run.learner
        return watch(run.mdp, run.losses, learner, n_episodes, run.seed, bounds=bounds).last

    if not on_card:
        return [watch_here(run) for run in runs]
    runs = list(runs)
    blank = new_witness(runs[0].mdp.layout, bounds)
    found: list[Witness] = []

    def collect(begin: int, end: int, column: Callable[[str], NDArray[Any]]) -> None:
        columns = {name: column(f"state.2.{name}") for name in Witness._fields if name != "bounds"}
        epochs = column("state.0.visits.clock")[:, EPOCH]
        for i, run in enumerate(runs[begin:end]):
            notes = Witness(bounds=bounds, **{name: table[i] for name, table in columns.items()})
            # where the safe path took the last step, nobody has looked at a set that it opened
            found.append(notes if notes.counts[LOOKED] == epochs[i] else watch_here(run))

    def watched(run: BatchRun) -> BatchRun:
        learner: Any = run.learner
        return replace(run, learner=_WatchedLearner(learner, blank))

    batch = [watched(run) for run in runs]
    play_batch(batch, n_episodes, checkpoints=[n_episodes], collect=collect)
    return found


def new_witness(layout: Layout, bounds: bool) -> Witness:
    """Nothing seen yet."""
    of_rows = ("upper", "lower", "spread", "excess", "bare", "fed")
    of_layers = ("inverse", "root", "seen_inverse", "seen_root")
    return Witness(
        bounds=bounds,
        **{name: np.zeros(layout.n_rows) for name in of_rows},
        **{name: np.zeros(layout.n_layers) for name in of_layers},
        low=np.zeros(layout.n_entries),
        high=np.ones(layout.n_entries),
        hedge=np.zeros(2),
        worst=np.array([-1.0, -1.0, -1.0, 0.0]),
        counts=np.zeros(6, dtype=np.int64),
    )


def _copy(witness: Witness) -> Witness:
    arrays = {name: a.copy() for name, a in witness._asdict().items() if name != "bounds"}
    return Witness(bounds=witness.bounds, **arrays)
