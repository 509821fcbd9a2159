"""The exact tests against scipy, and their error rates by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from advmdp.claims.statistics import exact_tests


@pytest.mark.parametrize(("n", "p", "k"), [(10, 0.3, 4), (1000, 0.04, 60), (50, 0.5, 50)])
def test_binomial_tail(n: int, p: float, k: int) -> None:
    assert exact_tests.binomial_tail(n, p, k) == pytest.approx(
        stats.binom.sf(k - 1, n, p), rel=1e-9
    )


@pytest.mark.parametrize(("failures", "n"), [(0, 100), (3, 100), (40, 100), (99, 100)])
def test_upper_limit(failures: int, n: int) -> None:
    exact = stats.beta.ppf(0.999, failures + 1, n - failures)
    assert exact_tests.clopper_pearson_upper(failures, n) == pytest.approx(exact, abs=1e-9)


def test_betting_keeps_its_error_rate_under_a_heavy_tail() -> None:
    # e^{s Z - s^2 / 2} has mean one and a heavy tail for s = 3; the fortune exceeds 20 with chance
    # at most 1/20, so in 2,000 games more than 140 wins have a chance below 1e-4.
    generator = np.random.default_rng(0)
    values = np.exp(3.0 * generator.standard_normal((2000, 50)) - 4.5)
    wins = sum(exact_tests.log_wealth(row) > np.log(20.0) for row in values)
    assert wins <= 140
    assert exact_tests.log_wealth(1.2 + 0 * values[0]) > np.log(20.0)
