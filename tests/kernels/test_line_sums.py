"""Sums over lines in registers: the promised order of additions, and nothing beyond the line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

from advmdp.kernels.lanes.line_sums import subtract_lines, subtract_rows

SIZES = [1, 2, 3, 5, 7, 8, 10, 13, 16, 19]


@njit  # type: ignore[untyped-decorator]
def subtract(*arguments: Any) -> None:
    subtract_lines(*arguments)


@njit  # type: ignore[untyped-decorator]
def subtract_chosen(*arguments: Any) -> None:
    subtract_rows(*arguments)


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
@pytest.mark.parametrize("count", [0, 1, 3])
def test_chosen_rows_are_subtracted(size: int, count: int) -> None:
    rng = np.random.default_rng(size)
    rows, mass, chosen = rng.random((7, size)), rng.random(7), np.array([1, 2, 5])
    others = np.setdiff1d(np.arange(7), chosen[:count])
    rows[others], mass[others] = np.nan, np.nan
    out = np.concatenate([np.ones(size), np.full(9, np.nan)])
    subtract_chosen(
        out, 0, np.concatenate([np.zeros(4), rows.ravel()]), mass, chosen, count, 4, size
    )
    expected = 1.0 - sum(mass[r] * rows[r] for r in chosen[:count])
    assert out[:size] == pytest.approx(expected, rel=1e-13, abs=1e-15)
    assert np.isnan(out[size:]).all()
