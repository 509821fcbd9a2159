"""Regularisers on triples over sets: a conic solver, closed forms, certificates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

import advmdp as am
from tests.reference.instances import Instance, instances, modest, random_instance
from tests.reference.plain_log_barrier import barrier_conic, objective_of
from tests.reference.tables import box_error, flow_error, greatest_difference, l1_error
from tests.steps.sets import KINDS, layout_of, set_of


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


OTHERS = [
    am.Tsallis(0.5, on="triples"),
    am.Tsallis(2.0, log_barrier=0.1, on="triples"),
    am.Entropy(1.5, on="triples"),
]


def value_of(q: list[np.ndarray], cost: list[np.ndarray], regulariser: Any) -> float:
    """<q, cost> + R(q), by the definition of R."""
    flat, paid = np.concatenate([layer.ravel() for layer in q]), 0.0
    paid = sum(float((a * c).sum()) for a, c in zip(q, cost, strict=True))
    if isinstance(regulariser, am.Entropy):
        return paid + float((flat * np.log(flat) - flat).sum()) / regulariser.eta
    logs = regulariser.log_barrier * float(np.log(np.where(flat > 0.0, flat, 1.0)).sum())
    return paid - float(np.sqrt(flat).sum()) / regulariser.eta - logs


def conic_value(cost: Any, box: Any, regulariser: Any, limited: Any) -> float:
    """The same of the conic solver's measure."""
    is_entropy = isinstance(regulariser, am.Entropy)
    barrier = 0.0 if is_entropy else regulariser.log_barrier
    weight = 1.0 / regulariser.eta
    q = barrier_conic(
        cost,
        *box,
        [np.full(c.shape[:2], barrier) for c in cost],
        root=0.0 if is_entropy else weight,
        entropy=weight if is_entropy else 0.0,
        limited=limited,
    )
    return value_of([np.maximum(layer, 1e-300) for layer in q], cost, regulariser)


@pytest.mark.parametrize("regulariser", OTHERS, ids=["tsallis", "hybrid", "entropy"])
@pytest.mark.parametrize("seed", range(2))
def test_other_regularisers_have_the_value_of_a_conic_solver(seed: int, regulariser: Any) -> None:
    case = random_instance(seed, sizes=(1, 3, 3, 1), most_visits=400, log_term=0.2)
    cost, box = costs_of(case, seed, 3.0), case.box()
    result = am.minimise(cost, am.BoxSet(layout_of(case), *box), regulariser)
    expected = conic_value(cost, box, regulariser, [])
    assert abs(result.value - expected) <= 1e-5 * (1.0 + abs(expected))
    assert result.value == pytest.approx(value_of(result.occupancy, cost, regulariser), rel=1e-12)


@given(
    case=instances(widest=4),
    seed=st.integers(0, 99),
    magnitude=st.integers(-2, 2),
    regulariser=st.sampled_from(OTHERS),
)
@modest
def test_every_answer_of_the_others_is_certified(
    case: Instance, seed: int, magnitude: int, regulariser: Any
) -> None:
    box = case.box()
    cost = costs_of(case, seed, 10.0**magnitude)
    result = am.minimise(cost, am.BoxSet(layout_of(case), *box), regulariser)
    assert 0.0 <= result.gap <= 1e-10 * (1.0 + abs(result.value))
    assert flow_error(result.occupancy) <= 1e-12
    assert box_error(result.occupancy, *box) <= 1e-12


