"""The block-tridiagonal solver against a dense one, and its two ways against each other."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advmdp.kernels.linear.block_solve import factor_alone, factor_together, solve_blocks
from advmdp.kernels.linear.block_system import Blocks
from advmdp.layout import Floats, Layout
from advmdp.steps import workspace
from advmdp.steps.workspace import new_solver
from tests.reference.instances import modest

SIZES = st.lists(st.integers(1, 6) | st.integers(7, 18), min_size=1, max_size=5)


def system(sizes: list[int], seed: int) -> tuple[Layout, Blocks, Floats]:
    """A random positive definite system of that shape: its blocks, and the matrix."""
    layout = Layout(layer_sizes=(1, *sizes, 1), n_actions=1)
    with patch.object(workspace, "NARROW", 20):
        blocks = new_solver(layout).blocks
    rng = np.random.default_rng(seed)
    matrix = np.zeros((layout.n_states, layout.n_states))
    x, y = blocks.slot_row.astype(int), blocks.slot_column.astype(int)
    matrix[x, y] = rng.normal(size=len(x))
    matrix = np.tril(matrix.T) + np.tril(matrix.T, -1).T
    matrix += np.diag(np.abs(matrix).sum(axis=1) + 0.1)
    blocks.entries[:] = matrix[x, y]
    return layout, blocks, matrix


@modest
@given(SIZES, st.integers(0, 999))
def test_the_solution_is_that_of_a_dense_solver(sizes: list[int], seed: int) -> None:
    layout, blocks, matrix = system(sizes, seed)
    inner = slice(1, layout.n_states - 1)
    rng = np.random.default_rng(seed + 1)
    for factored in (False, True):
        gradient, direction = rng.normal(size=layout.n_states), np.zeros(layout.n_states)
        solve_blocks(layout.graph(), gradient, blocks, direction, factored)
        expected = -np.linalg.solve(matrix[inner, inner], gradient[inner])
        assert direction[inner] == pytest.approx(expected, rel=1e-10, abs=1e-12)


@modest
@given(SIZES, st.integers(0, 999))
def test_columns_from_all_entries_at_once_give_the_same_factors(
    sizes: list[int], seed: int
) -> None:
    layout, alone, matrix = system(sizes, seed)
    together = system(sizes, seed)[1]
    right = np.random.default_rng(seed + 1).normal(size=layout.n_states)
    inner = slice(1, layout.n_states - 1)
    expected = np.linalg.solve(np.linalg.cholesky(matrix[inner, inner]), right[inner])
    factor_alone(layout.graph(), alone)
    factor_together(layout.graph(), together, right)
    x, y = alone.slot_row, alone.slot_column
    same_layer = np.asarray(layout.graph().layer)[x] == np.asarray(layout.graph().layer)[y]
    seen = ~same_layer | (y <= x)  # above the diagonal of a block nobody looks
    assert alone.entries[seen] == pytest.approx(together.entries[seen], rel=1e-12, abs=1e-14)
    assert right[inner] == pytest.approx(expected, rel=1e-10, abs=1e-12)


@modest
@given(SIZES, st.integers(0, 999))
def test_a_flat_direction_is_not_moved_along(sizes: list[int], seed: int) -> None:
    layout, blocks, matrix = system(sizes, seed)
    x, y = blocks.slot_row.astype(int), blocks.slot_column.astype(int)
    flat = 1 + seed % sum(sizes)
    matrix[flat], matrix[:, flat] = 0.0, 0.0
    blocks.entries[:] = matrix[x, y]
    gradient, direction = np.ones(layout.n_states), np.zeros(layout.n_states)
    solve_blocks(layout.graph(), gradient, blocks, direction, False)
    kept = np.setdiff1d(np.arange(1, layout.n_states - 1), [flat])
    assert direction[flat] == 0.0
    expected = -np.linalg.solve(matrix[np.ix_(kept, kept)], gradient[kept])
    assert direction[kept] == pytest.approx(expected, rel=1e-10, abs=1e-12)
