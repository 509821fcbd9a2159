"""Sums over lines in registers: the promised order of additions, and nothing beyond the line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

from advmdp.kernels.runtime.line_sums import add_outer_lines, subtract_lines

SIZES = [1, 2, 3, 5, 7, 8, 10, 13, 16, 19]


@njit  # type: ignore[untyped-decorator]
def subtract(*arguments: Any) -> None:
    subtract_lines(*arguments)


@njit  # type: ignore[untyped-decorator]
def add_outer(*arguments: Any) -> None:
    add_outer_lines(*arguments)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("count", [0, 1, 6])
def test_lines_are_subtracted_one_after_the_other(size: int, count: int) -> None:
    rng = np.random.default_rng(size + 100 * count)
    lines, coefficients = rng.normal(size=(count, size + 3)), rng.normal(size=(count, 2))
    start = rng.normal(size=size)
    poison = np.full(9, np.nan)  # beyond the line that is written
    table = np.concatenate([lines.ravel(), coefficients.ravel(), poison, start, poison])
    out = lines.size + coefficients.size + 9
    expected = start.copy()
    for line, (_, factor) in zip(lines, coefficients, strict=True):
        expected = expected - factor * line[2 : size + 2]
    subtract(table, out, lines.size + 1, 2, 2, size + 3, count, size, 0.7)
    assert (table[out : out + size] == expected * 0.7).all()
    assert np.isnan(table[out - 9 : out]).all()
    assert np.isnan(table[out + size :]).all()


@pytest.mark.parametrize("size", SIZES)
def test_outer_products_are_those_of_the_chosen_rows(size: int) -> None:
    rng = np.random.default_rng(size)
    n_rows, shift = 7, 4
    chosen = np.array([1, 2, 5])
    mass = rng.random(n_rows)
    p = rng.random((n_rows, size))
    t = np.where(rng.random((n_rows, size)) < 0.5, p, 0.0)
    left_out = np.setdiff1d(np.arange(n_rows), chosen)
    p[left_out], t[left_out], mass[left_out] = np.nan, np.nan, np.nan
    work, together = (np.concatenate([np.full(shift, np.nan), table.ravel()]) for table in (p, t))
    for position in range(size):
        out = np.concatenate([np.ones(size), np.full(9, np.nan)])
        add_outer(out, 0, work, together, mass, chosen, 3, shift, size, position, size)
        matrix = sum(
            mass[r]
            * (np.outer(p[r], p[r]) - np.outer(t[r], t[r]) + np.diag(np.where(t[r] > 0, p[r], 0)))
            for r in chosen
        )
        assert out[:size] == pytest.approx(1.0 + matrix[position], rel=1e-13, abs=1e-15)
        assert np.isnan(out[size:]).all()