@pytest.mark.parametrize("kept", [1.0, 0.8])
@pytest.mark.parametrize("regulariser", OTHERS, ids=["tsallis", "hybrid", "entropy"])
def test_the_value_has_the_slope_of_the_measure(regulariser: Any, kept: float) -> None:
    """By the envelope theorem the value's derivative in a cost is the measure there.

    With ``kept`` below one so much of every row goes on, and the rest ends the episode.
    """
    case = random_instance(7, sizes=(1, 3, 2, 1))
    chance, cost = [kept * p for p in case.kernel], costs_of(case, 7, 2.0)
    kind = am.KnownTransition if kept == 1.0 else am.PartialTransition
    given = kind(layout_of(case), chance)
    q = am.minimise(cost, given, regulariser).occupancy
    assert greatest_difference(am.transition_of(q, layout_of(case)), case.kernel) <= 1e-12
    assert [layer.sum() for layer in q] == pytest.approx([kept, kept**2, kept**3])
    for k, place in ((0, (0, 1, 2)), (1, (2, 0, 1))):
        values = []
        for change in (1e-4, -1e-4):
            moved = [c.copy() for c in cost]
            moved[k][place] += change
            values.append(am.minimise(moved, given, regulariser).value)
        assert (values[0] - values[1]) / 2e-4 == pytest.approx(q[k][place], rel=1e-5)


def test_on_a_partial_transition_pairs_pay_for_what_ends() -> None:
    """n triples of a pair count as its mass n times; a pair table is paid by all of that mass."""
    case = random_instance(8, sizes=(1, 3, 2, 1))
    partial = am.PartialTransition(layout_of(case), [0.7 * p for p in case.kernel])
    cost = [c.mean(axis=2) for c in costs_of(case, 8, 2.0)]
    weights = [np.full(p.shape[:2], 0.4 * p.shape[2]) for p in case.kernel]
    triples = am.minimise(cost, partial, am.LogBarrier(0.4, on="triples"))
    pairs = am.minimise(cost, partial, am.LogBarrier(weights))
    assert greatest_difference(triples.occupancy, pairs.occupancy) <= 1e-9
    logs = sum(0.4 * float(np.log(0.7 * p).sum()) for p in case.kernel)
    assert triples.value == pytest.approx(pairs.value - logs)


@pytest.mark.parametrize("regulariser", OTHERS, ids=["tsallis", "hybrid", "entropy"])
@pytest.mark.parametrize(("seed", "spread"), [(0, 1.0), (1, 10.0)])
def test_over_a_ball_the_value_is_that_of_a_conic_solver(
    seed: int, spread: float, regulariser: Any
) -> None:
    case = random_instance(seed, sizes=(1, 3, 3, 1), most_visits=400, log_term=0.2)
    cost, ball = costs_of(case, seed, spread), case.ball()
    result = am.minimise(cost, am.L1Set(layout_of(case), *ball), regulariser)
    expected = conic_value(cost, ball, regulariser, [])
    assert abs(result.value - expected) <= 1e-5 * (1.0 + abs(expected))


@given(
    case=instances(widest=4),
    seed=st.integers(0, 99),
    magnitude=st.integers(-2, 2),
    regulariser=st.sampled_from([*OTHERS, am.LogBarrier(0.7, on="triples")]),
)
@modest
def test_every_answer_over_a_ball_is_certified(
    case: Instance, seed: int, magnitude: int, regulariser: Any
) -> None:
    ball, cost = case.ball(), costs_of(case, seed, 10.0**magnitude)
    result = am.minimise(cost, am.L1Set(layout_of(case), *ball), regulariser)
    assert 0.0 <= result.gap <= 1e-10 * (1.0 + abs(result.value))
    assert flow_error(result.occupancy) <= 1e-12
    assert l1_error(result.occupancy, *ball) <= 1e-12


@pytest.mark.parametrize("regulariser", [*OTHERS, am.LogBarrier(0.7, on="triples")])
@pytest.mark.parametrize("kind", KINDS)
def test_a_potential_added_to_the_cost_changes_nothing(kind: str, regulariser: Any) -> None:
    """Over a set too: h(x') - h(x) telescopes along every path, whatever the transition is."""
    case = random_instance(4, sizes=(1, 3, 4, 1), most_visits=400, log_term=0.2)
    confidence, cost = set_of(case, kind).build(layout_of(case)), costs_of(case, 4, 3.0)
    rng = np.random.default_rng(2)
    height = [rng.normal(size=n) for n in (1, 3, 4)] + [np.zeros(1)]
    shifted = [c + height[k + 1] - height[k][:, None, None] for k, c in enumerate(cost)]
    ours, theirs = (am.minimise(c, confidence, regulariser) for c in (cost, shifted))
    assert greatest_difference(ours.occupancy, theirs.occupancy) <= 1e-9
    assert theirs.value == pytest.approx(ours.value - height[0][0], rel=1e-10)


