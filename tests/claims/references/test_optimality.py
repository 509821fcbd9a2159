"""The optimality conditions notice what is infeasible, and what is feasible but not optimal."""

from __future__ import annotations

import numpy as np
import pytest

import advmdp as am
from advmdp.claims.lemmas.projection_dual import problem_from_run
from advmdp.claims.references.optimality import active_share, first_order_gap, infeasibility
from advmdp.claims.references.oracles import divergence

LAYOUT = am.Layout((1, 3, 2, 1), 2)


@pytest.fixture(scope="module")
def problem():  # type: ignore[no-untyped-def]
    return problem_from_run(LAYOUT, np.random.default_rng(4))


def test_a_projection_is_feasible_and_optimal(problem) -> None:  # type: ignore[no-untyped-def]
    q = LAYOUT.flat_triples(am.project(problem.weights, problem.box).occupancy)
    assert infeasibility(LAYOUT, q, problem.box) <= 1e-12
    assert abs(first_order_gap(LAYOUT, q, problem.weights, problem.box)) <= 1e-9
    assert 0.0 < active_share(LAYOUT, q, problem.box) < 1.0


def test_another_member_is_feasible_and_its_gap_bounds_its_excess(problem) -> None:  # type: ignore[no-untyped-def]
    best = LAYOUT.flat_triples(am.project(problem.weights, problem.box).occupancy)
    other = LAYOUT.flat_triples(am.project(np.sqrt(problem.weights), problem.box).occupancy)
    assert infeasibility(LAYOUT, other, problem.box) <= 1e-12
    gap = first_order_gap(LAYOUT, other, problem.weights, problem.box)
    excess = divergence(other, problem.weights) - divergence(best, problem.weights)
    assert gap >= excess > 1e-6


def test_what_leaves_the_set_is_infeasible(problem) -> None:  # type: ignore[no-untyped-def]
    free = LAYOUT.flat_triples(am.project(problem.weights, am.AnyTransition(LAYOUT)).occupancy)
    assert infeasibility(LAYOUT, free, problem.box) > 1e-4
    q = LAYOUT.flat_triples(am.project(problem.weights, problem.box).occupancy)
    assert infeasibility(LAYOUT, 1.1 * q, problem.box) == pytest.approx(0.1)
