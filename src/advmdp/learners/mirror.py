"""What all mirror-descent learners share: the iterate, the set, the certified update."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from advmdp.errors import InvalidInput, UncertifiedStep
from advmdp.kernels.accounting.episode import play_mirror
from advmdp.kernels.accounting.observers import mean_width
from advmdp.kernels.kl.dual import Dual, Measure
from advmdp.kernels.kl.projection import Solver, project
from advmdp.kernels.learners import mirror_descent as kernel
from advmdp.kernels.model.visits import (
    BERNSTEIN,
    EPISODES,
    EPOCH,
    KNOWN,
    MOVES,
    WEISSMAN,
    adopt,
)
from advmdp.layout import Floats, Layout, Table
from advmdp.learners.base import CompiledLoop, Steps, check_full_information, check_trajectory
from advmdp.learners.compiled import OLD_VISITS, CompiledLearner
from advmdp.learners.start import first_set, uniform_over_pairs, uniform_over_triples
from advmdp.learners.tuning import checked_horizon
from advmdp.steps.confidence import BoxSet, ConfidenceSet, KnownTransition, L1Set
from advmdp.steps.occupancy import joined
from advmdp.steps.workspace import (
    is_wide,
    new_reach,
    new_solver,
    no_visits,
)

_GUESSES = ("holding", "scale", "tight")


class MirrorDescent(CompiledLearner):
    """An occupancy measure moved by KL mirror descent over a set of transitions.

    A learner of the family chooses its rates, its estimator and its set (see
    ``advmdp.kernels.learners.mirror_descent``); everything else is here.
    """

    feedback: ClassVar[Literal["bandit", "full"]] = "bandit"
    scratch = (
        *("solver.vectors", "solver.blocks", "reach", "old_policy"),
        *OLD_VISITS,
        *("visits.counter", "visits.cell"),  # made from the layout
        # these are first guesses of the next projection: kept, for identical bits
        *(f"solver.dual.{name}" for name in Dual._fields if name not in _GUESSES),
    )
    _state: kernel.Learner
    _update_together: Callable[[Any, Steps, tuple[Floats, Floats]], None] | None = None
    """Set by ``PerStart``, whose learners share their counts: it does the update for all."""

    def __init__(
        self,
        layout: Layout,
        n_episodes: int,
        *,
        eta: float,
        gamma: float,
        log_term: float,
        estimator: int,
        shape: int,
        floor: float = 0.0,
        reach: float = 0.0,
        least: float = 0.0,
        known: KnownTransition | None = None,
    ) -> None:
        self.n_episodes = checked_horizon(n_episodes)
        self.eta, self.gamma, self.log_term = eta, gamma, log_term
        self._wide = is_wide(layout)
        state = kernel.Learner(
            rates=kernel.Rates(eta, gamma, log_term, floor, reach, shape, estimator),
            measure=uniform_over_triples(layout)
            if known is None
            else uniform_over_pairs(layout, known),
            rows=first_set(layout, shape, floor, least) if known is None else known.rows,
            visits=no_visits(layout, n_episodes),
            solver=new_solver(layout),
            reach=new_reach(layout),
            path=kernel.Path(*(np.zeros(layout.n_layers) for _ in kernel.Path._fields)),
            old_policy=np.zeros(layout.n_rows),
        )
        super().__init__(layout, state)
        if known is not None or not layout.is_dense:
            self._balance_first_measure()

    # ------------------------------------------------------------------ the contract

    def policy(self) -> Table:
        """pi_t = pi^{q_t} of the coming episode."""
        return self.layout.pairs(np.maximum(self._state.measure.policy, 0.0))

    def update(self, feedback: Any) -> None:
        """One episode: estimates, counters, epoch, mirror descent."""
        if self.feedback == "full":
            steps = check_full_information(self.layout, feedback)
            losses = (steps.losses[steps.path], steps.losses)
        else:
            steps = check_trajectory(self.layout, feedback)
            losses = (steps.losses, _NO_LOSSES)
        if self.episodes >= self.n_episodes:
            raise InvalidInput(
                f"update: all {self.n_episodes} episodes are played; "
                "make a learner with a larger n_episodes"
            )
        self._update(steps, losses)

    def _update(self, steps: Steps, losses: tuple[Floats, Floats]) -> None:
        if self._update_together is not None:
            self._update_together(self, steps, losses)
            return
        path = (steps.states, steps.path)
        if not kernel.update(self._graph, self._state, self._wide, *path, *losses):
            self._finish(*path)

    # ------------------------------------------------------------------ what can be looked at

    @property
    def upper_occupancy_of_last(self) -> Floats:
        """What divided the losses of the last update: u_t(x_k, a_k), or q^_t(x_k, a_k)."""
        return self._state.path.bound.copy()

    @property
    def estimate_of_last(self) -> Floats:
        """The estimated losses of the visited pairs of the last update."""
        return self._state.path.estimate.copy()

    @property
    def epoch(self) -> int:
        """The epoch of the coming episode: 1, 2, ..."""
        return int(self._state.visits.clock[EPOCH])

    @property
    def episodes(self) -> int:
        """Episodes learnt from so far."""
        return int(self._state.visits.clock[EPISODES])

    @property
    def epoch_starts(self) -> NDArray[np.int64]:
        """For every epoch, the number of episodes before it."""
        return self._state.visits.starts[: self.epoch].copy()

    @property
    def visits(self) -> Table:
        """N(x, a), a pair table; of all rows that share, where some do."""
        visits = self._state.visits
        return self.layout.pairs(visits.pairs[visits.counter].astype(np.float64))

    @property
    def transitions_seen(self) -> Table:
        """M(x' | x, a), a triple table; of all rows that share, where some do."""
        visits, size = self._state.visits, self.layout.row_sizes()
        shift = np.repeat(visits.cell - self.layout.row_start[:-1], size)
        seen = visits.triples[np.arange(self.layout.n_entries) + shift]
        return self.layout.triples(seen.astype(np.float64))

    @property
    def mean_width(self) -> float:
        """How much is left open: 1 while anything is possible, 0 when all is known.

        Boxes: the mean over triples of upper - lower.  Balls: the mean radius, as a share of 2.
        """
        return float(mean_width(self._state.rows, self._state.rates.shape))

    def occupancy(self) -> Table:
        """q_t of the coming episode, a triple table."""
        return joined(self.layout, self._graph, self._state.measure)

    def confidence_set(self) -> ConfidenceSet:
        """A copy of the set of the coming episode."""
        rows, shape = self._state.rows, self._state.rates.shape
        if shape == BERNSTEIN:
            return BoxSet(self.layout, rows.lower.copy(), rows.upper.copy())
        if shape == WEISSMAN:
            return L1Set(self.layout, rows.lower.copy(), rows.width.copy(), self._state.rates.floor)
        return KnownTransition(self.layout, rows.lower.copy())

    # ------------------------------------------------------------------ inside the package

    @property
    def measure(self) -> Measure:
        """q_t as the kernels hold it: live arrays, for the accounting."""
        return self._state.measure

    @property
    def last_path(self) -> kernel.Path:
        """Bounds and estimates of the last update as the kernels hold them."""
        return self._state.path

    @property
    def moved(self) -> bool:
        """Whether the last update projected: not so without a loss and without a new epoch."""
        return bool(self._state.visits.clock[MOVES])

    @property
    def last_projection(self) -> Solver:
        """The solver after the last update, for the accounting."""
        return self._state.solver

    def compiled_loop(self) -> CompiledLoop:
        """For ``play``: whole episodes without leaving compiled code."""
        if self._update_together is not None:
            raise InvalidInput("play: this learner shares its counts; use play_starts")
        return CompiledLoop(play_mirror, (self._state, self._wide), self._finish)

    def _finish(self, states: NDArray[np.int64], path: NDArray[np.int64]) -> None:
        """Complete a pending projection on the safe path, or take the episode back."""
        if kernel.finish_safely(self._graph, self._state, self._wide):
            return
        kernel.undo_update(self._graph, self._state, states, path)
        raise UncertifiedStep(
            f"episode {self.episodes + 1}: no certified projection (flow residual "
            f"{self._state.solver.figures[0]:.1e}); the episode was taken back: "
            "lower eta or raise gamma or log_scale"
        )

    def _adopt(self, earlier: kernel.Learner) -> None:
        """P_1 is the set of the earlier counts with this learner's log term; q_1 moves into it.

        Since q_1 is the projection of the usual start, D(q* || q_1) is no larger than from there,
        for every q* of the set: the bound on REG stands.
        """
        rates = self._state.rates
        if rates.shape != KNOWN:
            counts = (self._state.visits, self._state.rows, earlier.visits)
            adopt(self._graph, *counts, rates.log_term, rates.floor, rates.shape)
            self._balance_first_measure()

    def _balance_first_measure(self) -> None:
        """Project the start onto the first set: q_1 is the measure of largest entropy there.

        On every q* of the set D(q* || q_1) is then at most the sum of ln(triples of a layer), as
        the proofs of Lemmas 12 and 13 need it; so the printed q_1 where all is possible.
        """
        if not any(
            project(self._graph, self._state.measure, self._state.rows, self._state.solver, *path)
            for path in ((self._wide, None), (self._wide, True))
        ):
            raise UncertifiedStep(
                "learner: no certified first occupancy measure in its set; lower its floor if any"
            )


_NO_LOSSES = np.zeros(0)
