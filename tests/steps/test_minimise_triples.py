"""The log barrier on triples over boxes: a conic solver, closed forms, certificates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

import advmdp as am
from tests.reference.instances import Instance, instances, modest, random_instance
from tests.reference.plain_log_barrier import barrier_conic, objective_of
from tests.reference.tables import box_error, flow_error, greatest_difference
from tests.steps.sets import layout_of


def costs_of(case: Instance, seed: int, spread: float) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [spread * rng.normal(size=w.shape) for w in case.weights]


@pytest.mark.parametrize("weight", [0.2, 5.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_value_is_that_of_a_conic_solver(seed: int, weight: float) -> None:
    case = random_instance(seed, sizes=(1, 3, 3, 1), most_visits=400, log_term=0.2)
    cost, box = costs_of(case, seed, 3.0), case.box()
    result = am.minimise(
        cost, am.BoxSet(layout_of(case), *box), am.LogBarrier(weight, on="triples")
    )
    barrier = [np.full(c.shape[:2], weight) for c in cost]
    expected = objective_of(barrier_conic(cost, *box, barrier), cost, barrier)
    assert abs(result.value - expected) <= 1e-6 * (1.0 + abs(expected))
    assert result.value == pytest.approx(objective_of(result.occupancy, cost, barrier), rel=1e-12)


@given(case=instances(widest=4), seed=st.integers(0, 99), magnitude=st.integers(-2, 2))
@modest
def test_every_answer_is_certified(case: Instance, seed: int, magnitude: int) -> None:
    box = case.box()
    barrier = am.LogBarrier(0.7, on="triples")
    cost = costs_of(case, seed, 10.0**magnitude)
    result = am.minimise(cost, am.BoxSet(layout_of(case), *box), barrier)
    assert 0.0 <= result.gap <= 1e-10 * (1.0 + abs(result.value))
    assert flow_error(result.occupancy) <= 1e-12
    assert box_error(result.occupancy, *box) <= 1e-12


def test_bounds_that_hold_are_met_with_equality() -> None:
    case = random_instance(2, sizes=(1, 4, 1), most_visits=4000, log_term=0.05)
    lower, upper = case.box()
    cost = costs_of(case, 2, 300.0)
    result = am.minimise(
        cost, am.BoxSet(layout_of(case), lower, upper), am.LogBarrier(1.0, on="triples")
    )
    p = am.transition_of(result.occupancy, layout_of(case))[0]
    assert np.isclose(p, lower[0], rtol=1e-10).any()
    assert np.isclose(p, upper[0], rtol=1e-10).any()


def test_one_state_is_a_log_barrier_bandit() -> None:
    layout, cost = am.Layout((1, 1), 3), np.array([0.0, 2.0, 30.0])
    for confidence in (am.AnyTransition(layout), am.KnownTransition(layout, [np.ones((1, 3, 1))])):
        found = am.minimise([cost[None]], confidence, am.LogBarrier(0.5, on="triples"))
        v = brentq(lambda v: (0.5 / (cost - v)).sum() - 1.0, -10.0, -1e-9, xtol=1e-15)
        assert np.allclose(found.occupancy[0].ravel(), 0.5 / (cost - v), rtol=0, atol=1e-10)


def test_a_box_without_width_is_the_known_transition() -> None:
    case = random_instance(5, sizes=(1, 3, 2, 1))
    layout, cost = layout_of(case), costs_of(case, 5, 2.0)
    barrier = am.LogBarrier(1.5, on="triples")
    narrow = [(np.maximum(p - 1e-9, 0.0), np.minimum(p + 1e-9, 1.0)) for p in case.kernel]
    box = am.BoxSet(layout, *(list(part) for part in zip(*narrow, strict=True)))
    ours, known = (
        am.minimise(cost, each, barrier) for each in (box, am.KnownTransition(layout, case.kernel))
    )
    assert greatest_difference(ours.occupancy, known.occupancy) <= 1e-6
    # on a known transition n triples of a pair count as its mass n times
    weights = [1.5 * np.full(c.shape[:2], c.shape[2]) for c in cost]
    expected = [(c * p).sum(axis=2) for c, p in zip(cost, case.kernel, strict=True)]
    pairs = am.minimise(expected, am.KnownTransition(layout, case.kernel), am.LogBarrier(weights))
    assert greatest_difference(pairs.occupancy, known.occupancy) <= 1e-9


def test_a_triple_that_cannot_happen_is_refused() -> None:
    layout = am.Layout((1, 2, 1), 1)
    box = am.BoxSet(
        layout,
        [np.array([[[0.5, 0.0]]]), np.ones((2, 1, 1))],
        [np.array([[[1.0, 0.0]]]), np.ones((2, 1, 1))],
    )
    with pytest.raises(am.InvalidInput, match="upper bound zero at layer 0"):
        am.minimise([np.zeros((1, 1)), np.zeros((2, 1))], box, am.LogBarrier(1.0, on="triples"))
