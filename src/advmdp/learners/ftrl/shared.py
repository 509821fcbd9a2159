"""What all follow-the-regularised-leader learners share: a fixed transition, made by epochs."""

from __future__ import annotations

import math
from typing import Any

from advmdp.kernels.ftrl.model import EMPIRICAL
from advmdp.kernels.ftrl.objective import FTRLSettings, FTRLStep
from advmdp.kernels.ftrl.regulariser import HYBRID
from advmdp.kernels.ftrl.step import restart
from advmdp.kernels.learners.mirror.baseline import Baseline
from advmdp.kernels.learners.mirror.mirror_descent import MirrorState
from advmdp.kernels.model.measure import Measure
from advmdp.kernels.model.visits import Visits
from advmdp.layout import Layout
from advmdp.learners.common_counts import (
    number_epoch,
    take_counts,
    take_set,
    taken_back_unless_certified,
)
from advmdp.learners.mirror.mirror_descent import MirrorDescent
from advmdp.learners.tuning import checked_layout
from advmdp.steps.confidence import BoxSet, ConfidenceSet, KnownTransition
from advmdp.steps.ftrl_workspace import new_ftrl_step
from advmdp.steps.minimise_triples import boxes_of


class FollowTheRegularisedLeader(MirrorDescent):
    """An occupancy measure that minimises all losses since the last restart and a regulariser.

    It is one over a *fixed* transition: the known one, the empirical one of the epoch, or the lower
    bounds of its confidence set.  See ``advmdp.kernels.ftrl.step`` for the objective.  All learners
    of the family have the same record types, a known transition being a box without width: one
    compiled program serves them all.

    The four terms of the regret are those of the estimates l / u on visited pairs; bonuses and
    predictions count as part of the learner.
    """

    _steepest = math.inf

    def __init__(
        self,
        layout: Layout,
        n_episodes: int,
        *,
        confidence: ConfidenceSet,
        estimator: int,
        rate: float = 0.0,
        barrier: float = 0.0,
        adapt: float = 0.0,
        learn: float = 0.0,
        bonus: float = 0.0,
        log_term: float = 0.0,
        model: int = EMPIRICAL,
        first_prediction: float = 0.0,
        baseline: Baseline | None = None,
        hint: Any = None,
    ) -> None:
        layout = checked_layout(layout)
        self._settings = FTRLSettings(HYBRID, model, rate, barrier, adapt, learn, bonus, log_term)
        self._first_prediction = first_prediction
        super().__init__(
            layout,
            n_episodes,
            eta=1.0,
            gamma=0.0,
            log_term=log_term,
            estimator=estimator,
            confidence=confidence,
            baseline=baseline,
            hint=hint,
        )
        self._restart()

    def _new_step(self, layout: Layout, measure: Measure) -> FTRLStep:
        """The measure of the family does not matter here: the first restart makes its own."""
        step = new_ftrl_step(layout, self._settings)
        step.objective.prediction[:] = self._first_prediction
        return step

    def _balance_initial_measure(self) -> None:
        """Nothing to balance before the first restart has made the transition."""
        if self._state.step.measure.mass[0] > 0.0:
            super()._balance_initial_measure()

    def _restart(self) -> None:
        """The transition that the counters give, and the leader without any losses."""
        state = self._state
        restart(self._graph, state.step, state.rows, state.visits)
        super()._balance_initial_measure()

    def _adopt(self, earlier: MirrorState) -> None:
        super()._adopt(earlier)
        self._restart()

    def _count_on(self, counted: Visits) -> None:
        """A new epoch where some count has doubled since this one began, as after an own episode.

        Until then the transition stays that of the epoch: a new one makes the leader begin anew, so
        that its epochs must be few.  They are as few as those of one learner with all visits.
        """
        state = self._state
        with taken_back_unless_certified(self):
            if take_counts(state.visits, counted, state.rows.status):
                sets = (state.visits, state.rows, state.old_rows, counted)
                take_set(self._graph, *sets, state.settings.log_term)
                self._restart()
                number_epoch(state.visits)


def box_of_one(layout: Layout, transitions: Any) -> ConfidenceSet:
    """A known transition as a box without width."""
    return BoxSet._made(layout, boxes_of(KnownTransition(layout, transitions)))
