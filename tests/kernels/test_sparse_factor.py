"""Blocks of which a layer is coupled with few states of the next one, against a dense solver."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from advmdp.kernels.lanes.vectors import N_LANES
from advmdp.kernels.linear.block_solve import begin_direction, substitute_in_layer
from advmdp.kernels.linear.block_system import Blocks, Strips
from advmdp.kernels.linear.sparse_factor import factor_sparse_block, substitute_upper
from advmdp.layout import Layout
from advmdp.steps.ftrl_workspace import _block_places
from tests.reference.instances import modest

Array = np.ndarray[Any, Any]


@njit  # type: ignore[untyped-decorator]
def solved(graph: Any, gradient: Array, blocks: Blocks, strips: Strips, direction: Array) -> None:
    begin_direction(gradient, direction)
    for k in range(1, graph.layer_start.shape[0] - 2):
        factor_sparse_block(graph, k, blocks, strips)
        substitute_in_layer(graph, k, blocks, direction)
    substitute_upper(graph, blocks, direction)


def system(sizes: list[int], seed: int) -> tuple[Layout, Blocks, Strips, Array]:
    """A positive definite system with few couplings; what nobody may read is not a number."""
    layout = Layout(layer_sizes=(1, *sizes, 1), n_actions=1)
    rng = np.random.default_rng(seed)
    start, last = layout.layer_start, layout.n_layers - 1
    diagonal_at, coupling_at, end = _block_places(layout.layer_sizes)
    entries = np.full(end, np.nan)
    matrix = np.zeros((layout.n_states, layout.n_states))
    strip_at, tops = np.zeros(layout.n_layers, dtype=np.uint32), []
    for k in range(1, last + 1):
        here, n = slice(start[k], start[k + 1]), int(start[k + 1] - start[k])
        block = np.triu(rng.normal(size=(n, n)))
        matrix[here, here] = block + np.triu(block, 1).T
        if k < last:
            there, width = slice(start[k + 1], start[k + 2]), int(start[k + 2] - start[k + 1])
            near = np.abs(np.arange(n)[:, None] * width - np.arange(width) * n) <= 3 * max(n, width)
            far = np.arange(width) == width - 1  # a state that all others may lead to
            coupling = np.where(near | far, rng.normal(size=(n, width)), 0.0)
            matrix[here, there], matrix[there, here] = coupling, coupling.T
            strip_at[k] = len(tops)
            for c in range(0, width, N_LANES):
                lines = np.flatnonzero(coupling[:, c : c + N_LANES].any(axis=1))
                tops.append(int(lines[0]) // N_LANES * N_LANES if len(lines) else n)
            entries[coupling_at[k] : coupling_at[k] + n * width] = coupling.ravel()
    matrix += np.diag(np.abs(matrix).sum(axis=1) + 0.1)
    for k in range(1, last + 1):
        here = slice(start[k], start[k + 1])
        upper = np.where(np.tri(here.stop - here.start, k=-1) > 0, np.nan, matrix[here, here])
        entries[diagonal_at[k] : diagonal_at[k] + upper.size] = upper.ravel()
    nothing, scratch = np.zeros(0, dtype=np.uint32), np.zeros((2, layout.n_states))
    blocks = Blocks(entries, diagonal_at, coupling_at, nothing, nothing, *scratch)
    return layout, blocks, Strips(strip_at, np.array(tops, dtype=np.uint32)), matrix


@modest
@given(st.lists(st.integers(1, 30), min_size=1, max_size=5), st.integers(0, 999))
def test_the_solution_is_that_of_a_dense_solver(sizes: list[int], seed: int) -> None:
    layout, blocks, strips, matrix = system(sizes, seed)
    gradient = np.random.default_rng(seed).normal(size=layout.n_states)
    direction = np.full(layout.n_states, np.nan)
    solved(layout.graph(), gradient, blocks, strips, direction)
    inner = slice(1, layout.n_states - 1)
    expected = -np.linalg.solve(matrix[inner, inner], gradient[inner])
    assert direction[inner] == pytest.approx(expected, abs=1e-12 * np.abs(expected).max())


def test_strips_leave_lines_out() -> None:
    """Else the test above would show nothing of them."""
    *_, strips, _ = system([27, 27, 27], 0)
    assert (strips.top > 0).any()
    assert (strips.top[: len(strips.top) // 2] == 0).any()
