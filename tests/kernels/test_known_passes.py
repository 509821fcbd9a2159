"""Exponentials, gaps and comparisons in registers against the standard library and NumPy."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numba import njit

from advmdp.kernels.kl.imbalance import compare_flows, longest_entry
from advmdp.kernels.kl.known.passes import (
    CLOSE,
    NEAR,
    close_gap,
    leave_states,
    near_exponential,
    tilt_near,
    tilt_weights,
    weigh_near,
)
from advmdp.kernels.model.log_storage import TINY

N = 21  # two vectors and a part of one
EXACT = 5e-16


def compiled(function: Any, n_arguments: int) -> Any:
    """A pass as Python can call it."""
    names = ", ".join(f"a{i}" for i in range(n_arguments))
    scope: dict[str, Any] = {"run": function}
    exec(f"def call({names}):\n    return run({names})", scope)
    return njit(scope["call"])


def test_the_series_is_the_exponential() -> None:
    for t in np.linspace(-NEAR, NEAR, 1001):
        assert near_exponential(float(t)) == pytest.approx(math.exp(t), rel=4e-16)


def test_weights_grow() -> None:
    rng = np.random.default_rng(0)
    weight, gain, out = rng.random(N), rng.uniform(-NEAR, NEAR, N), np.full(N, np.nan)
    weight[3] = -700.0  # a logarithm: it weighs nothing
    largest = compiled(weigh_near, 7)(weight, 0, gain, 0, out, 0, N)
    assert largest == np.abs(gain).max()
    assert out == pytest.approx(np.maximum(weight, 0.0) * np.exp(gain), rel=EXACT)


def test_beta_moves_along_a_direction() -> None:
    rng = np.random.default_rng(1)
    base, direction = rng.uniform(-0.2, 0.2, (2, N))
    beta, tilt = np.full((2, N), np.nan)
    largest = compiled(tilt_near, 10)(base, 0, direction, 0, beta, 0, tilt, 0, N, 0.7)
    assert (beta == base + 0.7 * direction).all()
    assert largest == np.abs(beta).max()
    assert tilt == pytest.approx(np.exp(beta), rel=EXACT)


def test_states_are_left() -> None:
    rng = np.random.default_rng(2)
    mass, tilt, total = rng.random((3, N)) + 0.1
    outflow, part = np.full((2, N), np.nan)
    run = compiled(leave_states, 11)
    for place, table, value in (
        (0, total, 0.0),
        (4, total, math.inf),
        (9, tilt, 1e-200),
        (N - 1, total, math.nan),
    ):
        before, table[place] = table[place], value
        assert run(mass, 0, tilt, 0, total, 0, outflow, 0, part, 0, N) == 1.0
        table[place] = before
    assert run(mass, 0, tilt, 0, total, 0, outflow, 0, part, 0, N) == 0.0
    assert outflow == pytest.approx(mass / tilt * total, rel=EXACT)
    assert part == pytest.approx(1.0 / total, rel=EXACT)


def test_a_gap_has_no_rounding() -> None:
    """Against 60 digits: the logarithm of q / o would lose all of them."""
    rng = np.random.default_rng(3)
    outflow = rng.random(N)
    mass = outflow * (1.0 + 1e-7 * rng.normal(size=N))
    mass[5] = outflow[8] = 0.0  # no part
    gap, far = compiled(close_gap, 5)(mass, 0, outflow, 0, N)
    exact = Fraction(0)
    for q, o in zip(mass, outflow, strict=True):
        if q > 0.0 and o > 0.0:
            part = Fraction(q) / Fraction(o) - 1
            exact += Fraction(o) * (part**2 / 2 - part**3 / 6 + part**4 / 12)
    assert far == 0.0
    assert gap == pytest.approx(float(exact), rel=1e-9)
    mass[0] = outflow[0] * (1.0 + 2.0 * CLOSE)
    assert compiled(close_gap, 5)(mass, 0, outflow, 0, N)[1] == 1.0


def test_a_gap_at_the_edge_of_the_series() -> None:
    mass, outflow = np.array([0.3 * (1.0 + CLOSE)]), np.array([0.3])
    gap, far = compiled(close_gap, 5)(mass, 0, outflow, 0, 1)
    part = mass[0] / outflow[0] - 1.0
    assert far == float(part > CLOSE)
    assert gap == pytest.approx(0.3 * ((1.0 + part) * math.log1p(part) - part), rel=1e-10)


def test_losses_tilt_weights() -> None:
    rng = np.random.default_rng(4)
    weight, losses, old = rng.random(N), rng.random(N), np.full(N, np.nan)
    weight[2] = 0.0
    run = compiled(tilt_weights, 8)
    start = weight.copy()
    assert run(weight, 0, losses, 0, old, 0, N, 0.3) == 0.0
    assert (old == start).all()
    assert weight == pytest.approx(start * np.exp(-0.3 * losses), rel=EXACT)
    for place, value in ((1, -500.0), (7, TINY), (N - 1, math.nan)):
        odd = start.copy()
        odd[place] = value
        losses[place] = 0.5
        assert run(odd, 0, losses, 0, old, 0, N, 0.3) == 1.0
    assert run(start.copy(), 0, losses, 0, old, 0, N, 9.0) == (9.0 * losses > NEAR).sum()


def test_flows_are_compared() -> None:
    rng = np.random.default_rng(5)
    inflow, outflow = rng.random((2, N)) + 0.1
    inflow[4], outflow[4] = 1e-230, 1e-250  # too little to be asked about
    gradient = np.full(N, np.nan)
    run = compiled(compare_flows, 7)
    absolute, ratio = run(inflow, 0, outflow, 0, gradient, 0, N)
    assert (gradient == inflow - outflow).all()
    assert absolute == np.abs(gradient).max()
    others = np.delete(np.arange(N), 4)
    ratios = np.maximum(inflow / outflow, outflow / inflow)[others]
    assert ratio == ratios.max()
    outflow[N - 1] = 0.0
    assert run(inflow, 0, outflow, 0, gradient, 0, N)[1] == math.inf
    assert compiled(longest_entry, 3)(-inflow, 0, N) == inflow.max()
