"""The regularised minimum over a known transition: a conic solver, closed forms, invariances."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import xlogy

import advmdp as am
from advmdp.kernels.ftrl.fixed_measure import find_reached
from advmdp.kernels.ftrl.minimum import minimise_costs
from advmdp.kernels.ftrl.regulariser import minimiser
from advmdp.kernels.ftrl.start import is_feasible, settle_states
from advmdp.steps.ftrl_workspace import new_fixed_dual, new_fixed_measure
from tests.reference.instances import modest, random_kernel
from tests.reference.plain_ftrl import leader, leader_conic
from tests.reference.tables import Table, greatest_difference, inner, pair_sums

REGULARISERS: dict[str, tuple[Any, float, float, float]] = {
    # how it is stated, and w, b and the weight of the entropy
    "tsallis": (am.Tsallis(0.7), 1.0 / 0.7, 0.0, 0.0),
    "hybrid": (am.Tsallis(0.05, log_barrier=3.0), 20.0, 3.0, 0.0),
    "barrier": (am.LogBarrier(0.4), 0.0, 0.4, 0.0),
    "entropy": (am.Entropy(2.0), 0.0, 0.0, 0.5),
}
every_regulariser = pytest.mark.parametrize("name", REGULARISERS)


def instance(seed: int, sizes: tuple[int, ...], n_actions: int, spread: float) -> tuple[Any, Table]:
    rng = np.random.default_rng(seed)
    layout = am.Layout(sizes, n_actions)
    cost = [spread * rng.normal(size=(n, n_actions)) for n in sizes[:-1]]
    return (layout, random_kernel(rng, sizes, n_actions)), cost


def flow_error(q: Table) -> float:
    """Inflow against outflow, as a share of the largest."""
    worst = abs(q[0].sum() - 1.0)
    for before, after in pairwise(q):
        worst = max(worst, np.abs(before.sum(axis=(0, 1)) - after.sum(axis=(1, 2))).max())
    return float(worst)


@every_regulariser
@pytest.mark.parametrize("spread", [0.3, 30.0])
def test_the_value_is_that_of_a_conic_solver(name: str, spread: float) -> None:
    regulariser, w, b, entropy = REGULARISERS[name]
    (layout, chance), cost = instance(3, (1, 4, 3, 1), 3, spread)
    result = am.minimise(cost, am.KnownTransition(layout, chance), regulariser)
    weights = [np.full(c.shape, b) for c in cost]
    expected = leader_conic(cost, chance, w, weights, entropy)
    assert abs(result.value - expected) <= 2e-6 * (1.0 + abs(expected))
    assert result.value <= expected + 1e-7 * (1.0 + abs(expected))


@every_regulariser
@given(
    seed=st.integers(0, 10**6),
    sizes=st.lists(st.integers(1, 5), min_size=0, max_size=4),
    n_actions=st.integers(1, 4),
    magnitude=st.integers(-3, 3),
)
@modest
def test_every_answer_is_certified(
    name: str, seed: int, sizes: list[int], n_actions: int, magnitude: int
) -> None:
    (layout, chance), cost = instance(seed, (1, *sizes, 1), n_actions, 10.0**magnitude)
    result = am.minimise(cost, am.KnownTransition(layout, chance), REGULARISERS[name][0])
    assert result.converged
    assert flow_error(result.occupancy) <= 1e-12
    assert 0.0 <= result.gap <= 1e-10 * (1.0 + abs(result.value))
    assert result.flow_residual <= 1e-10
    terms = terms_of(pair_sums(result.occupancy), cost, *REGULARISERS[name][1:])
    assert abs(result.value - terms.sum()) <= 1e-12 * (1.0 + np.abs(terms).sum())


def terms_of(q: Table, cost: Table, w: float, b: float, entropy: float) -> np.ndarray:
    """Of <q, cost> + R(q)."""
    found = []
    for mass, c in zip(q, cost, strict=True):
        found += [mass * c, -w * np.sqrt(mass), entropy * (xlogy(mass, mass) - mass)]
        if b > 0.0:
            found.append(-b * np.log(mass))
    return np.concatenate([part.ravel() for part in found])


@pytest.mark.parametrize("name", ["tsallis", "hybrid", "barrier"])
@pytest.mark.parametrize("seed", range(3))
def test_the_policy_is_that_of_a_dense_solver(name: str, seed: int) -> None:
    regulariser, w, b, _ = REGULARISERS[name]
    (layout, chance), cost = instance(seed, (1, 3, 1, 4, 1), 2, 5.0)
    result = am.minimise(cost, am.KnownTransition(layout, chance), regulariser)
    expected = leader(cost, chance, w, [np.full(c.shape, b) for c in cost])
    assert greatest_difference(am.policy_of(result.occupancy, layout), expected) <= 1e-8


@pytest.mark.parametrize("name", ["tsallis", "barrier"])
def test_rows_that_sum_to_less_than_one_end_the_episode(name: str) -> None:
    regulariser, w, b, _ = REGULARISERS[name]
    (layout, chance), cost = instance(7, (1, 3, 3, 1), 2, 2.0)
    rng = np.random.default_rng(7)
    partial = [p * rng.uniform(0.3, 1.0, size=(*p.shape[:2], 1)) for p in chance]
    partial[0][:, :, 2] = 0.0  # nothing leads to the last state of layer 1
    result = am.minimise(cost, am.PartialTransition(layout, partial), regulariser)
    weights = [np.full(c.shape, b) for c in cost]
    expected = leader_conic(cost, partial, w, weights, 0.0)
    assert abs(result.value - expected) <= 2e-6 * (1.0 + abs(expected))
    policy = leader(cost, partial, w, weights)
    q = np.einsum("a,ay->y", policy[0][0], partial[0][0])
    assert np.allclose(result.occupancy[0].sum(axis=(0, 1)), q, atol=1e-9)
    assert result.occupancy[1][2].sum() == 0.0


@pytest.mark.parametrize("log_barrier", [0.0, 0.2])
def test_one_state_is_tsallis_inf(log_barrier: float) -> None:
    """q(a) = 1 / (2 eta (C(a) - v))^2 for b = 0 (Zimmert and Seldin, 2021), else 1 / s^2."""
    layout, eta = am.Layout((1, 1), 4), 0.3
    cost = np.array([0.0, 1.0, 5.0, 40.0])
    known = am.KnownTransition(layout, [np.ones((1, 4, 1))])
    found = am.minimise([cost[None]], known, am.Tsallis(eta, log_barrier=log_barrier))

    def measure(v: float) -> Any:
        z, half = cost - v, 0.5 / eta
        if log_barrier == 0.0:
            return 1.0 / (2.0 * eta * z) ** 2
        s = (-half + np.sqrt(half**2 + 4.0 * log_barrier * z)) / (2.0 * log_barrier)
        return 1.0 / s**2

    v = brentq(lambda v: measure(v).sum() - 1.0, -50.0, -1e-9, xtol=1e-14)
    assert np.allclose(found.occupancy[0].ravel(), measure(v), rtol=0, atol=1e-10)


@every_regulariser
def test_layers_of_one_state_are_independent_bandits(name: str) -> None:
    (layout, chance), cost = instance(2, (1, 1, 1, 1), 3, 4.0)
    whole = am.minimise(cost, am.KnownTransition(layout, chance), REGULARISERS[name][0])
    bandit = am.Layout((1, 1), 3)
    for k in range(3):
        known = am.KnownTransition(bandit, [np.ones((1, 3, 1))])
        alone = am.minimise([cost[k]], known, REGULARISERS[name][0])
        assert np.allclose(whole.occupancy[k], alone.occupancy[0], rtol=0, atol=1e-10)


@every_regulariser
def test_a_potential_added_to_the_cost_changes_nothing(name: str) -> None:
    (layout, chance), cost = instance(5, (1, 4, 2, 1), 3, 2.0)
    rng = np.random.default_rng(1)
    height = [rng.normal(size=n) for n in (1, 4, 2)] + [np.zeros(1)]
    shifted = [c + chance[k] @ height[k + 1] - height[k][:, None] for k, c in enumerate(cost)]
    known = am.KnownTransition(layout, chance)
    ours, theirs = (am.minimise(c, known, REGULARISERS[name][0]) for c in (cost, shifted))
    assert greatest_difference(ours.occupancy, theirs.occupancy) <= 1e-9
    assert theirs.value == pytest.approx(ours.value - height[0][0], rel=1e-10)


def test_costs_of_triples_count_with_their_probability() -> None:
    (layout, chance), _ = instance(6, (1, 3, 2, 1), 2, 1.0)
    rng = np.random.default_rng(2)
    triples = [rng.normal(size=p.shape) for p in chance]
    known, regulariser = am.KnownTransition(layout, chance), am.Tsallis(1.0)
    pairs = [(t * p).sum(axis=2) for t, p in zip(triples, chance, strict=True)]
    ours, theirs = (am.minimise(c, known, regulariser) for c in (triples, pairs))
    assert greatest_difference(ours.occupancy, theirs.occupancy) <= 1e-13
    total = sum((q * t).sum() for q, t in zip(ours.occupancy, triples, strict=True))
    roots = sum(np.sqrt(q).sum() for q in pair_sums(ours.occupancy))
    assert ours.value == pytest.approx(total - roots, rel=1e-12)


def test_weights_may_differ_from_pair_to_pair() -> None:
    (layout, chance), cost = instance(8, (1, 2, 2, 1), 2, 1.0)
    weights = [0.1 + np.random.default_rng(k).random(c.shape) for k, c in enumerate(cost)]
    result = am.minimise(cost, am.KnownTransition(layout, chance), am.LogBarrier(weights))
    expected = leader(cost, chance, 0.0, weights)
    assert greatest_difference(am.policy_of(result.occupancy, layout), expected) <= 1e-9


@every_regulariser
def test_the_safe_path_finds_the_same(name: str) -> None:
    (layout, chance), cost = instance(9, (1, 3, 3, 1), 2, 50.0)
    costs = np.concatenate([c.ravel() for c in cost])
    flat = layout.flat_triples(chance)
    found = []
    for in_logs in (None, True):
        measure, dual = new_fixed_measure(layout, flat.copy()), new_fixed_dual(layout)
        record = REGULARISERS[name][0].record(layout)
        assert minimise_costs(layout.graph(), costs, measure, record, dual, in_logs)
        assert dual.certificate.counts[3] == (in_logs is not None)
        found.append(measure.policy)
    assert np.allclose(*found, rtol=0, atol=1e-9)


# ---------------------------------------------------------------------- constraints


@every_regulariser
@pytest.mark.parametrize("tight", [0.25, 0.02])
def test_constraints_are_met_as_a_conic_solver_meets_them(name: str, tight: float) -> None:
    regulariser, w, b, entropy = REGULARISERS[name]
    (layout, chance), cost = instance(4, (1, 3, 4, 1), 3, 1.0)
    rng = np.random.default_rng(4)
    known = am.KnownTransition(layout, chance)
    tables = [[rng.random(c.shape) for c in cost] for _ in range(3)]
    free = pair_sums(am.minimise(cost, known, regulariser).occupancy)
    spent = [inner(free, g) for g in tables]
    least = [layout_minimum(layout, chance, g) for g in tables]
    # two that bind, somewhere between what is free and what is possible, and one that does not
    limits = [least[i] + (0.4 + tight) * (spent[i] - least[i]) for i in (0, 1)] + [spent[2] + 1.0]
    constraints = list(zip(tables, limits, strict=True))
    result = am.minimise(cost, known, regulariser, constraints)
    q = pair_sums(result.occupancy)
    for table, limit in constraints:
        assert inner(q, table) <= limit + 1e-8
    weights = [np.full(c.shape, b) for c in cost]
    expected = leader_conic(cost, chance, w, weights, entropy, constraints)
    assert abs(result.value - expected) <= 1e-5 * (1.0 + abs(expected))
    assert result.multipliers[2] == 0.0
    assert max(result.multipliers[:2]) > 0.0
    assert min(result.multipliers) >= 0.0
    assert result.gap <= 1e-8 * (1.0 + abs(result.value))


def layout_minimum(layout: am.Layout, chance: Table, table: Table) -> float:
    """The least <q, table> over all policies, by backward induction."""
    value = np.zeros(1)
    for p, g in zip(reversed(chance), reversed(table), strict=True):
        value = (g + p @ value).min(axis=1)
    return float(value[0])


def test_multipliers_are_prices() -> None:
    """The derivative of the minimum in the limit is minus the multiplier."""
    (layout, chance), cost = instance(3, (1, 3, 2, 1), 2, 1.0)
    known, table = am.KnownTransition(layout, chance), [np.arange(2.0) + 0 * c for c in cost]
    values = [
        am.minimise(cost, known, am.Tsallis(1.0), [(table, limit)]) for limit in (0.8, 0.8001)
    ]
    slope = (values[1].value - values[0].value) / 1e-4
    assert slope == pytest.approx(-values[0].multipliers[0], rel=1e-3)


def test_constraints_that_cannot_be_met_are_not_certified() -> None:
    (layout, chance), cost = instance(3, (1, 3, 2, 1), 2, 1.0)
    known, table = am.KnownTransition(layout, chance), [0 * c + 1.0 for c in cost]
    with pytest.raises(am.UncertifiedStep, match="some policy meets"):
        am.minimise(cost, known, am.Tsallis(1.0), [(table, 2.5)])  # every policy spends 3
    for wrong in ([(table,)], [table], [([table[0]], 1.0)]):
        with pytest.raises(am.InvalidInput, match="constraints"):
            am.minimise(cost, known, am.Tsallis(1.0), wrong)


@every_regulariser
@pytest.mark.parametrize("spread", [0.3, 300.0])
def test_settled_states_have_the_masses_that_are_wanted(name: str, spread: float) -> None:
    """From a guess that is too high, too low or outside of the domain."""
    (layout, chance), cost = instance(9, (1, 3, 4, 1), 3, spread)
    measure = new_fixed_measure(layout, layout.flat_triples(chance))
    record, dual = REGULARISERS[name][0].record(layout), new_fixed_dual(layout)
    mass = np.zeros(layout.n_states)
    find_reached(layout.graph(), measure, mass)
    mass *= np.random.default_rng(1).uniform(0.01, 1.0, layout.n_states)
    for room in (-50.0, 0.01, 1.0, 50.0):
        dual.reduced[:] = layout.flat_pairs(cost)
        dual.room[:] = room
        settle_states(layout.graph(), measure, mass, record, dual)
        assert is_feasible(layout.graph(), measure, record, dual)
        found = [minimiser(record, r, z)[0] for r, z in enumerate(dual.reduced)]
        sums = np.reshape(found, (-1, layout.n_actions)).sum(axis=1)
        assert np.allclose(sums, mass[:-1], rtol=3e-3, atol=0.0)


def test_what_is_not_implemented_is_refused_with_its_reason() -> None:
    (layout, chance), cost = instance(0, (1, 2, 1), 2, 1.0)
    sets = am.AnyTransition(layout), am.L1Set.everything(layout)
    for confidence, (regulariser, *_) in product(sets, REGULARISERS.values()):
        with pytest.raises(am.InvalidInput, match="regulariser on pairs has kinks"):
            am.minimise(cost, confidence, regulariser)
    barrier = am.LogBarrier(1.0, on="triples")
    with pytest.raises(am.InvalidInput, match="a BoxSet or an L1Set"):
        am.minimise(cost, chance, barrier)  # type: ignore[arg-type]
    with pytest.raises(am.InvalidInput, match="a ball with a floor"):
        am.minimise(cost, am.L1Set.everything(layout, floor=0.1), barrier)
    with pytest.raises(am.InvalidInput, match="sum to 1 or less"):
        am.PartialTransition(layout, [2.0 * p for p in chance])
