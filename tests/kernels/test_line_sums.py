"""Sums over lines in registers: the promised order of additions, and nothing beyond the line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

from advmdp.kernels.runtime.line_sums import subtract_lines

SIZES = [1, 2, 3, 5, 7, 8, 10, 13, 16, 19]


@njit  # type: ignore[untyped-decorator]
def subtract(*arguments: Any) -> None:
    subtract_lines(*arguments)


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
