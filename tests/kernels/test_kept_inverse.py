"""Directions from inverses that were kept, against a dense solver."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advmdp.kernels.kl.linear.kept_factor import KeptFactor
from advmdp.kernels.kl.linear.kept_inverse import (
    MOST_CHORDS,
    keep_inverse,
    keeps_converging,
    solve_kept,
)
from advmdp.kernels.linear.block_solve import factor_alone
from tests.kernels.test_block_solve import SIZES, system
from tests.reference.instances import modest


@modest
@given(SIZES, st.integers(0, 999), st.booleans())
def test_the_direction_is_that_of_a_dense_solver(sizes: list[int], seed: int, flat: bool) -> None:
    layout, blocks, matrix = system(sizes, seed)
    lost = 1 + seed % sum(sizes)
    if flat:  # a pivot that is lost belongs to a direction that is not moved along
        matrix[lost], matrix[:, lost] = 0.0, 0.0
        blocks.entries[:] = matrix[blocks.slot_row.astype(int), blocks.slot_column.astype(int)]
    kept = KeptFactor(np.full(blocks.entries.shape, np.nan), np.zeros(1, dtype=np.uint8))
    factor_alone(layout.graph(), blocks)
    keep_inverse(layout.graph(), blocks, kept)
    assert kept.is_there[0] == 1
    gradient = np.random.default_rng(seed + 1).normal(size=layout.n_states)
    direction = np.full(layout.n_states, np.nan)
    solve_kept(layout.graph(), gradient, kept, blocks, direction)
    inner = np.arange(1, layout.n_states - 1)
    moving = np.setdiff1d(inner, [lost]) if flat else inner
    expected = np.zeros(layout.n_states)
    expected[moving] = -np.linalg.solve(matrix[np.ix_(moving, moving)], gradient[moving])
    assert direction == pytest.approx(expected, rel=1e-9, abs=1e-11)


def test_when_old_factors_are_given_up() -> None:
    assert keeps_converging(1, 1e-5, 1e-3, 1.1e-11)  # three more steps of 1/100 each
    assert not keeps_converging(1, 1e-5, 1e-3, 1e-12)
    assert not keeps_converging(2, 1e-5, 1e-3, 1.1e-11)  # one step fewer is left
    assert not keeps_converging(MOST_CHORDS, 2e-11, 1e-8, 1e-10)
    assert not keeps_converging(1, 1e-3, 1e-3, 1e-10)
