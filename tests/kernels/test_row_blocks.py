"""Neighbouring rows together: the numbers of one row after the other, and nothing around them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

from advmdp.kernels.lanes.row_blocks import tilt_rows

SIZES = [1, 2, 3, 5, 7, 8, 10, 13, 16, 19]


@njit  # type: ignore[untyped-decorator]
def tilt(*arguments: Any) -> None:
    tilt_rows(*arguments)


def hidden(values: Any) -> np.ndarray[Any, Any]:
    """The values between poison."""
    poison = np.full(9, np.nan)
    return np.concatenate([poison, np.ravel(values), poison])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("count", [1, 2, 7])
def test_rows_are_tilted_and_added_in_their_order(size: int, count: int) -> None:
    rng = np.random.default_rng(size + 100 * count)
    rows = rng.random((count, size))
    rows[rng.random(rows.shape) < 0.2] = -700.0  # the logarithm of what is too small for a sum
    vector, line = rng.random((2, size))
    scale, weight = rng.random((2, count))
    tilted = np.maximum(rows, 0.0) * (scale[:, None] * vector)
    merged = line.copy()
    for j in range(count):
        merged = merged + weight[j] * tilted[j]
    places = [hidden(part) for part in (rows, vector, scale, weight, line)]
    table, by, scales, weights, merge = places
    tilt(table, 9, by, 9, scales, weights, 9, merge, 9, count, size)
    for found, expected in ((table, tilted), (merge, merged)):
        assert (found[9:-9] == expected.ravel()).all()
        assert np.isnan(found[:9]).all()
        assert np.isnan(found[-9:]).all()
