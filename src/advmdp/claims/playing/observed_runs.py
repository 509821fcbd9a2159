"""Observed runs: ``play`` as usual, with an observer that keeps the sums of the lemmas.

The observer is a compiled kernel that sees the true transition and the learner's state.  It changes
nothing: an observed run has the same bits as an unobserved one.  Many runs can be one batch on a
GPU (``observe_runs``).  This is the only module that knows how the kernel stores its sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.batch import BatchRun, play_batch
from advmdp.claims.playing import observer_kernel as kernel
from advmdp.claims.playing.observer_kernel import LemmaObserver
from advmdp.evaluation.run import Run
from advmdp.kernels.learners.mirror.mirror_descent import MirrorState
from advmdp.kernels.model.visits import EPOCH
from advmdp.layout import Floats, Layout, Table
from advmdp.learners.base import CompiledLoop
from advmdp.learners.mirror.mirror_descent import MirrorDescent
from advmdp.play import play
from advmdp.world.loss_streams import LossProcess
from advmdp.world.mdp import LayeredMDP


@dataclass(frozen=True)
class Observations:
    """Sums over the episodes so far; q = q_t(x, a) is the true occupancy, l^ the loss estimate.

    Tables over pairs are flat: R rows, L layers, E entries.
    """

    upper: Floats
    """(R,) u_t of the last episode."""
    lower: Floats
    """(R,) The least occupancy over the set of the last episode."""
    spread: Floats
    """(R,) Sum of max(u - q, q - l): the sum of the key lemma at its worst."""
    excess: Floats
    """(R,) Sum of l^ - (q / u) l."""
    bare: Floats
    """(R,) The same for the estimator without gamma, 1{visited} l / u."""
    estimates: Floats
    """(R,) Sum of l^."""
    inverse: Floats
    """(L,) Sum of q / max(1, N)."""
    root: Floats
    """(L,) Sum of q / sqrt(max(1, N))."""
    seen_inverse: Floats
    """(L,) Sum of 1{visited} / max(1, N)."""
    seen_root: Floats
    """(L,) Sum of 1{visited} / sqrt(max(1, N))."""
    common_lower: Floats
    """(E,) Lower ends of the intersection of all boxes."""
    common_upper: Floats
    """(E,) Upper ends of the intersection of all boxes."""
    hedge_inner: float
    """Sum of <q^, l^>."""
    hedge_square: float
    """Sum of <q^, l^^2>."""
    iterate_above: float
    """Largest q^ - u."""
    truth_above: float
    """Largest q - u in episodes whose set contains P."""
    truth_above_uncovered: float
    """Largest q - u in the other episodes."""
    least_factor: float
    """Least factor on the log term with which every set so far would contain P."""
    epochs: int
    """Epochs observed."""
    epochs_missed: int
    """Epochs whose set does not contain P."""
    episodes_missed: int
    """Episodes in such epochs."""
    rows: int
    """Rows with several successors, summed over epochs."""
    tight_rows: int
    """Those of them whose set is not the whole simplex."""


@dataclass(frozen=True)
class ObservedRun:
    """A run, the learner after it, and the observations at each checkpoint."""

    run: Run
    learner: MirrorDescent
    at: dict[int, Observations]

    @property
    def last(self) -> Observations:
        """The observations at the end of the run."""
        return self.at[max(self.at)]


class ObservedLearner:
    """A learner whose compiled loop feeds an observer."""

    def __init__(self, learner: MirrorDescent, observer: LemmaObserver) -> None:
        self.learner, self.observer = learner, observer
        self.layout, self.n_episodes = learner.layout, learner.n_episodes
        self.iterate_loss, self.account_for_last = learner.iterate_loss, learner.account_for_last

    @property
    def episodes(self) -> int:
        return self.learner.episodes

    @property
    def kernel_state(self) -> MirrorState:
        state: MirrorState = self.learner.kernel_state
        return state

    @property
    def moved(self) -> bool:
        return self.learner.moved

    def policy(self) -> Table:
        return self.learner.policy()

    def update(self, feedback: Any) -> None:
        raise NotImplementedError("an observed learner plays in compiled code only")

    def compiled_loop(self) -> CompiledLoop:
        loop, (state, _), finish = self.learner.compiled_loop()
        return CompiledLoop(loop, (state, self.observer), finish)


def observe_run(
    mdp: LayeredMDP,
    losses: LossProcess,
    learner: MirrorDescent,
    n_episodes: int,
    seed: int | np.random.SeedSequence,
    *,
    checkpoints: Any = None,
    bounds: bool = True,
) -> ObservedRun:
    """Play a fresh bandit learner with an observer; the run is the same as without one.

    ``bounds`` asks for u_t and the least occupancy of all pairs, at |X| times the work.

    >>> import advmdp as am
    >>> mdp = am.families.random_mdp((1, 2, 1), 2, seed=0)
    >>> mean = [np.full((n, 2), 0.5) for n in (1, 2)]
    >>> observed = observe_run(mdp, am.losses.Stochastic(mean), am.UOBREPS(mdp.layout, 50), 50, 1)
    >>> observed.last.inverse.shape, observed.last.epochs_missed
    ((2,), 0)
    """
    observer = _new_observer(mdp.layout, bounds)
    truth, at = np.array(mdp.flat), {}
    points = [n_episodes] if checkpoints is None else [*checkpoints, n_episodes]

    def keep(episodes: int, _: object) -> None:
        if episodes in points:
            # The kernel does this itself, unless the safe path took the last step.
            state = learner.compiled_loop().state[0]
            kernel.look_at_set(mdp.layout.graph(), truth, state, observer)
            at[episodes] = _observations(observer)

    run = play(
        mdp,
        losses,
        ObservedLearner(learner, observer),
        n_episodes,
        seed,
        checkpoints=points,
        compiled=True,
        keep=keep,
    )
    return ObservedRun(run, learner, at)


def observe_runs(
    runs: Iterable[BatchRun], n_episodes: int, *, bounds: bool = True, on_gpu: bool = False
) -> list[Observations]:
    """The observations at the end of each run; the learners are fresh ones."""

    def observe_here(run: BatchRun) -> Observations:
        learner: Any = run.learner
        return observe_run(run.mdp, run.losses, learner, n_episodes, run.seed, bounds=bounds).last

    if not on_gpu:
        return [observe_here(run) for run in runs]
    runs = list(runs)
    blank = _new_observer(runs[0].mdp.layout, bounds)
    found: list[Observations] = []

    def collect(begin: int, end: int, column: Callable[[str], NDArray[Any]]) -> None:
        columns = {
            name: column(f"state.1.{name}") for name in LemmaObserver._fields if name != "bounds"
        }
        epochs = column("state.0.visits.clock")[:, EPOCH]
        for i, run in enumerate(runs[begin:end]):
            one = LemmaObserver(
                bounds=bounds, **{name: table[i] for name, table in columns.items()}
            )
            # Where the safe path took the last step, a set that it opened was not observed.
            complete = one.counts[kernel.LOOKED] == epochs[i]
            found.append(_observations(one) if complete else observe_here(run))

    def observed(run: BatchRun) -> BatchRun:
        learner: Any = run.learner
        return replace(run, learner=ObservedLearner(learner, blank))

    batch = [observed(run) for run in runs]
    play_batch(batch, n_episodes, checkpoints=[n_episodes], collect=collect)
    return found


def _new_observer(layout: Layout, bounds: bool) -> LemmaObserver:
    """An observer before the first episode."""
    of_rows = ("upper", "lower", "spread", "excess", "bare", "estimated")
    of_layers = ("inverse", "root", "seen_inverse", "seen_root")
    return LemmaObserver(
        bounds=bounds,
        **{name: np.zeros(layout.n_rows) for name in of_rows},
        **{name: np.zeros(layout.n_layers) for name in of_layers},
        low=np.zeros(layout.n_entries),
        high=np.ones(layout.n_entries),
        hedge=np.zeros(2),
        worst=np.array([-1.0, -1.0, -1.0, 0.0]),
        counts=np.zeros(6, dtype=np.int64),
    )


def _observations(observer: LemmaObserver) -> Observations:
    """A copy of the observer's sums, each under its name."""
    hedge, worst, counts = observer.hedge, observer.worst, observer.counts
    same = ("upper", "lower", "spread", "excess", "bare")
    per_layer = ("inverse", "root", "seen_inverse", "seen_root")
    return Observations(
        **{name: getattr(observer, name).copy() for name in (*same, *per_layer)},
        estimates=observer.estimated.copy(),
        common_lower=observer.low.copy(),
        common_upper=observer.high.copy(),
        hedge_inner=float(hedge[kernel.INNER]),
        hedge_square=float(hedge[kernel.SQUARE]),
        iterate_above=float(worst[kernel.ITERATE_ABOVE]),
        truth_above=float(worst[kernel.TRUTH_ABOVE]),
        truth_above_uncovered=float(worst[kernel.LOST_TRUTH_ABOVE]),
        least_factor=float(worst[kernel.LEAST_SCALE]),
        epochs=int(counts[kernel.LOOKED]),
        epochs_missed=int(counts[kernel.MISSED]),
        episodes_missed=int(counts[kernel.LOST_EPISODES]),
        rows=int(counts[kernel.ROWS]),
        tight_rows=int(counts[kernel.TIGHT_ROWS]),
    )
