"""What holds for the records of follow-the-regularised-leader, between two episodes."""

from __future__ import annotations

import numpy as np

from advmdp.kernels.ftrl.fixed_measure import FixedMeasure, find_reached
from advmdp.kernels.ftrl.objective import AGE, PENDING, FTRLStep, Objective
from advmdp.kernels.ftrl.triples.step import Rates, TripleStep
from advmdp.kernels.model.flow import forward
from advmdp.learners.saving.state_checks import (
    TOLERANCE,
    Scope,
    checks,
    require_clock,
    require_finite,
    require_policy,
)


@checks(FixedMeasure)
def check_fixed_measure(measure: FixedMeasure, scope: Scope) -> None:
    """Rows that sum to one or less, a policy, its masses, and the states that take part."""
    layout = scope.layout
    require_finite(scope, measure, "chance", "policy", "mass", least=0.0)
    sums = np.add.reduceat(measure.chance, layout.row_start[:-1])
    scope.require((sums <= 1.0 + TOLERANCE).all(), "chance", "has rows that sum to more than one")
    require_policy(scope, measure.policy)
    mass = np.zeros(layout.n_states)
    forward(layout.graph(), measure.chance, measure.policy, mass)
    scope.require((np.abs(mass - measure.mass) <= TOLERANCE).all(), "mass", "is not the policy's")
    found = measure._replace(reached=np.zeros_like(measure.reached))
    find_reached(layout.graph(), found, mass)
    same = np.array_equal(found.reached, measure.reached)
    scope.require(same, "reached", "does not mark the states that the transition leads to")


@checks(Objective)
def check_objective(objective: Objective, scope: Scope) -> None:
    """Costs of any sign, weights, predictions of losses in [0, 1], bonuses."""
    require_finite(scope, objective, "cost")
    require_finite(scope, objective, "barrier", "prediction", "bonus", least=0.0)
    zero = scope.fresh.barrier.min() == 0.0
    scope.require(zero or (objective.barrier > 0.0).all(), "barrier", "is not positive")
    scope.require((objective.prediction <= 1.0).all(), "prediction", "is above one")


@checks(FTRLStep)
def check_ftrl(step: FTRLStep, scope: Scope) -> None:
    """Episodes since the restart, and flags."""
    require_clock(scope, step.clock, AGE)
    scope.require((step.clock[PENDING:] <= 1).all(), "clock", "has flags that are not 0 or 1")
    scope.require(step.clock[PENDING] == 0, "clock", "has a restart that is pending")


@checks(Rates)
def check_rates(rates: Rates, scope: Scope) -> None:
    """Positive weights, which only fall, and limits, which only grow."""
    require_finite(scope, rates, "barrier", "limit", least=0.0)
    scope.require((rates.barrier > 0.0).all(), "barrier", "is not positive")
    scope.require((rates.limit > 0.0).all(), "limit", "is not positive")


@checks(TripleStep)
def check_triples(step: TripleStep, scope: Scope) -> None:
    """All losses are taken in."""
    scope.require((step.cost == 0.0).all(), "cost", "has losses that were not taken in")
    scope.require(np.isin(step.clock, [0, 1]).all(), "clock", "has flags that are not 0 or 1")
    q = step.measure.mass[:-1].repeat(scope.layout.n_actions) * step.measure.policy
    took_part = step.measure.reached[:-1].repeat(scope.layout.n_actions) != 0
    scope.require((q[took_part] > 0.0).all(), "measure.policy", "has pairs without mass")
