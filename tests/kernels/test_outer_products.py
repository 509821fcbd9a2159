"""Outer products in registers: the sum, the promised order of additions, nothing beyond."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numba import njit

from advmdp.kernels.lanes.outer_products import add_outer_products

SIZES = [1, 2, 3, 5, 7, 8, 10, 13, 16, 19]
SHIFT, N_ROWS, CHOSEN = 4, 7, [1, 2, 5]


@njit  # type: ignore[untyped-decorator]
def add_outer(*arguments: Any) -> None:
    add_outer_products(*arguments)


def made_rows(size: int) -> tuple[np.ndarray[Any, Any], ...]:
    """p, t and masses; what is not chosen is no number."""
    rng = np.random.default_rng(size)
    mass, p = rng.random(N_ROWS), rng.random((N_ROWS, size))
    t = np.where(rng.random((N_ROWS, size)) < 0.5, p, 0.0)
    for table in (mass, p, t):
        table[np.setdiff1d(np.arange(N_ROWS), CHOSEN)] = np.nan
    return mass, p, t


def filled(size: int, count: int) -> np.ndarray[Any, Any]:
    """A block of ones after the rows were added, checked for what lies around it."""
    mass, p, t = made_rows(size)
    work, together = (np.concatenate([np.full(SHIFT, np.nan), table.ravel()]) for table in (p, t))
    out = np.concatenate([np.full(9, np.nan), np.ones(size * size), np.full(9, np.nan)])
    add_outer(out, 9, work, together, mass, np.array(CHOSEN), count, SHIFT, size)
    assert np.isnan(out[:9]).all()
    assert np.isnan(out[-9:]).all()
    return np.tril(out[9:-9].reshape(size, size))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_lower_triangle_is_that_of_the_matrix(size: int, count: int) -> None:
    mass, p, t = made_rows(size)
    matrix = np.ones((size, size))
    for r in CHOSEN[:count]:
        own = np.diag(np.where(t[r] > 0, p[r], 0.0))
        matrix += mass[r] * (np.outer(p[r], p[r]) - np.outer(t[r], t[r]) + own)
    assert filled(size, count) == pytest.approx(np.tril(matrix), rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("size", SIZES)
def test_rows_are_added_one_after_the_other(size: int) -> None:
    mass, p, t = made_rows(size)
    expected = [[Fraction(1)] * size for _ in range(size)]
    for r in CHOSEN:
        weight, pull = mass[r] * p[r], mass[r] * t[r]
        for i in range(size):
            for c in range(i + 1):
                entry = expected[i][c]
                if c == i and pull[c] > 0.0:
                    entry = rounded(entry + Fraction(weight[c]))
                entry = rounded(entry - Fraction(t[r, i]) * Fraction(pull[c]))
                expected[i][c] = rounded(entry + Fraction(p[r, i]) * Fraction(weight[c]))
    found = filled(size, 3)
    assert all(found[i, c] == expected[i][c] for i in range(size) for c in range(i + 1))


def rounded(number: Fraction) -> Fraction:
    """To the nearest float."""
    return Fraction(float(number))
