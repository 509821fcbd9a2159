"""u(x, a) = max over the confidence set of q^{P,pi}(x, a), Eq. (9), for every pair."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import advmdp as am
from tests.reference.brute_force import upper_occupancy_by_vertices
from tests.reference.comp_uob import comp_uob_table
from tests.reference.instances import Instance, centre_and_width, instances, modest, random_instance
from tests.reference.linear_programs import (
    best_row,
    best_row_l1,
    upper_occupancy_lp,
    upper_occupancy_lp_l1,
)
from tests.reference.tables import (
    Table,
    greatest_difference,
    occupancy,
    pair_sums,
    permute,
)
from tests.steps.sets import KINDS, layout_of, set_of

kinds = st.sampled_from(KINDS)


def bound_of(case: Instance, kind: str, log_term: float | None = None) -> Table:
    return am.upper_occupancy(case.policy, set_of(case, kind, log_term).build(layout_of(case)))


# ---------------------------------------------------------------- against oracles


@given(case=instances(widest=3))
@modest
def test_box_against_linear_programs(case: Instance) -> None:
    expected = upper_occupancy_lp(case.policy, *case.box())
    assert greatest_difference(bound_of(case, "box"), expected) <= 1e-9


@given(case=instances(widest=3))
@modest
def test_l1_against_linear_programs(case: Instance) -> None:
    expected = upper_occupancy_lp_l1(case.policy, *case.ball())
    assert greatest_difference(bound_of(case, "l1"), expected) <= 1e-9


@pytest.mark.parametrize("share", [0.02, 0.2, 0.8])
@pytest.mark.parametrize("seed", range(4))
def test_shifted_l1_against_linear_programs(seed: int, share: float) -> None:
    # As in the shifted set of Bandit UC-O-REPS: no probability falls below the floor.
    case = random_instance(seed, sizes=(1, 3, 3, 1), most_visits=60, log_term=0.1)
    floor = share / 3.0
    centre, width = case.ball()
    n = [layer.shape[2] for layer in centre]
    shifted = [(1.0 - floor * m) * layer + floor for m, layer in zip(n, centre, strict=True)]
    ball = am.L1Set(layout_of(case), shifted, width, floor)
    bound = am.upper_occupancy(case.policy, ball)
    expected = upper_occupancy_lp_l1(case.policy, shifted, width, floor)
    assert greatest_difference(bound, expected) <= 1e-9


@given(case=instances())
@modest
def test_box_against_the_printed_procedure(case: Instance) -> None:
    centre, width = centre_and_width(case.visits, case.transitions, case.log_term)
    expected = comp_uob_table(case.policy, centre, width)
    assert greatest_difference(bound_of(case, "box"), expected) <= 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_box_against_all_vertices(seed: int) -> None:
    case = random_instance(seed, sizes=(1, 3, 2, 1), most_visits=200, log_term=0.1)
    expected = upper_occupancy_by_vertices(case.policy, *case.box())
    assert greatest_difference(bound_of(case, "box"), expected) <= 1e-12


@pytest.mark.parametrize("width", [0.0, 0.3, 0.9, 1.0, 1.3, 1.9, 2.0])
def test_l1_row_for_every_width_up_to_two(width: float) -> None:
    # Between 1 and 2 the ball still cuts the simplex: the greedy must not give up early.
    layout = am.Layout(layer_sizes=(1, 4, 1), n_actions=1)
    row = np.array([0.1, 0.2, 0.3, 0.4])
    centre: Table = [row.reshape(1, 1, 4), np.ones((4, 1, 1))]
    ball = am.L1Set(layout, centre, [np.full((1, 1), width), np.full((4, 1), width)])
    bound = am.upper_occupancy([np.ones((1, 1)), np.ones((4, 1))], ball)
    for x in range(4):
        best = best_row_l1(np.eye(4)[x], row, width)
        assert bound[1][x, 0] == pytest.approx(best, abs=1e-9)
        assert best == pytest.approx(min(1.0, row[x] + width / 2.0), abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_two_steps_of_the_recursion_by_hand(seed: int) -> None:
    # u at layer 2 = pi(a|x) sum_b pi(b|x_0) max_p <p, f> with f(y) = sum_c pi(c|y) max_p p(x).
    case = random_instance(seed, sizes=(1, 3, 3, 1), most_visits=500, log_term=0.3)
    lower, upper = case.box()
    bound = bound_of(case, "box")
    for x in range(3):
        target = np.eye(3)[x]
        f = np.array(
            [
                sum(
                    case.policy[1][y, c] * best_row(target, lower[1][y, c], upper[1][y, c])
                    for c in range(2)
                )
                for y in range(3)
            ]
        )
        reach = sum(
            case.policy[0][0, b] * best_row(f, lower[0][0, b], upper[0][0, b]) for b in range(2)
        )
        np.testing.assert_allclose(bound[2][x], case.policy[2][x] * reach, rtol=0, atol=1e-12)


# ---------------------------------------------------------------- invariants


@given(case=instances(), kind=kinds)
@modest
def test_between_zero_and_the_policy(case: Instance, kind: str) -> None:
    for u, policy in zip(bound_of(case, kind), case.policy, strict=True):
        assert (u >= 0.0).all()
        assert (u <= policy * (1.0 + 1e-14)).all()
        assert u.sum() >= 1.0 - 1e-12  # some kernel reaches the layer with probability one
        reach = u / policy
        assert (
            np.abs(reach - reach[:, :1]) <= 1e-12 * reach
        ).all()  # the state's, not the action's


@given(case=instances(), kind=kinds)
@modest
def test_first_layer_is_the_policy(case: Instance, kind: str) -> None:
    np.testing.assert_array_equal(bound_of(case, kind)[0], case.policy[0])


@given(case=instances(), kind=kinds)
@modest
def test_above_every_member_of_the_set(case: Instance, kind: str) -> None:
    bound, rng = bound_of(case, kind), case.rng()
    for _ in range(5):
        member = pair_sums(occupancy(set_of(case, kind).member(rng), case.policy))
        for u, q in zip(bound, member, strict=True):
            assert (q <= u + 1e-13).all()


@given(case=instances(), kind=st.sampled_from(["box", "l1"]))
@modest
def test_above_the_projection_with_its_own_policy(case: Instance, kind: str) -> None:
    # q-hat <= u, the inequality that the loss estimator lives on.
    target = set_of(case, kind).build(layout_of(case))
    pairs = pair_sums(am.project(case.weights, target).occupancy)
    policy = [layer / layer.sum(axis=1, keepdims=True) for layer in pairs]
    for u, q in zip(am.upper_occupancy(policy, target), pairs, strict=True):
        assert (q <= u + 1e-13).all()


@given(case=instances())
@modest
def test_known_kernel_gives_its_occupancy(case: Instance) -> None:
    expected = pair_sums(occupancy(case.kernel, case.policy))
    assert greatest_difference(bound_of(case, "known"), expected) <= 1e-13


@given(case=instances(), kind=kinds)
@modest
def test_renaming_states_renames_the_bound(case: Instance, kind: str) -> None:
    rng = case.rng()
    orders = [rng.permutation(n) for n in case.sizes]
    target = set_of(case, kind).permuted(orders).build(layout_of(case))
    renamed = am.upper_occupancy(permute(case.policy, orders), target)
    assert greatest_difference(renamed, permute(bound_of(case, kind), orders)) <= 1e-13


@given(case=instances(), kind=st.sampled_from(["box", "l1"]), widening=st.floats(1.0, 30.0))
@modest
def test_a_wider_set_has_a_larger_bound(case: Instance, kind: str, widening: float) -> None:
    wide = bound_of(case, kind, widening * case.log_term)
    for small, large in zip(bound_of(case, kind), wide, strict=True):
        assert (small <= large + 1e-13).all()


@pytest.mark.parametrize("log_term", [0.01, 20.0])
def test_without_visits_every_state_can_be_reached_surely(log_term: float) -> None:
    # Also for a log term so small that the printed width would be below one.
    case = random_instance(0, sizes=(1, 3, 4, 1), most_visits=0, log_term=log_term)
    box = am.BoxSet.from_counts(layout_of(case), case.visits, case.transitions, log_term)
    assert greatest_difference(am.upper_occupancy(case.policy, box), case.policy) <= 1e-14


def test_one_unvisited_row_among_known_ones() -> None:
    # Layer 0 is known almost exactly; the unvisited action may lead anywhere.
    layout = am.Layout(layer_sizes=(1, 2, 1), n_actions=2)
    visits: Table = [np.array([[1e12, 0.0]]), np.zeros((2, 2))]
    counts: Table = [np.array([[[3e11, 7e11], [0.0, 0.0]]]), np.zeros((2, 2, 1))]
    policy: Table = [np.array([[0.6, 0.4]]), np.full((2, 2), 0.5)]
    bound = am.upper_occupancy(policy, am.BoxSet.from_counts(layout, visits, counts, 1.0))
    expected = 0.5 * np.array([0.6 * 0.3 + 0.4, 0.6 * 0.7 + 0.4])
    np.testing.assert_allclose(bound[1], np.stack([expected, expected], axis=1), atol=1e-5)


def test_actions_never_taken_have_no_occupancy() -> None:
    case = random_instance(6, sizes=(1, 3, 3, 1), most_visits=100, log_term=0.2)
    policy = [np.eye(2)[np.zeros(n, dtype=int)] for n in case.sizes[:-1]]
    lower, upper = case.box()
    bound = am.upper_occupancy(policy, am.BoxSet(layout_of(case), lower, upper))
    assert all((layer[:, 1] == 0.0).all() for layer in bound)
    assert greatest_difference(bound, upper_occupancy_lp(policy, lower, upper)) <= 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_rows_of_different_widths_in_one_layer(seed: int) -> None:
    # Narrow and full rows side by side: the same set on the dense layout, with zero bounds where
    # the sparse one declares nothing, must give the same bounds.
    rng = np.random.default_rng(seed)
    sizes, n_actions = (1, 3, 4, 3, 1), 2
    masks = []
    for n, m in itertools.pairwise(sizes):
        mask = rng.random((n, n_actions, m)) < 0.6
        mask[:, 0] = True
        mask[:, 1, 0] = True
        masks.append(mask)
    sparse, dense = am.Layout(sizes, n_actions, masks), am.Layout(sizes, n_actions)
    assert sparse.layer_sizes == sizes
    centre = [rng.dirichlet(np.ones(m.shape[2]), size=m.shape[:2]) * m for m in masks]
    centre = [c / c.sum(axis=2, keepdims=True) for c in centre]
    lower = [np.maximum(c - 0.2, 0.0) * m for c, m in zip(centre, masks, strict=True)]
    upper = [np.minimum(c + 0.2, 1.0) * m for c, m in zip(centre, masks, strict=True)]
    policy = [rng.dirichlet(np.ones(n_actions), size=n) for n in sizes[:-1]]
    ours = am.upper_occupancy(policy, am.BoxSet(sparse, lower, upper))
    theirs = am.upper_occupancy(policy, am.BoxSet(dense, lower, upper))
    assert greatest_difference(ours, theirs) <= 1e-12


def test_rows_of_a_large_layer_are_filled_from_far_away() -> None:
    # More than FAR entries lead from layer 1: their bounds are asked for before they are read.
    layout = am.Layout((1, 120, 170, 2, 1), 1)
    rng = np.random.default_rng(1)
    shapes = list(itertools.pairwise(layout.layer_sizes))
    visits = [rng.integers(0, 400, (n, 1)) for n, _ in shapes]
    chances = [rng.dirichlet(np.ones(m), (n, 1)) for n, m in shapes]
    lower = [
        np.maximum(p - 0.5 / (1.0 + v[..., None]), 0.0)
        for p, v in zip(chances, visits, strict=True)
    ]
    upper = [
        np.minimum(p + 9.0 / (1.0 + v[..., None]), 1.0)
        for p, v in zip(chances, visits, strict=True)
    ]
    policy = [np.ones((n, 1)) for n, _ in shapes]
    found = am.upper_occupancy(policy, am.BoxSet(layout, lower, upper))
    for k, targets in ((2, (80,)), (3, (1,))):
        for x in targets:
            value = (np.arange(layout.layer_sizes[k]) == x).astype(float)
            for h in range(k - 1, -1, -1):
                rows = zip(lower[h][:, 0], upper[h][:, 0], strict=True)
                value = np.array([best_row(value, low, high) for low, high in rows])
            assert found[k][x, 0] == pytest.approx(min(value[0], 1.0), abs=1e-9)
