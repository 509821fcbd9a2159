"""What all mirror-descent learners share: the iterate, the set, the certified update."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.arguments import instance
from advmdp.errors import InvalidInput, UncertifiedStep
from advmdp.kernels.accounting.ledger import ESTIMATED, Ledger
from advmdp.kernels.accounting.protocol import note_path, note_step
from advmdp.kernels.learners import interface
from advmdp.kernels.learners.mirror.baseline import NO_BASELINE, Baseline, write_baseline
from advmdp.kernels.learners.mirror.mirror_descent import (
    FULL,
    UPPER,
    IssuedEpisode,
    MirrorState,
    Settings,
    VisitedPairs,
    begin_issued_update,
)
from advmdp.kernels.model.flow import expected_loss
from advmdp.kernels.model.measure import Measure
from advmdp.kernels.model.visits import MOVES, Visits
from advmdp.kernels.sets.confidence import adopt_counts
from advmdp.kernels.sets.interface import learns_from_counts
from advmdp.kernels.steps.interface import RESIDUAL, certificate_of, forget_everything
from advmdp.layout import Floats, Layout, Table
from advmdp.learners.base import (
    Auditable,
    CompiledLoop,
    EstimatesLosses,
    HasHorizon,
    IssuesRecords,
)
from advmdp.learners.common_counts import CommonCounts, take_set, taken_back_unless_certified
from advmdp.learners.episode_record import EpisodeRecord
from advmdp.learners.feedback import FlatEpisode
from advmdp.learners.mirror.baselines import no_baseline
from advmdp.learners.mirror.hinted import HintedLearner
from advmdp.learners.mirror.hints import chosen_hint
from advmdp.learners.mirror.initial_measure import is_balanced, uniform_measure
from advmdp.learners.own_program import OwnProgram
from advmdp.learners.tuning import checked_horizon, checked_layout
from advmdp.steps.confidence import ConfidenceSet
from advmdp.steps.first_sets import copy_of, no_visits
from advmdp.steps.workspace import STEEPEST, new_kl_step, new_reach


class LossProgram(OwnProgram):
    """<q, losses>."""

    kernel = staticmethod(expected_loss)


class PathProgram(OwnProgram):
    """The estimates of a path, in the account."""

    kernel = staticmethod(note_path)


class StepProgram(OwnProgram):
    """The certificate of a step, in the account."""

    kernel = staticmethod(note_step)


class MirrorDescent(
    CommonCounts, HintedLearner, HasHorizon, EstimatesLosses, IssuesRecords, Auditable
):
    """An occupancy measure moved by regularised steps over a set of transitions.

    A learner of the family chooses its rates, its estimator and its set (see
    ``advmdp.kernels.learners.mirror.mirror_descent``); everything else is here.  Another step than
    the paper's is chosen by overriding ``_new_step``.
    """

    feedback: ClassVar[Literal["bandit", "full", "aggregate"]] = "bandit"
    _state: MirrorState
    _steepest: ClassVar[float] = STEEPEST
    """The largest eta |l^| that its step takes."""
    _update_together: Callable[[Any, FlatEpisode, tuple[Floats, Floats]], None] | None = None
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
        confidence: ConfidenceSet,
        least_visit: float = 0.0,
        baseline: Baseline | None = None,
        hint: Any = None,
    ) -> None:
        layout = checked_layout(layout)
        self.n_episodes = n_episodes = checked_horizon(n_episodes)
        self.eta, self.gamma, self.log_term = eta, gamma, log_term
        if hint is not None and baseline is not None:
            raise InvalidInput("hint, baseline: give one of them; a hint is a baseline as well")
        chosen, of_hint, self._asked = chosen_hint(layout, hint, sees_all=estimator == FULL)
        baseline = of_hint or baseline or no_baseline()
        state = MirrorState(
            settings=Settings(eta, gamma, log_term, least_visit, estimator),
            step=self._new_step(layout, uniform_measure(layout, confidence)),
            rows=confidence.rows,
            old_rows=copy_of(confidence.rows),
            visits=no_visits(layout, n_episodes),
            reach=new_reach(layout),
            visited=VisitedPairs(*(np.zeros(layout.n_layers) for _ in VisitedPairs._fields)),
            baseline=baseline._replace(limit=self._steepest / eta),
            hint=chosen,
        )
        super().__init__(layout, state)
        self._loss_program = LossProgram()
        self._note_path, self._note_step = PathProgram(), StepProgram()
        if not is_balanced(layout, confidence):
            self._balance_initial_measure()
        self._hear_first()

    def _new_step(self, layout: Layout, measure: Measure) -> Any:
        """The step that moves the iterate: the relative-entropy step of the paper."""
        return new_kl_step(layout, measure)

    # ------------------------------------------------------------------ the contract

    def update(self, feedback: Any, record: EpisodeRecord | None = None) -> None:
        """One episode: estimates, counters, epoch, mirror descent.

        ``record`` is what ``issue()`` returned when the episode's policy was handed out; without it
        the episode was played with the current ``policy()``.
        """
        episode, losses = self._checked(feedback)
        if self.episodes >= self.n_episodes:
            raise InvalidInput(
                f"update: all {self.n_episodes} episodes are played; "
                "make a learner with a larger n_episodes"
            )
        if self._asked is None:
            self._take(record, episode, losses)
        else:
            with self._asked.learning_from(episode, self._state.hint.coming):
                self._take(record, episode, losses)

    def _take(
        self, record: EpisodeRecord | None, episode: FlatEpisode, losses: tuple[Floats, Floats]
    ) -> None:
        if record is None:
            self._learn(self._spread(episode), losses)
        else:
            self._learn_from_record(record, episode, losses)

    def issue(self) -> EpisodeRecord:
        """What is fixed when a policy is handed out: the policy, the set, the number.

        Feedback that comes later, in any order, is given to ``update`` with it.
        """
        measure, rows = self._state.step.measure, self._state.rows
        with self._one_thread:
            fixed = IssuedEpisode(measure.policy.copy(), measure.mass.copy(), copy_of(rows))
        return EpisodeRecord(self.episodes + 1, self.policy(), self.layout, fixed)

    def _learn(self, episode: FlatEpisode, losses: tuple[Floats, Floats]) -> None:
        if self._update_together is not None:
            self._update_together(self, episode, losses)
        else:
            super()._learn(episode, losses)

    def _learn_from_record(
        self, record: EpisodeRecord, episode: FlatEpisode, losses: tuple[Floats, Floats]
    ) -> None:
        """The same with the bounds of the episode's own time."""
        self._check_record(record)
        episode = self._spread(episode, record.fixed.policy)
        path = (episode.states, episode.path)
        with self._one_thread:
            if begin_issued_update(
                self._graph, self._state, record.fixed, *path, *losses
            ) and not interface.solve_pending(self._graph, self._state, None):
                self._finish(*path)
            else:
                interface.settle_update(self._graph, self._state)

    def _check_record(self, record: Any) -> None:
        instance(record, EpisodeRecord, "record")
        if record.layout != self.layout or type(record.fixed.rows) is not type(self._state.rows):
            raise InvalidInput("update: the record is of another learner; use the one of issue()")
        if self._update_together is not None:
            raise InvalidInput("update: learners that share their counts take no records")

    # ------------------------------------------------------------------ what can be looked at

    @property
    def upper_occupancy_of_last(self) -> Floats:
        """What divided the losses of the last update: u_t(x_k, a_k), or q^_t(x_k, a_k)."""
        return self._state.visited.bound.copy()

    @property
    def estimate_of_last(self) -> Floats:
        """The estimated losses of the visited pairs of the last update."""
        return self._state.visited.estimate.copy()

    def baseline_table(self) -> Table:
        """b_t of the coming episode, a pair table: the estimates of pairs off its path."""
        state, baseline = self._state, self._state.baseline
        if baseline.kind == NO_BASELINE:
            return self.layout.pairs(np.zeros(self.layout.n_rows))
        with self._one_thread:
            write_baseline(self._graph, baseline, state.step.measure.policy, state.rows)
            return self.layout.pairs(baseline.estimate.copy())

    @property
    def divides_by_upper_bound(self) -> bool:
        """Whether the estimator divides by u_t, the upper occupancy bound of its own set."""
        return self._state.settings.estimator == UPPER

    # ------------------------------------------------------------------ inside the package

    @property
    def moved(self) -> bool:
        """Whether the last update moved the iterate: not without a loss and a new epoch."""
        return bool(self._state.visits.clock[MOVES])

    def iterate_loss(self, losses: Floats) -> float:
        """<q^_t, losses> of the coming episode, losses over rows."""
        measure = self._state.step.measure
        loss: float = self._loss_program(self._graph, measure.policy, measure.mass, losses)
        return loss

    def account_for_last(self, ledger: Ledger, iterate: float) -> None:
        """``add_estimates`` and ``add_certificate`` of the kernels for the protocol loop.

        On the few arrays that it takes: handing the whole state to a kernel costs more than the
        update.  The sums have the same order, so both loops give the same bits.
        """
        if self._state.settings.estimator == FULL:
            ledger.estimated[:] += ledger.losses
            ledger.sums[ESTIMATED] += iterate
        elif self._state.baseline.kind != NO_BASELINE:
            ledger.estimated[:] += self._state.baseline.estimate
            ledger.sums[ESTIMATED] += self._state.baseline.inner[0]
        else:
            self._account_for_path(ledger, ledger.path)
        self._account_for_step(ledger)

    def _account_for_path(self, ledger: Ledger, path: NDArray[np.int64]) -> None:
        """Add the estimates of the visited pairs of the last update."""
        visited = self._state.visited
        self._note_path(path, visited.estimate, visited.occupancy, ledger)

    def _account_for_step(self, ledger: Ledger) -> None:
        """Add the certificate of the last update."""
        if self.moved:
            self._note_step(*certificate_of(self._state.step), ledger)

    def compiled_loop(self) -> CompiledLoop:
        """For ``play``: whole episodes without leaving compiled code."""
        if self._update_together is not None:
            raise InvalidInput("play: this learner shares its counts; use play_starts")
        return super().compiled_loop()

    def _why_uncertified(self) -> str:
        return f"flow residual {certificate_of(self._state.step).figures[RESIDUAL]:.1e}"

    def _adopt(self, earlier: MirrorState) -> None:
        """P_1 is the set of the earlier counts with this learner's log term; q_1 moves into it.

        Since q_1 is the projection of the usual start, D(q* || q_1) is no larger than from there,
        for every q* of the set: the bound on REG stands.
        """
        state = self._state
        if learns_from_counts(state.rows):
            sets = (state.visits, state.rows, state.old_rows, earlier.visits)
            adopt_counts(self._graph, *sets, state.settings.log_term)
            self._balance_initial_measure()

    def _count_on(self, counted: Visits) -> None:
        """The set becomes that of all visits, and the iterate is projected onto it.

        That moves it no further from any measure of the set, as when an epoch opens.
        """
        state = self._state
        with taken_back_unless_certified(self):
            sets = (state.visits, state.rows, state.old_rows, counted)
            take_set(self._graph, *sets, state.settings.log_term)
            forget_everything(state.step)
            self._balance_initial_measure()

    def _balance_initial_measure(self) -> None:
        """Project the start onto the first set: q_1 is the measure of largest entropy there."""
        state = self._state
        if not any(
            interface.solve_pending(self._graph, state, in_logs) for in_logs in (None, True)
        ):
            raise UncertifiedStep(
                "learner: no certified initial measure in its set; lower its floor if any"
            )
