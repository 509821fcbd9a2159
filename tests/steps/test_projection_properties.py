"""What holds for every KL projection on a convex set of occupancy measures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import advmdp as am
from tests.reference.instances import Instance, instances, modest, random_policy
from tests.reference.tables import (
    divergence,
    flow_error,
    greatest_difference,
    occupancy,
    permute,
)
from tests.steps.sets import KINDS, layout_of, set_of

kinds = st.sampled_from(KINDS)


@given(case=instances(), kind=kinds)
@modest
def test_result_is_feasible_positive_and_certified(case: Instance, kind: str) -> None:
    target = set_of(case, kind)
    result = am.project(case.weights, target.build(layout_of(case)))
    assert result.converged
    assert result.flow_residual <= 1e-10
    assert flow_error(result.occupancy) <= 1e-12
    assert target.error(result.occupancy) <= 1e-14
    # The exact projection of positive weights is positive wherever the set allows it.
    assert all((layer > 0.0).all() for layer in result.occupancy)


@given(case=instances(), kind=kinds)
@modest
def test_duality(case: Instance, kind: str) -> None:
    result = am.project(case.weights, set_of(case, kind).build(layout_of(case)))
    explicit = divergence(result.occupancy, case.weights)
    scale = 1.0 + explicit
    assert abs(result.divergence - explicit) <= 1e-10 * scale
    assert abs(result.dual_value - explicit) <= 1e-9 * scale
    assert -1e-12 * scale <= result.duality_gap <= 1e-9 * scale


@given(case=instances(), kind=kinds)
@modest
def test_generalised_pythagoras(case: Instance, kind: str) -> None:
    # D(r || w) >= D(r || q) + D(q || w) for every r in the set characterises the projection q.
    target = set_of(case, kind)
    q = am.project(case.weights, target.build(layout_of(case))).occupancy
    rng = case.rng()
    for _ in range(5):
        policy = random_policy(rng, case.sizes, case.n_actions)
        r = occupancy(target.member(rng), policy)
        left = divergence(r, case.weights)
        right = divergence(r, q) + divergence(q, case.weights)
        assert left >= right - 1e-9 * (1.0 + left)


@given(case=instances(), kind=kinds)
@modest
def test_a_member_is_its_own_projection(case: Instance, kind: str) -> None:
    target = set_of(case, kind)
    # Mixed with the centre of the set so that no entry is zero: weights must be positive.
    rng = case.rng()
    other = am.project(case.weights, target.build(layout_of(case))).occupancy
    member = occupancy(target.member(rng), random_policy(rng, case.sizes, case.n_actions))
    inside = [(a + b) / 2.0 for a, b in zip(member, other, strict=True)]
    result = am.project(inside, target.build(layout_of(case)))
    assert greatest_difference(result.occupancy, inside) <= 1e-10
    assert result.divergence == pytest.approx(0.0, abs=1e-10)


@given(case=instances(), kind=kinds)
@modest
def test_projecting_twice_changes_nothing(case: Instance, kind: str) -> None:
    target = set_of(case, kind).build(layout_of(case))
    once = am.project(case.weights, target).occupancy
    twice = am.project(once, target).occupancy
    assert greatest_difference(once, twice) <= 1e-10


@given(case=instances(), kind=kinds)
@modest
def test_a_layers_scale_does_not_matter(case: Instance, kind: str) -> None:
    target = set_of(case, kind).build(layout_of(case))
    factors = 10.0 ** case.rng().uniform(-100, 100, size=len(case.weights))
    scaled = [c * w for c, w in zip(factors, case.weights, strict=True)]
    first, second = am.project(case.weights, target), am.project(scaled, target)
    assert second.converged
    assert greatest_difference(first.occupancy, second.occupancy) <= 1e-9


@given(case=instances(), kind=kinds, strength=st.sampled_from([0.1, 3.0, 50.0]))
@modest
def test_a_potential_on_the_states_does_not_matter(
    case: Instance, kind: str, strength: float
) -> None:
    # e^{h(x')} on the way into a state and e^{-h(x)} on the way out cancel by Eq. (2).
    target = set_of(case, kind).build(layout_of(case))
    rng = case.rng()
    potential = [strength * rng.normal(size=n) for n in case.sizes]
    potential[0][:] = potential[-1][:] = 0.0
    tilted = [
        w * np.exp(potential[k + 1]) * np.exp(-potential[k])[:, None, None]
        for k, w in enumerate(case.weights)
    ]
    first, second = am.project(case.weights, target), am.project(tilted, target)
    assert second.converged
    assert greatest_difference(first.occupancy, second.occupancy) <= 1e-8


@given(case=instances(), kind=kinds)
@modest
def test_renaming_states_renames_the_answer(case: Instance, kind: str) -> None:
    rng = case.rng()
    orders = [rng.permutation(n) for n in case.sizes]
    target, layout = set_of(case, kind), layout_of(case)
    plain = am.project(case.weights, target.build(layout)).occupancy
    renamed = am.project(permute(case.weights, orders), target.permuted(orders).build(layout))
    assert greatest_difference(renamed.occupancy, permute(plain, orders)) <= 1e-9


@given(case=instances(), kind=st.sampled_from(["box", "l1"]), widening=st.floats(1.0, 30.0))
@modest
def test_a_wider_set_is_never_farther_away(case: Instance, kind: str, widening: float) -> None:
    layout = layout_of(case)
    narrow = am.project(case.weights, set_of(case, kind).build(layout))
    wider = set_of(case, kind, widening * case.log_term).build(layout)
    wide = am.project(case.weights, wider)
    assert wide.divergence <= narrow.divergence + 1e-9 * (1.0 + narrow.divergence)


@given(case=instances(), kind=kinds)
@modest
def test_inputs_are_left_alone(case: Instance, kind: str) -> None:
    before = [w.copy() for w in case.weights]
    target = set_of(case, kind).build(layout_of(case))
    first = am.project(case.weights, target).occupancy
    again = am.project(case.weights, target).occupancy
    assert greatest_difference(before, case.weights) == 0.0
    assert greatest_difference(first, again) == 0.0
