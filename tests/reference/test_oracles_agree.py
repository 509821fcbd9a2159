"""The oracles against each other: no two of them share a method."""

from __future__ import annotations

import numpy as np
import pytest

from tests.reference.brute_force import (
    all_trajectories,
    best_deterministic_loss,
    occupancy_by_trajectories,
    upper_occupancy_by_vertices,
)
from tests.reference.comp_uob import comp_uob_table, greedy
from tests.reference.conic import project_conic, project_conic_l1
from tests.reference.instances import (
    centre_and_width,
    random_box_member,
    random_instance,
    random_l1_member,
)
from tests.reference.linear_programs import (
    best_fixed_policy_loss,
    best_row,
    best_row_l1,
    cheapest_measure,
    upper_occupancy_lp,
    upper_occupancy_lp_l1,
)
from tests.reference.plain_uob_reps import PlainUOBREPS, random_episodes
from tests.reference.reduced_dual import project_reduced, project_reduced_l1
from tests.reference.seed_dual import project_seed_dual
from tests.reference.tables import (
    Table,
    box_error,
    divergence,
    flow_error,
    greatest_difference,
    l1_error,
    occupancy,
    pair_sums,
    policy_of,
)

SHAPES = [(1, 1), (1, 3, 1), (1, 3, 3, 1), (1, 2, 4, 2, 1)]


def triple_inner(q: Table, cost: Table) -> float:
    return float(sum((a * b).sum() for a, b in zip(q, cost, strict=True)))


@pytest.mark.parametrize("log_term", [0.02, 0.5, 8.0])
@pytest.mark.parametrize("sizes", SHAPES)
def test_three_solvers_find_the_same_projection(sizes: tuple[int, ...], log_term: float) -> None:
    case = random_instance(5, sizes=sizes, most_visits=20_000, log_term=log_term, tilt=2.0)
    lower, upper = case.box()
    exact = project_reduced(case.weights, lower, upper)
    assert flow_error(exact) <= 1e-13
    assert box_error(exact, lower, upper) <= 1e-14
    value = divergence(exact, case.weights)

    paper = project_seed_dual(case.weights, lower, upper)
    assert paper.value == pytest.approx(value, abs=1e-10)
    assert greatest_difference(paper.occupancy, exact) <= 1e-6

    conic = project_conic(case.weights, lower, upper)
    assert divergence(conic, case.weights) == pytest.approx(value, abs=1e-9)
    assert greatest_difference(conic, exact) <= 1e-5  # the objective is flat at its minimum


@pytest.mark.parametrize("log_term", [0.02, 0.5, 8.0])
@pytest.mark.parametrize("sizes", SHAPES)
def test_two_solvers_find_the_same_l1_projection(sizes: tuple[int, ...], log_term: float) -> None:
    case = random_instance(6, sizes=sizes, most_visits=20_000, log_term=log_term, tilt=2.0)
    centre, width = case.ball()
    exact = project_reduced_l1(case.weights, centre, width)
    assert max(flow_error(exact), l1_error(exact, centre, width)) <= 1e-13
    conic = project_conic_l1(case.weights, centre, width)
    assert divergence(conic, case.weights) == pytest.approx(
        divergence(exact, case.weights), abs=1e-9
    )
    assert greatest_difference(conic, exact) <= 1e-5


def test_first_order_certificate_tells_the_optimum_from_its_neighbours() -> None:
    case = random_instance(7, most_visits=20_000, log_term=0.1, tilt=2.0)
    lower, upper = case.box()

    def gap(q: Table) -> float:
        cost = [np.log(a / w) for a, w in zip(q, case.weights, strict=True)]
        return triple_inner(q, cost) - cheapest_measure(cost, lower, upper)

    exact = project_reduced(case.weights, lower, upper)
    member = occupancy(random_box_member(case.rng(), lower, upper), policy_of(exact))
    other = [(a + b) / 2.0 for a, b in zip(exact, member, strict=True)]  # the set is convex
    assert abs(gap(exact)) <= 1e-10
    assert gap(other) > 1e-3
    # The gap bounds the excess divergence from above.
    assert gap(other) >= divergence(other, case.weights) - divergence(exact, case.weights)


