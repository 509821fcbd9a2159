"""Intervals, exponents and p-values, against simulations and other implementations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from advmdp.reports.sign_flips import sign_flip_p_values
from advmdp.reports.statistics import (
    mean_band,
    mean_interval,
    power_law,
    small_sample_stretch,
    student_quantile,
)

REPETITIONS = 4000  # the standard error of a coverage of 95% is 0.34%


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 10, 29, 100])
@pytest.mark.parametrize("p", [0.6, 0.95, 0.975, 0.999])
def test_student_quantile(p: float, freedom: int) -> None:
    assert student_quantile(p, freedom) == pytest.approx(stats.t.ppf(p, freedom), rel=1e-9)


@pytest.mark.parametrize(("n", "least"), [(2, 0.92), (3, 0.93), (5, 0.935), (10, 0.94), (40, 0.94)])
def test_intervals_of_normal_values_cover_as_often_as_they_say(n: int, least: float) -> None:
    # Two seeds have three different resamples: 93% is what a bootstrap can do.  The limits are
    # about three standard errors from what a simulation with another seed gave.
    values = np.random.default_rng(n).standard_normal((n, REPETITIONS))
    band = mean_band(values)
    covered = np.mean((band.low <= 0.0) & (band.high >= 0.0))
    assert least <= covered <= 0.962


def test_intervals_of_skewed_values() -> None:
    values = np.random.default_rng(0).exponential(size=(20, REPETITIONS))
    band = mean_band(values)
    assert 0.91 <= np.mean((band.low <= 1.0) & (band.high >= 1.0)) <= 0.95
    # The tails are those of the data, longer above than below: a symmetric interval has none.
    assert np.mean(band.high - band.mean) > 1.1 * np.mean(band.mean - band.low)


def test_the_bootstrap_against_scipy() -> None:
    values = np.random.default_rng(3).gamma(2.0, size=30)
    ours = mean_interval(values)
    theirs = stats.bootstrap((values,), np.mean, n_resamples=40_000, method="percentile", rng=4)
    stretch = small_sample_stretch(30)
    low, high = theirs.confidence_interval
    for end, other in ((ours.low, low), (ours.high, high)):
        plain = ours.estimate + (end - ours.estimate) / stretch
        assert plain == pytest.approx(other, abs=0.05 * (high - low))


@given(
    arrays(np.float64, (6, 3), elements=st.floats(-100, 100)),
    st.floats(0.1, 10.0),
    st.floats(-100, 100),
)
def test_intervals_move_with_the_data(values: np.ndarray, factor: float, shift: float) -> None:
    plain, moved = mean_band(values), mean_band(factor * values + shift)
    for one, other in zip(plain[:3], moved[:3], strict=True):
        np.testing.assert_allclose(other, factor * one + shift, atol=1e-9 * (1 + abs(shift)) * 1e3)
    assert (plain.low <= plain.mean).all()
    assert (plain.mean <= plain.high).all()


def test_one_replicate_has_no_interval() -> None:
    band = mean_band([[1.0, 2.0]])
    assert band.mean.tolist() == [1.0, 2.0]
    assert np.isnan(band.low).all()
    assert np.isnan(band.high).all()


def test_power_law_fits_like_polyfit() -> None:
    rng = np.random.default_rng(0)
    x = np.array([100.0, 300.0, 1000.0, 5000.0])
    values = 3.0 * x**0.6 * rng.uniform(0.5, 1.5, size=(7, 4))
    law = power_law(x, values)
    assert law is not None
    slope, intercept = np.polyfit(np.log(x), np.log(values.mean(axis=0)), 1)
    assert law.exponent.estimate == pytest.approx(slope, rel=1e-9)
    assert law.constant == pytest.approx(np.exp(intercept), rel=1e-9)
    np.testing.assert_allclose(law.at(x), np.exp(intercept) * x**slope)


def test_exponents_are_covered() -> None:
    # 600 sweeps with 8 replicates each, a standard error of 0.9%: 95% minus and plus three.
    rng = np.random.default_rng(1)
    x = np.array([1e3, 1e4, 1e5])
    hits = 0
    for _ in range(600):
        world = 1.0 + 0.2 * rng.standard_normal((8, 1))  # the same at every length
        own = 1.0 + 0.1 * rng.standard_normal((8, 3))
        law = power_law(x, 2.0 * x**0.5 * world * own)
        assert law is not None
        hits += law.exponent.low <= 0.5 <= law.exponent.high
    assert 0.92 <= hits / 600 <= 0.98


def test_what_a_replicate_has_in_common_does_not_blur_the_exponent() -> None:
    rng = np.random.default_rng(2)
    x = np.array([1e3, 1e4, 1e5])
    world = rng.uniform(0.2, 3.0, size=(8, 1))
    law = power_law(x, world * x**0.5)
    assert law is not None
    assert law.exponent.high - law.exponent.low < 1e-9


def test_no_exponent_without_positive_means() -> None:
    assert power_law([1.0, 10.0], [[1.0, -2.0], [1.0, 1.0]]) is None
    assert power_law([1.0, 10.0], [[0.0, 1.0]]) is None
    law = power_law([1.0, 10.0], [[1.0, 2.0], [1.0, -1.0]])  # the mean is positive, a resample not
    assert law is not None
    assert np.isnan(law.exponent.low)
    assert np.isnan(law.exponent.high)


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_exact_p_values_against_scipy(n: int) -> None:
    differences = np.random.default_rng(n).normal(0.5, 1.0, size=n)
    p, adjusted = sign_flip_p_values(differences[:, np.newaxis])
    if n == 1:
        expected = 1.0
    else:
        expected = stats.permutation_test(
            (differences,), np.mean, permutation_type="samples", n_resamples=np.inf
        ).pvalue
    assert p[0] == pytest.approx(expected, abs=1e-12)
    assert adjusted[0] == p[0]


def test_p_values_of_many_replicates_against_student() -> None:
    # Random flips; for normal values the t test is nearly the same test.
    differences = np.random.default_rng(5).normal(0.3, 1.0, size=(40, 20))
    p, _ = sign_flip_p_values(differences)
    np.testing.assert_allclose(p, stats.ttest_1samp(differences, 0.0).pvalue, atol=0.02)


def test_p_values_under_the_null() -> None:
    differences = np.random.default_rng(6).standard_t(3, size=(8, REPETITIONS))
    p, _ = sign_flip_p_values(differences)
    for level in (0.01, 0.05, 0.2, 0.5):  # exact tests: at most the level, up to three deviations
        slack = 3.0 * np.sqrt(level * (1 - level) / REPETITIONS)
        assert np.mean(p <= level) <= level + slack
    assert np.mean(p <= 0.5) > 0.45


def test_adjusted_p_values_guard_the_whole_family() -> None:
    # Differences of all pairs of six equal learners: heavily dependent, as in a cell.
    rng = np.random.default_rng(7)
    first, second = np.triu_indices(6, 1)
    plain = false = 0
    for _ in range(1000):
        regret = rng.standard_normal((8, 6))
        p, adjusted = sign_flip_p_values(regret[:, second] - regret[:, first])
        assert (adjusted >= p).all()
        plain += p.min() <= 0.05
        false += adjusted.min() <= 0.05
    assert plain > 200  # unadjusted, every third family shows something that is not there
    assert false <= 50 + 3 * 7  # three standard deviations


def test_missing_replicates_do_not_count() -> None:
    differences = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [5.0, 0.0]])
    p, _ = sign_flip_p_values(differences)
    assert p[1] == sign_flip_p_values(differences[:3, 1:])[0][0]


def test_no_replicates_are_refused() -> None:
    with pytest.raises(ValueError, match="one row for each replicate"):
        mean_band(np.zeros((0, 3)))
