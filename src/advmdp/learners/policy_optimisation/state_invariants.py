"""What holds for the records of policy optimisation, between two episodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.kernels.learners.policies.bandit_state import Believed, Weighed
from advmdp.kernels.learners.policies.dilated_bonus import DilatedState
from advmdp.kernels.learners.policies.empirical_policy import EmpiricalPolicyState, Estimate
from advmdp.kernels.learners.policies.pomd import POMDState
from advmdp.kernels.model.row_status import KNOWN
from advmdp.kernels.planning.columns import Columns
from advmdp.learners.saving.state_checks import (
    TOLERANCE,
    Scope,
    checks,
    require_finite,
    require_policy,
)


@checks(DilatedState, POMDState)
def check_scores(state: Any, scope: Scope) -> None:
    """Scores of at least zero: the least of each state is zero."""
    require_policy(scope, state.policy)
    require_finite(scope, state, "score", least=0.0)


@checks(Weighed)
def check_seen(seen: Weighed, scope: Scope) -> None:
    """What the last update found out."""
    require_finite(scope, seen, "bound", "estimate", least=0.0)


@checks(Columns)
def check_columns(columns: Columns, scope: Scope) -> None:
    """Bounds of probabilities."""
    require_finite(scope, columns, "lower", "room", "spare", least=0.0)
    require_finite(scope, columns, "slack")


@checks(Believed)
def check_belief(belief: Believed, scope: Scope) -> None:
    """The set by successor is the set."""
    rows, columns = belief.rows, belief.columns
    room = rows.upper - rows.lower
    spare = np.add.reduceat(room, scope.layout.row_start[:-1])
    wanted = {"lower": rows.lower, "room": room, "slack": rows.slack, "spare": spare}
    for name, values in wanted.items():
        found = getattr(columns, name)
        found = found[columns.place] if name in ("lower", "room") else found
        near = np.abs(found - values) <= TOLERANCE
        scope.require(near.all(), f"columns.{name}", "does not fit the confidence set")


@checks(Estimate)
def check_estimate(estimate: Estimate, scope: Scope) -> None:
    """Distributions, or less where nothing was seen; those that the learner knows are its own."""
    require_finite(scope, estimate, "chance", "bonus", least=0.0)
    total = np.add.reduceat(estimate.chance, scope.layout.row_start[:-1])
    scope.require((total <= 1.0 + TOLERANCE).all(), "chance", "is not a distribution")
    kept = np.repeat(_never_change(estimate, scope), scope.layout.row_sizes())
    same = np.array_equal(estimate.chance[kept], scope.fresh.chance[kept])
    scope.require(same, "chance", "does not fit the rows that the learner knows")


def _never_change(estimate: Estimate, scope: Scope) -> NDArray[np.bool_]:
    """Rows that are known, or lead to one state."""
    kept: NDArray[np.bool_] = (estimate.status == KNOWN) | (scope.layout.row_sizes() == 1)
    return kept


@checks(EmpiricalPolicyState)
def check_empirical_policy(state: EmpiricalPolicyState, scope: Scope) -> None:
    """The estimate is that of the counters, where they were not used since."""
    check_scores(state, scope)
    estimate, visits, layout = state.estimate, state.visits, scope.layout
    size, counter = layout.row_sizes(), visits.counter.astype(np.int64)
    n = visits.pairs[counter] + estimate.prior
    cell = np.repeat(visits.cell.astype(np.int64) - layout.row_start[:-1], size)
    seen = visits.triples[np.arange(layout.n_entries) + cell]
    away = np.abs(estimate.chance * np.repeat(n, size) - seen)
    settled = ~_never_change(estimate, scope) & (visits.marked[counter] == 0)
    near = (away <= TOLERANCE * (1.0 + seen))[np.repeat(settled, size)]
    scope.require(near.all(), "estimate.chance", "is not that of the visits")
    bonus = estimate.width / np.sqrt(np.maximum(n, 1.0))
    near = (np.abs(estimate.bonus - bonus) <= TOLERANCE * (1.0 + bonus))[settled]
    scope.require(near.all(), "estimate.bonus", "is not that of the visits")
