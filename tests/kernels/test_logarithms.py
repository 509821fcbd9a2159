"""Logarithms and exponentials in registers against rational and decimal arithmetic."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from numba import njit

from advmdp.kernels.lanes.logarithms import exponential, log_of_ratio
from advmdp.kernels.lanes.vectors import Lanes, vectorised

Array = np.ndarray[Any, Any]


def _log(lanes: Lanes, a: Any, b: Any, old: Any) -> list[Any]:
    return [log_of_ratio(lanes, a, b)]


@vectorised(_log, n_results=0, writes=[2])
def write_logs(
    a: Array, a_begin: int, b: Array, b_begin: int, out: Array, out_begin: int, size: int
) -> None:
    for j in range(size):
        out[out_begin + j] = math.log(a[a_begin + j] / b[b_begin + j])


def _exp(lanes: Lanes, x: Any, old: Any) -> list[Any]:
    return [exponential(lanes, x)]


@vectorised(_exp, n_results=0, writes=[1])
def write_powers(x: Array, x_begin: int, out: Array, out_begin: int, size: int) -> None:
    for j in range(size):
        out[out_begin + j] = math.exp(x[x_begin + j])


@njit  # type: ignore[untyped-decorator]
def logs(a: Array, b: Array, out: Array) -> None:
    write_logs(a, 0, b, 0, out, 0, len(a))


@njit  # type: ignore[untyped-decorator]
def powers(x: Array, out: Array) -> None:
    write_powers(x, 0, out, 0, len(x))


def worst_error(found: Array, exact: list[Decimal]) -> float:
    """In units of the last place of the exact value."""
    with localcontext() as context:
        context.prec = 50
        return max(
            float(abs(Decimal(float(f)) - e) / Decimal(max(abs(float(e)), 1e-30) * 2.0**-52))
            for f, e in zip(found, exact, strict=True)
        )


def exact_logs(a: Array, b: Array) -> list[Decimal]:
    with localcontext() as context:
        context.prec = 50
        pairs = zip(a.tolist(), b.tolist(), strict=True)
        return [(Decimal(x) / Decimal(y)).ln() for x, y in pairs]


@pytest.mark.parametrize("spread", [1e-9, 0.1, 1.0, 30.0, 500.0])
def test_logarithms_of_ratios_are_exact_to_rounding(spread: float) -> None:
    rng = np.random.default_rng(1)
    b = np.exp(rng.uniform(-100.0, 100.0, 2_003))
    a = b * np.exp(rng.uniform(-spread, spread, len(b)))
    found = np.empty_like(a)
    logs(a, b, found)
    assert worst_error(found, exact_logs(a, b)) < 2.0


def test_powers_of_two_and_the_seams_between_them_are_exact_to_rounding() -> None:
    edges = np.array([np.nextafter(2.0**k, s) for k in (-3, 0, 5) for s in (0.0, 2.0**k, 1e9)])
    edges = np.concatenate([edges, edges * (1 + 2.0**-20), edges * 1.5, edges / 1.5])
    a, b = (part.ravel() for part in np.meshgrid(edges, edges))
    found = np.empty(a.shape)
    logs(a.copy(), b.copy(), found)
    assert worst_error(found, exact_logs(a, b)) < 2.0
    assert (found[a == b] == 0.0).all()
    assert (found[a != b] != 0.0).all()


def test_zeros_give_some_finite_number() -> None:
    a, b = np.array([0.0, 1.0, 0.0, 1e-300]), np.array([0.5, 0.0, 0.0, 1.0])
    found = np.full(4, np.nan)
    logs(a, b, found)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("spread", [1e-9, 0.3, 5.0, 700.0])
def test_exponentials_are_exact_to_rounding(spread: float) -> None:
    x = np.concatenate([[0.0], np.random.default_rng(2).uniform(-spread, spread, 2_002)])
    found = np.empty_like(x)
    powers(x, found)
    with localcontext() as context:
        context.prec = 50
        exact = [Decimal(value).exp() for value in x.tolist()]
    assert worst_error(found, exact) < 2.0
    assert found[0] == 1.0
