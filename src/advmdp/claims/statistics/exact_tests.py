"""Exact tests for the statistical claims; none assumes normality or large samples."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

ERROR_RATE = 1e-3
"""Level of one test: the probability that it rejects a true claim."""
BETS = tuple(np.linspace(0.02, 0.98, 25).tolist())
"""The fractions of the wealth that ``log_wealth`` averages over."""


def binomial_tail(n: int, p: float, least: int) -> float:
    """P(Binomial(n, p) >= least).

    >>> round(binomial_tail(10, 0.5, 9), 6), binomial_tail(10, 0.5, 0)
    (0.010742, 1.0)
    """
    if least <= 0:
        return 1.0
    if p <= 0.0 or least > n:
        return 0.0
    if p >= 1.0:
        return 1.0
    logs = [
        math.lgamma(n + 1)
        - math.lgamma(j + 1)
        - math.lgamma(n - j + 1)
        + j * math.log(p)
        + (n - j) * math.log1p(-p)
        for j in range(least, n + 1)
    ]
    top = max(logs)
    return min(1.0, math.exp(top) * sum(math.exp(value - top) for value in logs))


def exceeds_rate(failures: int, n: int, allowed: float) -> bool:
    """Whether the binomial test rejects "each of n fails with probability at most ``allowed``".

    >>> exceeds_rate(5, 100, 0.04), exceeds_rate(15, 100, 0.04)
    (False, True)
    """
    return binomial_tail(n, allowed, failures) < ERROR_RATE


def clopper_pearson_upper(failures: int, n: int, level: float = ERROR_RATE) -> float:
    """Upper confidence limit of a failure probability (Clopper and Pearson), by bisection.

    >>> round(clopper_pearson_upper(0, 1000), 5)  # 1 - 0.001 ** (1 / 1000)
    0.00688
    """
    if failures >= n:
        return 1.0
    low, high = failures / n, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        at_most = 1.0 - binomial_tail(n, middle, failures + 1)
        low, high = (middle, high) if at_most > level else (low, middle)
    return high


def log_wealth(values: ArrayLike) -> float:
    """Log of the wealth of a bet that non-negative values have a mean above one.

    The wealth is the average over bets s of the product of (1 + s (value - 1)).  If the mean is
    at most one, its expectation is at most one, so that it exceeds 1 / alpha with probability at
    most alpha (Markov): a test of known level, however heavy the tail of the values.

    >>> log_wealth([0.5, 1.5]) < 0.0 < log_wealth([2.0] * 20)
    True
    """
    gains = np.asarray(values, dtype=np.float64) - 1.0
    logs = np.array([np.log1p(bet * gains).sum() for bet in BETS])
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).mean()))


def mean_and_standard_error(values: Sequence[float] | ArrayLike) -> tuple[float, float]:
    """A mean and its standard error."""
    array = np.asarray(values, dtype=np.float64)
    return float(array.mean()), float(array.std(ddof=1) / math.sqrt(len(array)))
