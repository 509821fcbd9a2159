"""Planners for a forecast: against least squares in its primal form, made anew every episode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import advmdp as am
from tests.reference.contract import DENSE, GRID, assert_same_state, flat

LAYOUT = DENSE.layout
RNG = np.random.default_rng(3)
TABLES = RNG.normal(size=(40, LAYOUT.n_rows)).cumsum(axis=0)
KINDS = RNG.integers(2, size=40)
G, WINDOW, PENALTY = 0.8, 12, 0.5


def planner(window: int = WINDOW) -> am.planners.KnownRegressionPlanner:
    return am.planners.KnownRegressionPlanner(
        LAYOUT, DENSE.transitions, 2, forgetting=G, window=window, penalty=PENALTY
    )


def mean_by_hand(t: int, kind: int) -> np.ndarray[Any, Any]:
    """The fading mean of a kind of days, and that of all days as one more."""
    if t == 0:
        return np.zeros(LAYOUT.n_rows)
    everything = np.average(TABLES[:t], axis=0, weights=G ** np.arange(t, 0, -1))
    own = np.flatnonzero(KINDS[:t] == kind)
    fading = G ** np.arange(len(own), 0, -1)
    return np.asarray((fading @ TABLES[own] + everything) / (fading.sum() + 1.0))


def forecast_by_hand(t: int, kind: int) -> np.ndarray[Any, Any]:
    """Ridge regression with a matrix of coefficients, by stacked least squares."""
    surprises = np.array([TABLES[s] - mean_by_hand(s, KINDS[s]) for s in range(t)])
    surprises[0] = 0.0
    recent = surprises[-WINDOW:]
    scale = (recent[:-1] ** 2).sum(axis=1).mean() if t > 1 else 0.0
    if scale == 0.0:
        return mean_by_hand(t, kind)
    ridge = np.sqrt(PENALTY * scale) * np.eye(LAYOUT.n_rows)
    features = np.vstack([recent[:-1], ridge])
    targets = np.vstack([recent[1:], np.zeros_like(ridge)])
    matrix = np.linalg.lstsq(features, targets, rcond=None)[0]
    return np.asarray(mean_by_hand(t, kind) + recent[-1] @ matrix)


def test_the_forecast_is_that_of_ridge_regression_in_primal_form() -> None:
    learner = planner()
    assert (flat(learner.policy()) == 0.5).all()
    for t, (table, kind) in enumerate(zip(TABLES, KINDS, strict=True)):
        learner.enter(int(kind))
        learner.observe(table)
        for coming in (0, 1):
            learner.enter(coming)
            by_hand = forecast_by_hand(t + 1, coming)
            found = LAYOUT.flat_pairs(learner.forecast)
            np.testing.assert_allclose(found, by_hand, atol=1e-9)
            plan = am.best_fixed_policy(DENSE, learner.forecast).policy
            assert np.array_equal(flat(learner.policy()), flat(plan))


def test_losses_in_another_unit_have_the_same_plans() -> None:
    plain, large = planner(), planner()
    for table in TABLES:
        plain.observe(table)
        large.observe(1e9 * table)
        assert np.array_equal(flat(plain.policy()), flat(large.policy()))


def test_a_restored_planner_goes_on_with_the_same_bits() -> None:
    """Also where the ring has gone round, and the products are found again in another order."""
    first, again = planner(), planner()
    for table in TABLES[:30]:
        first.observe(table)
    first.enter(1)
    again.restore(first.state())
    for table in TABLES[30:]:
        for each in (first, again):
            each.observe(table)
    assert_same_state(first, again)


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("context", 2, "context 2 is not in"),
        ("losses.weights", -1.0, "weights is not finite, or has values below 0"),
        ("losses.weights", 0.0, "sums is not finite, or too large for its weights"),
        ("losses.surprises", np.nan, "surprises is not finite"),
    ],
)
def test_states_that_no_run_has_are_refused(part: str, value: float, message: str) -> None:
    learner = planner()
    learner.observe(TABLES[0])
    before = learner.state()
    with pytest.raises(am.InvalidInput, match=message):
        learner.restore({**before, part: np.full_like(before[part], value)})
    assert all(np.array_equal(learner.state()[name], before[name]) for name in before)


def test_parameters_are_refused_by_name() -> None:
    for given, message in (
        ({"window": 2}, "window"),
        ({"window": 10**9}, "window: .* too many to remember"),
        ({"penalty": 0.0}, "penalty"),
        ({"forgetting": 1.5}, "forgetting"),
        ({"n_contexts": 0}, "n_contexts"),
    ):
        with pytest.raises(am.InvalidInput, match=message):
            am.planners.RegressionPlanner(LAYOUT, **given)
    with pytest.raises(am.InvalidInput, match="context: 2 is not in"):
        planner().enter(2)


def test_the_mixture_finds_out_that_the_last_episode_says_much() -> None:
    """Losses turn their sign every episode: no mean of the past earns anything."""
    mean = np.random.default_rng(0).normal(size=GRID.layout.n_rows)
    tables = np.where(np.arange(120)[:, np.newaxis] % 2, mean, -mean)
    losses = am.losses.Replayed(tables, any_losses=True)
    mixture = am.EstimatedAdaMixture(GRID.layout)
    run = am.play(GRID, losses, mixture, 120)
    best = sum(am.best_fixed_policy(GRID, table).loss for table in tables)
    assert sum(w for name, w in mixture.weights.items() if "forecast" in name) > 0.9
    assert run.expected_loss[-1] < 0.7 * best < 0.0
