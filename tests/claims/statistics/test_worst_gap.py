"""The largest mean over gaps: its choice, its exponent, and how often the interval covers it."""

from __future__ import annotations

import numpy as np
import pytest

from advmdp.claims.statistics.worst_gap import exponent, worst_over_gaps


def test_the_worst_gap_is_chosen_anew_at_every_horizon() -> None:
    T = np.array([1e3, 1e4, 1e5])
    values = np.zeros((3, 3, 4))
    for k, gap in enumerate((0, 2, 3)):  # another gap is the worst at every horizon
        values[:, k, gap] = 7.0 * T[k] ** 0.6
    worst = worst_over_gaps(values)
    assert worst.gap.tolist() == [0, 2, 3]
    assert np.allclose(worst.resampled, worst.mean[:, np.newaxis])  # the replicates are all alike
    slope = exponent(T, worst)
    assert slope is not None
    assert slope.estimate == pytest.approx(0.6)
    assert exponent(T, worst._replace(mean=worst.mean - worst.mean[0])) is None  # no logarithm


def test_the_interval_of_an_exponent_covers_it() -> None:
    """95% intervals of 300 samples: below 90% has probability 2e-4 if they are right."""
    rng = np.random.default_rng(0)
    T = np.array([1e3, 1e4, 1e5])
    covered = 0
    for _ in range(300):
        noise = 1.0 + 0.1 * rng.standard_normal((6, 3, 1))
        values = T[:, np.newaxis] ** 0.5 * noise * np.array([1.0, 0.5])  # one gap far ahead
        slope = exponent(T, worst_over_gaps(values))
        assert slope is not None
        covered += slope.low <= 0.5 <= slope.high
    assert covered >= 270


def test_paired_ratios_lose_the_common_noise() -> None:
    T = np.array([1e3, 1e5])
    common = 1.0 + 0.3 * np.random.default_rng(1).standard_normal((8, 2, 1))
    one, other = (worst_over_gaps(T[:, np.newaxis] ** p * common) for p in (0.75, 0.5))
    slope = exponent(T, one, other)
    assert slope is not None
    assert slope.low == pytest.approx(0.25)
    assert slope.high == pytest.approx(0.25)
