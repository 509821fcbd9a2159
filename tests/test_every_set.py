"""One list of properties for every set of transitions that there is.

Each is held against another method: linear programs, a conic solver, finite differences, a plain
membership test, the formula of the set's bounds.  The list is run over the registry and over one
set that lives outside the package; a new set needs a maker in ``tests/reference/row_sets.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import advmdp as am
from advmdp.kernels.model.row_status import FREE, KNOWN
from advmdp.kernels.sets.confidence import make_rows_known
from advmdp.kernels.sets.held import WRITTEN
from advmdp.kernels.sets.interface import mean_width
from advmdp.steps.confidence import ConfidenceSet
from tests.outside.lower_bounds import LowerBounds
from tests.reference import set_kernels as ask
from tests.reference.conic import project_conic_mixed
from tests.reference.instances import modest, random_instance
from tests.reference.row_sets import (
    EVERY_SET,
    EVERYTHING,
    LAYOUTS,
    MAKERS,
    Case,
    every_set,
    random_rows,
)
from tests.reference.set_kernels import RowProblem
from tests.reference.tables import Array, Table, divergence, greatest_difference
from tests.steps.sets import layout_of

LP_ACCURACY = 1e-9  # HiGHS may miss each constraint by 1e-10
seeds, where = st.integers(0, 2**32 - 1), st.sampled_from(list(LAYOUTS))


def test_every_registered_set_has_a_maker() -> None:
    assert set(EVERY_SET) == set(MAKERS)


# ---------------------------------------------------------------------- linear functions


@every_set
@given(seed=seeds, where=where)
@modest
def test_linear_maxima_are_those_of_linear_programs(kind: type, seed: int, where: str) -> None:
    case = Case.drawn(kind, LAYOUTS[where], seed)
    layout, graph = case.layout, case.layout.graph()
    successors = layout.entry_successors()
    value = case.rng.random(layout.n_states) * case.rng.choice([0.0, 1.0], layout.n_states)
    for r in case.some_rows(4):
        targets = successors[layout.row_start[r] : layout.row_start[r + 1]]
        found = ask.maximum(layout, r, case.rows, value)
        assert found == pytest.approx(case.plain[r].maximum(value[targets]), abs=LP_ACCURACY)
        for j, target in enumerate(targets):
            indicator = np.eye(len(targets))[j]
            largest = ask.largest_probability(graph, r, int(target), case.rows)
            assert largest == pytest.approx(case.plain[r].maximum(indicator), abs=LP_ACCURACY)
        missing = set(range(layout.n_states)) - set(targets.tolist())
        assert ask.largest_probability(graph, r, max(missing), case.rows) == 0.0


# ---------------------------------------------------------------------- the relative-entropy step


def assert_solved(problem: RowProblem, case: Case, rounding: float) -> None:
    """p is a member, the gain is its value, and no direction into the set improves on it.

    The objective is concave, so by how much p misses the optimum is at most
    max <p', g> - <p, g> over the set, with g = ln w - ln p the gradient: a linear program.
    """
    plain, log_p = case.plain[problem.r], problem.log_p
    p = np.exp(log_p)
    assert abs(p.sum() - 1.0) <= 1e-12
    assert plain.error(p) <= 1e-12
    gradient = problem.log_w - log_p
    value = float(p @ gradient)
    assert problem.gain == pytest.approx(value, abs=rounding)
    if case.rows.status[problem.r] != KNOWN:  # the one member needs no certificate
        assert plain.maximum(gradient) - value <= rounding


@every_set
@given(seed=seeds, where=where, spread=st.sampled_from([0.0, 0.3, 3.0]))
@modest
def test_row_problems_are_solved(kind: type, seed: int, where: str, spread: float) -> None:
    case = Case.drawn(kind, LAYOUTS[where], seed)
    beta = case.random_beta(spread)
    for r in case.some_rows(3):
        problem = RowProblem(case.layout, r, case.random_logs(r, -8.0), beta)
        problem.guess(case.rng)
        assert problem.solve(case.rows)
        assert_solved(problem, case, 1e-9)
        fast, gain = problem.log_p, problem.gain
        problem.solve_in_logs(case.rows)
        assert_solved(problem, case, 1e-9)
        assert np.allclose(problem.log_p, fast, rtol=0, atol=1e-10)
        assert problem.gain == pytest.approx(gain, abs=1e-11)


@every_set
@given(seed=seeds, where=where)
@settings(modest, max_examples=6)
def test_values_of_row_problems_are_those_of_a_conic_solver(
    kind: type, seed: int, where: str
) -> None:
    case = Case.drawn(kind, LAYOUTS[where], seed)
    beta = case.random_beta(1.0)
    for r in case.some_rows(1):
        problem = RowProblem(case.layout, r, case.random_logs(r, -4.0), beta)
        assert problem.solve(case.rows)
        if case.rows.status[r] == KNOWN:  # a set without an interior: its one value
            best = float(case.plain[r].lower @ beta[problem.successors])
        else:
            best = case.plain[r].best_value(problem.log_w)
        assert problem.gain == pytest.approx(best, abs=1e-7)


@every_set
@given(seed=seeds, where=where, spread=st.sampled_from([1.0, 30.0]))
@modest
def test_weights_over_250_orders_of_magnitude(
    kind: type, seed: int, where: str, spread: float
) -> None:
    """The fast path says that it cannot hold them, or agrees with the log domain."""
    case = Case.drawn(kind, LAYOUTS[where], seed)
    beta = case.random_beta(spread)
    for r in case.some_rows(3):
        problem = RowProblem(case.layout, r, case.random_logs(r, -575.0), beta)
        problem.solve_in_logs(case.rows)
        assert_solved(problem, case, 1e-8)
        p, gain = np.exp(problem.log_p), problem.gain
        if problem.solve(case.rows):
            assert np.allclose(np.exp(problem.log_p), p, rtol=0, atol=1e-10)
            assert problem.gain == pytest.approx(gain, rel=1e-11, abs=1e-10)


@every_set
@pytest.mark.parametrize("in_logs", [False, True])
@given(seed=seeds, where=where)
@modest
def test_curvature_is_that_of_finite_differences(
    kind: type, in_logs: bool, seed: int, where: str
) -> None:
    case = Case.drawn(kind, LAYOUTS[where], seed)
    beta, step = case.random_beta(1.0), 1e-5
    for r in case.some_rows(2):
        problem = RowProblem(case.layout, r, case.random_logs(r, -4.0), beta)

        def solution(beta: Array, problem: RowProblem = problem) -> Array:
            problem.set_beta(beta)
            if in_logs:
                problem.solve_in_logs(case.rows)
            else:
                assert problem.solve(case.rows)
            return np.exp(problem.log_p)

        def groups(problem: RowProblem = problem) -> Any:
            held = problem.dual.held
            written = held.holding[problem.r] == WRITTEN
            return held.group[problem.begin : problem.end].tolist() if written else None

        solution(beta)
        jacobian, here = problem.jacobian, groups()
        for j, target in enumerate(problem.successors):
            move = step * np.eye(case.layout.n_states)[target]
            up, above = solution(beta + move), groups()
            down, below = solution(beta - move), groups()
            if above == here == below:  # at a kink there are two derivatives
                assert np.allclose((up - down) / (2 * step), jacobian[:, j], rtol=0, atol=1e-8)


# ---------------------------------------------------------------------- rows that no set changes


@every_set
@given(seed=seeds, where=where)
@modest
def test_free_rows_are_simplices_and_known_rows_points(kind: type, seed: int, where: str) -> None:
    case = Case.drawn(kind, LAYOUTS[where], seed)
    layout, graph = case.layout, case.layout.graph()
    value, beta = case.rng.random(layout.n_states), case.random_beta(2.0)
    anything = random_rows(layout, case.rng)
    for r in range(layout.n_rows):
        begin, end = layout.row_start[r : r + 2]
        targets = layout.entry_successors()[begin:end]
        problem = RowProblem(layout, r, case.random_logs(r, -5.0), beta)
        if case.rows.status[r] == FREE:
            expected = np.exp(problem.log_w) / np.exp(problem.log_w).sum()
            assert ask.maximum(layout, r, case.rows, value) == value[targets].max()
            assert ask.largest_probability(graph, r, int(targets[0]), case.rows) == 1.0
            assert ask.contains_row(graph, r, anything, case.rows, 1e-12)
        elif case.rows.status[r] == KNOWN:
            expected = case.plain[r].lower
            assert ask.maximum(layout, r, case.rows, value) == pytest.approx(
                expected @ value[targets], abs=1e-14
            )
            chance = ask.largest_probability(graph, r, int(targets[0]), case.rows)
            assert chance == expected[0]
        else:
            continue
        for solve in (problem.solve, problem.solve_in_logs):
            solve(case.rows)
            assert np.allclose(np.exp(problem.log_p), expected, rtol=0, atol=1e-13)


@every_set
def test_the_mean_width_is_one_for_everything_and_zero_when_all_is_known(kind: type) -> None:
    layout = LAYOUTS["scattered"]
    rows, _ = MAKERS[kind](layout, np.random.default_rng(0))
    if ask.learns_from_counts(rows):
        assert mean_width(EVERYTHING[kind](layout).rows) == 1.0
    transition = random_rows(layout, np.random.default_rng(1))
    make_rows_known(layout.graph(), np.full(layout.n_rows, True), transition, rows)
    assert mean_width(rows) == 0.0
    assert (rows.status == KNOWN).all()


@every_set
@given(seed=seeds, where=where)
@modest
def test_membership_is_the_plain_one(kind: type, seed: int, where: str) -> None:
    case = Case.drawn(kind, LAYOUTS[where], seed)
    graph, tolerance = case.layout.graph(), 1e-12
    for r in range(case.layout.n_rows):
        p = case.plain[r].near(case.rng)
        error = case.plain[r].error(p)
        if error == 0.0 or error > 10 * tolerance:
            transition = np.zeros(case.layout.n_entries)
            transition[case.layout.row_start[r] : case.layout.row_start[r + 1]] = p
            inside = ask.contains_row(graph, r, transition, case.rows, tolerance)
            assert inside == (error == 0.0)


# ---------------------------------------------------------------------- whole projections


@every_set
@pytest.mark.parametrize("where", LAYOUTS)
@pytest.mark.parametrize("seed", [1, 2])
def test_projections_are_those_of_a_conic_solver(kind: type, where: str, seed: int) -> None:
    """Through the public class, with free, bound and known rows side by side."""
    case = Case.drawn(kind, LAYOUTS[where], seed)
    layout = case.layout
    weights = np.exp(case.rng.normal(size=layout.n_entries)) / layout.n_entries
    result = am.project(weights, ConfidenceSet.of_rows(layout, case.rows))
    tables: list[Table] = [
        layout.triples(np.concatenate([getattr(row, name) for row in case.plain]))
        for name in ("lower", "upper", "centre")
    ]
    width = layout.pairs(np.array([row.width for row in case.plain]))
    expected = project_conic_mixed(layout.triples(weights), *tables, width)
    inside = [q * (w > 0.0) for q, w in zip(expected, layout.triples(weights), strict=True)]
    reached = divergence(inside, layout.triples(weights))
    assert result.divergence == pytest.approx(reached, abs=1e-7)
    assert greatest_difference(result.occupancy, expected) <= 2e-5  # the conic solver's accuracy


@pytest.mark.parametrize("sizes", [(1, 3, 3, 1), (1, 2, 4, 2, 1)])
def test_a_set_of_lower_bounds_is_a_box_without_upper_bounds(sizes: tuple[int, ...]) -> None:
    """Of the set from outside; here, since a program of its own is compiled in every process."""
    case = random_instance(3, sizes=sizes, most_visits=20_000, log_term=0.2, tilt=2.0)
    layout, (lower, _) = layout_of(case), case.box()
    box = am.BoxSet(layout, lower, [np.ones_like(layer) for layer in lower])
    outside = LowerBounds(layout, lower)
    ours, theirs = am.project(case.weights, outside), am.project(case.weights, box)
    assert greatest_difference(ours.occupancy, theirs.occupancy) <= 1e-9
    assert ours.dual_value == pytest.approx(theirs.dual_value, abs=1e-12)
    bounds = (am.upper_occupancy(case.policy, each) for each in (outside, box))
    assert greatest_difference(*bounds) <= 1e-13
