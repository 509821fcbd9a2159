"""A matrix times a vector in registers, against NumPy; nothing beyond the lines is touched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

from advmdp.kernels.lanes.line_products import sum_lines, take_dots, take_lines

SIZES = [1, 2, 3, 5, 7, 8, 10, 12, 16, 21]
EDGE = 9


@njit  # type: ignore[untyped-decorator]
def summed(*arguments: Any) -> None:
    sum_lines(*arguments)


@njit  # type: ignore[untyped-decorator]
def taken(*arguments: Any) -> None:
    take_lines(*arguments)


@njit  # type: ignore[untyped-decorator]
def taken_dots(*arguments: Any) -> None:
    take_dots(*arguments)


def guarded(values: np.ndarray) -> np.ndarray:
    """Values between entries that nobody may read."""
    edge = np.full(EDGE, np.nan)
    return np.concatenate([edge, values.ravel(), edge])


def inside(out: np.ndarray) -> np.ndarray:
    """What was written, after a look at what was not to be."""
    assert np.isnan(out[:EDGE]).all()
    assert np.isnan(out[-EDGE:]).all()
    return out[EDGE:-EDGE]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("count", [0, 1, 2, 10])
def test_sums_of_lines(size: int, count: int) -> None:
    rng = np.random.default_rng(size + 100 * count)
    table, factors, start = (
        rng.normal(size=(count, size + 2)),
        rng.normal(size=count),
        rng.random(size),
    )
    lines, numbers = guarded(table), guarded(factors)
    for kernel, sign, begin in ((summed, 1.0, 0.0), (taken, -1.0, start)):
        out = guarded(start if sign < 0.0 else np.full(size, np.nan))
        kernel(out, EDGE, numbers, EDGE, lines, EDGE + 1, size + 2, count, size)
        expected = begin + sign * factors @ table[:, 1 : size + 1]
        assert inside(out) == pytest.approx(expected, rel=1e-13, abs=1e-14)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("count", [0, 1, 4, 7, 8, 10, 19])
def test_inner_products(size: int, count: int) -> None:
    rng = np.random.default_rng(size + 100 * count)
    table, vector, start = rng.normal(size=(count, size)), rng.normal(size=size), rng.random(count)
    out = guarded(start)
    taken_dots(out, EDGE, guarded(table), EDGE, guarded(vector), EDGE, count, size)
    assert inside(out) == pytest.approx(start - table @ vector, rel=1e-13, abs=1e-14)
