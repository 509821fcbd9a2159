"""Products and sums of the lines of a layer, and the flows that they make."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from advmdp.kernels.lanes.line_products import add_lines, find_dots
from advmdp.kernels.model.flow import SHORT, forward, forward_by_layers
from advmdp.layout import Layout
from tests.reference.instances import modest

Array = np.ndarray[Any, Any]
COUNTS, SIZES = st.integers(1, 20), st.integers(1, 21)


@njit  # type: ignore[untyped-decorator]
def products(table: Array, count: int, size: int, vector: Array, out: Array) -> None:
    find_dots(out, 3, table, 2, vector, 1, count, size)


@njit  # type: ignore[untyped-decorator]
def sums(table: Array, count: int, size: int, weight: Array, out: Array) -> None:
    add_lines(table, 2, count, size, weight, 1, out, 3)


@modest
@given(COUNTS, SIZES, st.integers(0, 9999))
def test_every_line_times_the_vector(count: int, size: int, seed: int) -> None:
    """Against exactly rounded sums; nothing beside the results is written."""
    rng = np.random.default_rng(seed)
    table, vector = rng.random(2 + count * size), rng.normal(size=1 + size)
    out, poison = np.full(count + 6, 7.0), np.full(9, np.nan)  # beyond what is to be read
    products(np.append(table, poison), count, size, np.append(vector, poison), out)
    lines = table[2:].reshape(count, size)
    expected = [math.fsum(line * vector[1:]) for line in lines]
    assert out[3:-3] == pytest.approx(np.array(expected), abs=1e-13)
    assert out[:3].tolist() == out[-3:].tolist() == [7.0] * 3


@modest
@given(COUNTS, SIZES, st.integers(0, 9999))
def test_lines_are_added_in_their_order(count: int, size: int, seed: int) -> None:
    """The bits of a plain loop; what is stored as a logarithm counts for nothing."""
    rng = np.random.default_rng(seed)
    table, weight = rng.normal(1.0, 1.0, 2 + count * size), rng.normal(1.0, 1.0, 1 + count)
    out = rng.random(size + 6)
    expected = out.copy()
    for i in range(count):
        line = table[2 + i * size : 2 + (i + 1) * size]
        expected[3:-3] += max(weight[1 + i], 0.0) * np.maximum(line, 0.0)
    sums(table, count, size, weight, out)
    assert out.tolist() == expected.tolist()


@modest
@given(st.lists(st.integers(1, SHORT), min_size=1, max_size=4), st.integers(0, 9999))
def test_flows_by_layers_are_those_by_rows(sizes: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    layout = Layout(layer_sizes=(1, *sizes, 1), n_actions=2)
    policy = [rng.dirichlet(np.full(2, 0.2), size=n) for n in layout.layer_sizes[:-1]]
    pairs = pairwise(layout.layer_sizes)
    chance = [rng.dirichlet(np.full(m, 0.5), size=(n, 2)) for n, m in pairs]
    flat = [np.concatenate([part.ravel() for part in table]) for table in (chance, policy)]
    together, apart = np.full((2, layout.n_states), np.nan)
    forward_by_layers(layout.graph(), *flat, together, np.full(layout.n_rows, np.nan))
    forward(layout.graph(), *flat, apart)
    assert together.tolist() == apart.tolist()
    mass = np.ones(1)
    for pi, p in zip(policy, chance, strict=True):
        mass = np.einsum("x,xa,xay->y", mass, pi, p)
    assert together[-1] == pytest.approx(mass.sum())