@pytest.mark.parametrize("seed", range(5))
def test_greedy_solves_the_row_program(seed: int) -> None:
    case = random_instance(seed, sizes=(1, 5, 1), n_actions=3, most_visits=3000, log_term=0.3)
    centre, width = centre_and_width(case.visits, case.transitions, case.log_term)
    lower, upper = case.box()
    f = case.rng().random(5)
    for a in range(3):
        best = best_row(f, lower[0][0, a], upper[0][0, a])
        assert greedy(f, centre[0][0, a], width[0][0, a]) == pytest.approx(best, abs=1e-12)


def test_greedy_fed_with_zero_counts_would_return_nothing() -> None:
    # Why an unvisited row needs a distribution as its centre: P-bar = 0 has no mass to move.
    f = np.array([0.2, 0.9])
    assert greedy(f, np.zeros(2), np.ones(2)) == 0.0
    assert greedy(f, np.full(2, 0.5), np.ones(2)) == pytest.approx(0.9, abs=1e-15)
    assert best_row(f, np.zeros(2), np.ones(2)) == pytest.approx(0.9, abs=1e-12)


def test_l1_row_program_in_closed_form() -> None:
    # Half the width moves from the worst state to the best one, then from the next worst.
    centre = np.array([0.2, 0.3, 0.5])
    f = np.array([1.0, 0.5, 0.0])
    assert best_row_l1(f, centre, 0.4) == pytest.approx(0.35 + 0.2, abs=1e-12)
    assert best_row_l1(f, centre, 1.4) == pytest.approx(0.9 + 0.05, abs=1e-12)
    assert best_row_l1(f, centre, 2.0) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_upper_occupancy_three_ways(seed: int) -> None:
    case = random_instance(seed, sizes=(1, 3, 2, 1), most_visits=200, log_term=0.1)
    lower, upper = case.box()
    programs = upper_occupancy_lp(case.policy, lower, upper)
    centre, width = centre_and_width(case.visits, case.transitions, case.log_term)
    assert greatest_difference(programs, comp_uob_table(case.policy, centre, width)) <= 1e-11
    vertices = upper_occupancy_by_vertices(case.policy, lower, upper)
    assert greatest_difference(programs, vertices) <= 1e-11


def test_l1_upper_occupancy_dominates_members_and_collapses_without_width() -> None:
    case = random_instance(3, sizes=(1, 3, 2, 1), most_visits=200, log_term=0.2)
    centre, width = case.ball()
    bound = upper_occupancy_lp_l1(case.policy, centre, width)
    rng = case.rng()
    for _ in range(20):
        member = occupancy(random_l1_member(rng, centre, width), case.policy)
        for u, q in zip(bound, pair_sums(member), strict=True):
            assert (q <= u + 1e-9).all()
    nothing = [np.zeros_like(layer) for layer in width]
    only = pair_sums(occupancy(centre, case.policy))
    assert greatest_difference(upper_occupancy_lp_l1(case.policy, centre, nothing), only) <= 1e-9


def test_trajectories_add_up_to_the_occupancy_measure() -> None:
    case = random_instance(1, sizes=(1, 2, 3, 1))
    chances = [chance for *_, chance in all_trajectories(case.kernel, case.policy)]
    assert sum(chances) == pytest.approx(1.0, abs=1e-12)
    forward = occupancy(case.kernel, case.policy)
    by_hand = occupancy_by_trajectories(case.kernel, case.policy)
    assert greatest_difference(forward, by_hand) <= 1e-15


@pytest.mark.parametrize("seed", range(3))
def test_best_fixed_policy_two_ways(seed: int) -> None:
    case = random_instance(seed, sizes=(1, 3, 2, 1))
    rng = case.rng()
    loss = [rng.random(layer.shape) for layer in case.policy]
    by_program = best_fixed_policy_loss(case.kernel, loss)
    assert by_program == pytest.approx(best_deterministic_loss(case.kernel, loss), abs=1e-10)


def test_plain_learner_keeps_its_measure_below_its_bound() -> None:
    # q-hat <= u fails at once if the epochs of the set and of the projection are mixed up.
    case = random_instance(2, sizes=(1, 2, 3, 1))
    learner = PlainUOBREPS(
        case.sizes, 2, n_episodes=25, delta=0.1, eta=0.5, gamma=0.05, log_scale=0.01
    )
    for episode in random_episodes(0, case.kernel, 25):
        lower, upper = learner.bounds()
        bound = upper_occupancy_lp(learner.policy, lower, upper)
        for u, q in zip(bound, pair_sums(learner.occupancy), strict=True):
            assert (q <= u + 1e-9).all()
        learner.update(episode)
    assert learner.epoch > 5
