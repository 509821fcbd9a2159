"""Eight rows or lines at once: the bits of one after the other, and nothing around them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

from advmdp.kernels.kl.merged.carried_lines import ORDINARY
from advmdp.kernels.lanes import eight_lines as lines
from advmdp.kernels.lanes import eight_rows as rows
from advmdp.kernels.lanes import row_dots as dots

Array = np.ndarray[Any, Any]
SIZES = [8, 9, 13, 16, 30, 100]
PADDING = 5


def compiled(function: Any) -> Any:
    @njit  # type: ignore[untyped-decorator]
    def call(*arguments: Any) -> Any:
        return function(*arguments)

    return call


FILL, FILL_ABOVE, LINES, DOTS = map(
    compiled, (rows.fill_eight, rows.fill_eight_above, lines.eight_lines, dots.eight_dots)
)
CAPPED = {
    8: compiled(dots.dots_of_eight),
    4: compiled(dots.dots_of_four),
    2: compiled(dots.dots_of_two),
    1: compiled(dots.dots_of_one),
}


def hidden(values: Any) -> Array:
    """The values between poison."""
    poison = np.full(PADDING, np.nan)
    return np.concatenate([poison, np.ravel(values), poison])


def shown(values: Array) -> Array:
    """What lies between poison that is untouched."""
    assert np.isnan(values[:PADDING]).all()
    assert np.isnan(values[-PADDING:]).all()
    return values[PADDING:-PADDING]


def in_lanes(terms: Array) -> float:
    """Entry j to lane j mod 8, then neighbours first."""
    sums = [0.0] * 8
    for j, term in enumerate(terms.tolist()):
        sums[j % 8] += term
    while len(sums) > 1:
        sums = [sums[i] + sums[i + 1] for i in range(0, len(sums), 2)]
    return sums[0]


def filled(upper: Array, lower: Array, slack: float, value: Array, start: float) -> float:
    """A fractional knapsack, one row in plain Python."""
    total, left = start, slack
    for j in np.argsort(-value, kind="stable"):
        if left <= 0.0 or value[j] <= 0.0:
            break
        take = min(left, float(upper[j] - lower[j]))
        total += take * float(value[j])
        left -= take
    return total


@pytest.mark.parametrize("size", [2, 3, *SIZES])
@pytest.mark.parametrize("above", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_rows_are_filled_to_the_bit_as_one_after_the_other(
    size: int, above: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    lower = rng.random((8, size)) * (0.5 / size if above else 0.0)
    upper = lower + rng.random((8, size)) ** 3
    slack = 1.0 - lower.sum(axis=1)
    slack[1] = 0.0
    value = rng.random(size)
    value[rng.random(size) < 0.3] = 0.0
    start = rng.random(8)
    out, order = hidden(start), np.argsort(-value, kind="stable")
    fill = FILL_ABOVE if above else FILL
    tables = hidden(upper), hidden(lower)
    fill(*tables, PADDING, size, hidden(slack), PADDING, hidden(value), PADDING, order, out)
    expected = [filled(*row, value, begin) for *row, begin in zip(upper, lower, slack, start)]  # noqa: B905
    assert shown(out).tolist() == expected


@pytest.mark.parametrize("size", SIZES)
def test_lines_are_multiplied_and_added_in_the_promised_order(size: int) -> None:
    rng = np.random.default_rng(size)
    table, factor = rng.random((8, size)), rng.normal(size=8)
    vector, start = rng.normal(size=(2, size))
    out, found = hidden(start), hidden(np.zeros(8))
    LINES(
        hidden(table), PADDING, hidden(vector), PADDING, size, hidden(factor), PADDING, out, found
    )
    expected = start.copy()
    for line, f in zip(table, factor, strict=True):
        expected = expected + f * line
    assert (shown(out) == expected).all()
    assert shown(found).tolist() == [in_lanes(line * vector) for line in table]


@pytest.mark.parametrize("size", SIZES)
def test_products_of_eight_rows_are_those_of_one(size: int) -> None:
    rng = np.random.default_rng(size)
    table, vector = rng.random((8, size)), rng.normal(size=size)
    found = hidden(np.zeros(8))
    DOTS(hidden(table), PADDING, hidden(vector), PADDING, size, PADDING, found)
    assert shown(found).tolist() == [in_lanes(row * vector) for row in table]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("height", [8, 4, 2, 1])
def test_terms_are_added_with_none_above_the_cap(size: int, height: int) -> None:
    rng = np.random.default_rng(size + height)
    table, vector = rng.random((height, size)), rng.random(size)
    found, capped = hidden(np.zeros(height)), hidden(np.zeros(height))
    place = (hidden(table), PADDING, hidden(vector), PADDING, size)
    CAPPED[height](*place, 0.1, PADDING, found, capped)
    assert shown(found).tolist() == [in_lanes(row * vector) for row in table]
    assert shown(capped).tolist() == [in_lanes(np.minimum(row * vector, 0.1)) for row in table]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("tiny", [0.0, 1e-200, -700.0])
def test_a_cap_that_is_a_power_of_two_tells_whether_a_term_is_below_it(
    size: int, tiny: float
) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        table = rng.random((8, size)) + ORDINARY
        table[3, seed % size] = tiny
        found, capped = np.zeros(8), np.zeros(8)
        CAPPED[8](table.ravel(), 0, np.ones(size), 0, size, ORDINARY, 0, found, capped)
        assert (capped == size * ORDINARY).tolist() == [i != 3 for i in range(8)]