def test_one_state_is_a_tsallis_bandit() -> None:
    layout, cost = am.Layout((1, 1), 3), np.array([0.0, 2.0, 30.0])
    for confidence in (am.AnyTransition(layout), am.KnownTransition(layout, [np.ones((1, 3, 1))])):
        found = am.minimise([cost[None]], confidence, am.Tsallis(0.5, on="triples"))
        v = brentq(lambda v: ((cost - v) ** -2.0).sum() - 1.0, -10.0, -1e-9, xtol=1e-15)
        assert np.allclose(found.occupancy[0].ravel(), (cost - v) ** -2.0, rtol=0, atol=1e-10)


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


# ---------------------------------------------------------------------- constraints


def spent_on(q: list[np.ndarray], table: list[np.ndarray]) -> float:
    return sum(float((a.sum(axis=2) * g).sum()) for a, g in zip(q, table, strict=True))


@pytest.mark.parametrize("regulariser", OTHERS, ids=["tsallis", "hybrid", "entropy"])
def test_constraints_are_met_as_a_conic_solver_meets_them(regulariser: Any) -> None:
    case = random_instance(3, sizes=(1, 3, 3, 1), most_visits=400, log_term=0.2)
    cost, box = costs_of(case, 3, 1.0), case.box()
    confidence, rng = am.BoxSet(layout_of(case), *box), np.random.default_rng(3)
    tables = [[rng.random(c.shape[:2]) for c in cost] for _ in range(3)]
    free = am.minimise(cost, confidence, regulariser)
    limits = [spent_on(free.occupancy, tables[i]) + (-0.2, -0.1, 1.0)[i] for i in range(3)]
    constraints = list(zip(tables, limits, strict=True))
    result = am.minimise(cost, confidence, regulariser, constraints)
    for table, limit in constraints:
        assert spent_on(result.occupancy, table) <= limit + 1e-8
    expected = conic_value(cost, box, regulariser, constraints)
    assert abs(result.value - expected) <= 1e-5 * (1.0 + abs(expected))
    assert max(result.multipliers[:2]) > 0.0
    assert result.multipliers[2] == 0.0
    assert box_error(result.occupancy, *box) <= 1e-12
    assert result.gap <= 1e-8 * (1.0 + abs(result.value))


def test_multipliers_are_prices() -> None:
    """The derivative of the minimum in the limit is minus the multiplier."""
    case = random_instance(4, sizes=(1, 3, 2, 1), most_visits=400, log_term=0.2)
    cost, confidence = costs_of(case, 4, 1.0), am.BoxSet(layout_of(case), *case.box())
    barrier, table = am.LogBarrier(0.3, on="triples"), [c.mean(axis=2) for c in cost]
    limit = spent_on(am.minimise(cost, confidence, barrier).occupancy, table) - 0.05
    low, high = (am.minimise(cost, confidence, barrier, [(table, limit + d)]) for d in (0.0, 1e-5))
    assert (high.value - low.value) / 1e-5 == pytest.approx(-low.multipliers[0], rel=1e-3)
    assert low.multipliers[0] > 0.1


def test_constraints_that_no_policy_meets_are_refused() -> None:
    case = random_instance(4, sizes=(1, 3, 2, 1), n_actions=2)
    cost, confidence = costs_of(case, 4, 1.0), am.BoxSet(layout_of(case), *case.box())
    barrier = am.LogBarrier(0.3, on="triples")
    second = [np.tile([0.0, 1.0], (len(c), 1)) for c in cost]
    first = [1.0 - g for g in second]
    with pytest.raises(am.InvalidInput, match="constraints: no policy meets them"):
        am.minimise(cost, confidence, barrier, [(first, -0.1)])
    with pytest.raises(am.InvalidInput, match="no policy meets them"):  # together they spend 3
        am.minimise(cost, confidence, barrier, [(first, 1.2), (second, 1.3)])
