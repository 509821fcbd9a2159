"""The confidence sets of Eq. (5) and (6) themselves, and what their constructors refuse."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given

import advmdp as am
from tests.reference.instances import Instance, instances, modest
from tests.reference.tables import Table, greatest_difference
from tests.steps.sets import layout_of


@given(case=instances())
@modest
def test_bounds_follow_the_formula(case: Instance) -> None:
    layout = layout_of(case)
    box = am.BoxSet.from_counts(layout, case.visits, case.transitions, case.log_term)
    lower, upper = case.box()
    assert greatest_difference(box.lower, lower) <= 1e-14
    assert greatest_difference(box.upper, upper) <= 1e-14


@given(case=instances())
@modest
def test_every_row_has_a_member(case: Instance) -> None:
    layout = layout_of(case)
    box = am.BoxSet.from_counts(layout, case.visits, case.transitions, case.log_term)
    for lo, hi in zip(box.lower, box.upper, strict=True):
        assert ((lo >= 0.0) & (lo <= hi) & (hi <= 1.0)).all()
        assert (lo.sum(axis=2) <= 1.0 + 1e-12).all()
        assert (hi.sum(axis=2) >= 1.0 - 1e-12).all()


def one_row(visits: float, successes: float, log_term: float) -> tuple[float, float]:
    """The interval of the first successor after ``successes`` of ``visits`` transitions."""
    layout = am.Layout(layer_sizes=(1, 2, 1), n_actions=1)
    n: Table = [np.array([[visits]]), np.zeros((2, 1))]
    m: Table = [np.array([[[successes, visits - successes]]]), np.zeros((2, 1, 1))]
    box = am.BoxSet.from_counts(layout, n, m, log_term)
    return float(box.lower[0][0, 0, 0]), float(box.upper[0][0, 0, 0])


def test_bounds_by_hand() -> None:
    # P-bar = 1/4, N - 1 = 399, log term 3: the width is 2 sqrt(3/4 / 399) + 14 / 399.
    width = 2.0 * np.sqrt(0.75 / 399.0) + 14.0 / 399.0
    lower, upper = one_row(400.0, 100.0, 3.0)
    assert lower == pytest.approx(0.25 - width, abs=1e-15)
    assert upper == pytest.approx(0.25 + width, abs=1e-15)


def test_one_and_two_visits_have_the_same_width() -> None:
    # max{1, N - 1} is 1 for both.
    one, two = one_row(1.0, 0.0, 0.1), one_row(2.0, 0.0, 0.1)
    assert one == two == pytest.approx((0.0, 14.0 * 0.1 / 3.0), abs=1e-15)


def test_the_set_is_vacuous_up_to_fourteen_thirds_of_the_log_term() -> None:
    log_term = 6.0  # 14/3 of it is 28
    assert one_row(29.0, 20.0, log_term) == (0.0, 1.0)
    assert one_row(29.0, 0.0, log_term) == (0.0, 1.0)
    assert one_row(30.0, 0.0, log_term)[1] < 1.0


@pytest.mark.parametrize("log_term", [1e-3, 0.2, 10.0])
def test_no_visits_means_the_whole_simplex_for_any_log_term(log_term: float) -> None:
    assert one_row(0.0, 0.0, log_term) == (0.0, 1.0)


def test_counters_are_copied() -> None:
    # The set of an epoch must not move while its counters go on counting.
    layout = am.Layout(layer_sizes=(1, 2, 1), n_actions=1)
    visits: Table = [np.array([[50.0]]), np.full((2, 1), 25.0)]
    counts: Table = [np.array([[[10.0, 40.0]]]), np.full((2, 1, 1), 25.0)]
    box = am.BoxSet.from_counts(layout, visits, counts, 0.1)
    before = [layer.copy() for layer in box.upper]
    visits[0] += 1.0
    counts[0] += 1.0
    assert greatest_difference(before, box.upper) == 0.0


def tables(layer0: list[float]) -> Table:
    return [np.array([[layer0]]), np.ones((2, 1, 1))]


BOX_ONE: Table = tables([1.0, 1.0])
BAD_SETS: dict[str, Callable[[am.Layout], object]] = {
    "lower bounds add up to more than one": lambda at: am.BoxSet(at, tables([0.6, 0.6]), BOX_ONE),
    "upper bounds add up to less than one": lambda at: am.BoxSet(
        at, tables([0.0, 0.0]), tables([0.4, 0.4])
    ),
    "crossed bounds": lambda at: am.BoxSet(at, tables([0.5, 0.0]), tables([0.4, 1.0])),
    "not a number": lambda at: am.BoxSet(at, tables([np.nan, 0.0]), BOX_ONE),
    "negative width": lambda at: am.L1Set(
        at, tables([0.5, 0.5]), [np.array([[-0.1]]), np.zeros((2, 1))]
    ),
    "centre is no distribution": lambda at: am.L1Set(
        at, tables([0.5, 0.4]), [np.array([[0.1]]), np.zeros((2, 1))]
    ),
    "kernel is no distribution": lambda at: am.KnownTransition(at, tables([0.5, 0.4])),
    "negative probability": lambda at: am.KnownTransition(at, tables([1.5, -0.5])),
}


@pytest.mark.parametrize("name", BAD_SETS)
def test_impossible_sets_are_refused_in_one_line(name: str) -> None:
    layout = am.Layout(layer_sizes=(1, 2, 1), n_actions=1)
    with pytest.raises(am.InvalidInput) as caught:
        BAD_SETS[name](layout)
    message = str(caught.value)
    assert "\n" not in message
    assert "layer 0" in message


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0])
def test_impossible_weights_are_refused_in_one_line(bad: float) -> None:
    layout = am.Layout(layer_sizes=(1, 2, 1), n_actions=1)
    weights: Table = [np.full((1, 1, 2), 0.5), np.array([[[0.5]], [[bad]]])]
    box = am.BoxSet(layout, tables([0.0, 0.0]), BOX_ONE)
    with pytest.raises(am.InvalidInput, match="layer 1") as caught:
        am.project(weights, box)
    assert "\n" not in str(caught.value)
