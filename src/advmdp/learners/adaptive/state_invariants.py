"""What holds for the records of planners and adaptive learners, between two episodes."""

from __future__ import annotations

import numpy as np

from advmdp.kernels.learners.ada_ftrl import AdaFTRLState
from advmdp.kernels.learners.mirror.ada_mirror import AdaMirrorState
from advmdp.kernels.learners.planner import PlannerState
from advmdp.kernels.model.recent import Recent
from advmdp.kernels.model.transition import Transition
from advmdp.learners.saving.state_checks import (
    TOLERANCE,
    Scope,
    checks,
    require_clock,
    require_policy,
    require_sums,
)

LARGEST_SUM = 1e150  # of losses that may each be 1e100


def require_moderate(scope: Scope, name: str, array: np.ndarray) -> None:
    """Reject sums of losses that are not finite, or too large to go on with."""
    scope.require((np.abs(array) <= LARGEST_SUM).all(), name, "is not finite or too large")


@checks(Transition)
def check_transition(transition: Transition, scope: Scope) -> None:
    """The true transition as it is, or the estimate that follows from the counts."""
    if not transition.estimated:
        same = np.array_equal(transition.chance, scope.fresh.chance)
        scope.require(same, "chance", "is not the transition that the learner was given")
        return
    layout = scope.layout
    counter, begin = transition.counter.astype(np.int64), layout.row_start[:-1]
    pairs = transition.pairs[counter]
    require_sums(scope, pairs, transition.triples, begin[counter])
    unused = np.setdiff1d(np.arange(layout.n_rows), counter)
    scope.require((transition.pairs[unused] == 0).all(), "pairs", "counts where others count")
    scope.require((pairs < 2**53).all(), "pairs", "has too large counts")
    sizes = layout.row_sizes()
    place = np.arange(layout.n_entries) + np.repeat(begin[counter] - begin, sizes)
    visits = np.repeat(pairs + transition.prior, sizes)
    imagined = transition.chance * visits - transition.triples[place]
    known = np.repeat(transition.known == 1, sizes)
    near = TOLERANCE * visits
    proper = (imagined >= -near) & (imagined <= transition.prior + near)
    scope.require((proper | known).all(), "chance", "does not follow from the counts")
    same = np.array_equal(transition.chance[known], scope.fresh.chance[known])
    scope.require(same, "chance", "does not fit the rows that the learner knows")
    sums = np.add.reduceat(transition.chance, begin)
    scope.require((np.abs(sums - 1.0) <= TOLERANCE).all(), "chance", "is no distribution")


@checks(Recent)
def check_recent(recent: Recent, scope: Scope) -> None:
    """Losses and their mean."""
    require_moderate(scope, "tables", recent.tables)
    require_moderate(scope, "mean", recent.mean)


@checks(PlannerState)
def check_planner(state: PlannerState, scope: Scope) -> None:
    """A policy and a clock; the other records have checks of their own."""
    require_policy(scope, state.policy)
    require_clock(scope, state.clock, 0)


def require_gaps(scope: Scope, gaps: np.ndarray, forgetting: float) -> None:
    """Sums of gaps; G is forgotten once between its two places."""
    require_moderate(scope, "gaps", gaps)
    scope.require((gaps >= 0.0).all(), "gaps", "has values below 0")
    coming, last = gaps.tolist()
    scope.require(coming == forgetting * last, "gaps", "do not follow from each other")


@checks(AdaMirrorState)
def check_ada_mirror(state: AdaMirrorState, scope: Scope) -> None:
    """Gaps; the other records have checks of their own."""
    require_gaps(scope, state.gaps, state.settings.forgetting)


@checks(AdaFTRLState)
def check_ada_ftrl(state: AdaFTRLState, scope: Scope) -> None:
    """A policy, and sums of losses and of gaps."""
    require_policy(scope, state.policy)
    require_clock(scope, state.clock, 0)
    require_moderate(scope, "total", state.total)
    require_moderate(scope, "advantage", state.advantage)
    require_gaps(scope, state.gaps, state.forgetting)
