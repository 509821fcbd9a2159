"""Rolling planners against plans made by hand from the recorded past."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import advmdp as am
from tests.reference.contract import DENSE, GRID, flat

TABLES = np.random.default_rng(8).normal(size=(40, DENSE.layout.n_rows))


def plans(learner: Any) -> Iterator[np.ndarray[Any, Any]]:
    for table in TABLES:
        learner.observe(table)
        yield flat(learner.policy())


@pytest.mark.parametrize("window", [1, 7, 100])
def test_a_window_plans_for_the_mean_of_the_last_episodes(window: int) -> None:
    learner = am.planners.KnownWindowPlanner(DENSE.layout, DENSE.transitions, window)
    for t, plan in enumerate(plans(learner)):
        mean = TABLES[max(0, t + 1 - window) : t + 1].mean(axis=0)
        assert np.array_equal(plan, flat(am.best_fixed_policy(DENSE, mean).policy))
        np.testing.assert_allclose(DENSE.layout.flat_pairs(learner.forecast), mean, atol=1e-12)


def test_an_exponential_planner_plans_for_a_fading_past() -> None:
    learner = am.planners.KnownExponentialPlanner(DENSE.layout, DENSE.transitions, 0.7)
    for t, plan in enumerate(plans(learner)):
        faded = 0.7 ** np.arange(t, -1, -1) @ TABLES[: t + 1]
        assert np.array_equal(plan, flat(am.best_fixed_policy(DENSE, faded).policy))


@pytest.mark.parametrize("make", [am.planners.WindowPlanner, am.planners.ExponentialPlanner])
def test_an_estimated_transition_is_planned_with(make: Any) -> None:
    learner = make(GRID.layout)
    losses = am.losses.Replayed(np.random.default_rng(1).random((60, GRID.layout.n_rows)))
    am.play(GRID, losses, learner, 60, seed=3)
    believed = am.LayeredMDP(GRID.layout, learner.transition)
    best = am.best_fixed_policy(believed, learner.forecast)
    assert np.array_equal(flat(learner.policy()), flat(best.policy))
    assert np.abs(np.array(believed.flat) - np.array(GRID.flat)).max() > 0.01


def test_before_the_first_losses_every_action_is_alike() -> None:
    assert (flat(am.planners.WindowPlanner(DENSE.layout).policy()) == 0.5).all()


def test_memory_without_measure_is_refused() -> None:
    with pytest.raises(am.InvalidInput, match=r"window: .* too many to remember"):
        am.planners.WindowPlanner(DENSE.layout, window=10**9)


def test_planners_are_named_in_specs_and_compared() -> None:
    from advmdp.experiments.build import build
    from advmdp.experiments.spec import RunSpec

    spec = RunSpec(
        learner={"name": "plan-window-known", "window": 5},
        mdp={"name": "random", "layer_sizes": [1, 3, 1], "n_actions": 2},
        losses="drifting",
        n_episodes=50,
    )
    parts = build(spec)
    assert parts.learner.window == 5
    assert am.play(parts.mdp, parts.losses, parts.learner, 50).compiled
