"""Exact tests for the statistical claims: nothing here needs normality or many samples."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from advmdp.claims.finding import Verdict

ERROR_RATE = 1e-3
"""Chance that one test calls a true claim false."""
STAKES = tuple(np.linspace(0.02, 0.98, 25).tolist())


def judged(holds: bool, can_fail: bool = True) -> Verdict:
    """The verdict: nothing holds that could not have failed."""
    if not holds:
        return "fails"
    return "holds" if can_fail else "vacuous"


def chance_of_more(n: int, p: float, least: int) -> float:
    """P(Binomial(n, p) >= least).

    >>> round(chance_of_more(10, 0.5, 9), 6), chance_of_more(10, 0.5, 0)
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


def too_many(failures: int, n: int, allowed: float) -> bool:
    """Whether failures of chance at most ``allowed`` each would hardly ever be so many."""
    return chance_of_more(n, allowed, failures) < ERROR_RATE


def most_likely_at_most(failures: int, n: int, doubt: float = ERROR_RATE) -> float:
    """Upper confidence limit for a chance of failure (Clopper and Pearson).

    >>> round(most_likely_at_most(0, 1000), 5)  # 1 - 0.001 ** (1 / 1000)
    0.00688
    """
    if failures >= n:
        return 1.0
    low, high = failures / n, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        seen_so_few = 1.0 - chance_of_more(n, middle, failures + 1)
        low, high = (middle, high) if seen_so_few > doubt else (low, middle)
    return high


def log_wealth(values: ArrayLike) -> float:
    """The log of a gambler's fortune who bets that non-negative values have a mean above one.

    The fortune is the average over stakes s of the product of (1 + s (value - 1)).  If the mean is
    at most one, its expectation is at most one, so it exceeds 1 / e with chance at most e
    (Markov): a test of known error rate, however heavy the tail of the values.

    >>> log_wealth([0.5, 1.5]) < 0.0 < log_wealth([2.0] * 20)
    True
    """
    gains = np.asarray(values, dtype=np.float64) - 1.0
    logs = np.array([np.log1p(stake * gains).sum() for stake in STAKES])
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).mean()))


def mean_and_error(values: Sequence[float] | ArrayLike) -> tuple[float, float]:
    """A mean and its standard error."""
    array = np.asarray(values, dtype=np.float64)
    return float(array.mean()), float(array.std(ddof=1) / math.sqrt(len(array)))
