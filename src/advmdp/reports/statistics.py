"""Means over replicates, how far they can be trusted, and how fast they grow.

Rows are replicates (independent seeds), columns are whatever is measured once per replicate: the
checkpoints of a curve, the lengths of a sweep.  Every interval is a bootstrap over whole rows, so
that what belongs to one replicate stays together.

The intervals are percentile intervals, stretched about the estimate by sqrt(n / (n - 1)) t / z.
The plain ones are too short for few seeds (with five they cover 85% of the time, not 95%), and BCa
corrects skewness, not shortness; the stretch makes the normal case right and vanishes as n grows
(narrowness bias: Hesterberg, The American Statistician 69, 2015).  Two or three seeds still make
rough intervals: n is always told.  All is seeded: the same replicates give the same bits.
"""

from __future__ import annotations

from functools import lru_cache
from math import cos, pi, sin, sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

LEVEL = 0.95
RESAMPLES = 2000
SEED = 2020
EXACT_FLIPS = 12  # replicates up to which all 2^n sign patterns are tried
RANDOM_FLIPS = 9999


class Band(NamedTuple):
    """A mean for each column, with the ends of its interval (NaN if there is one replicate)."""

    mean: Floats
    low: Floats
    high: Floats
    n: int


class Interval(NamedTuple):
    """One number, the ends of its interval, and the number of replicates behind it."""

    estimate: float
    low: float
    high: float
    n: int


class PowerLaw(NamedTuple):
    """y = constant * x^exponent."""

    exponent: Interval
    constant: float

    def at(self, x: ArrayLike) -> Floats:
        """The law's values."""
        return self.constant * np.asarray(x, dtype=np.float64) ** self.exponent.estimate


def mean_band(values: ArrayLike) -> Band:
    """Means over the rows, with pointwise intervals.

    >>> band = mean_band([[1.0, 10.0], [2.0, 10.0], [3.0, 10.0]])
    >>> band.mean.tolist(), band.n
    ([2.0, 10.0], 3)
    >>> bool(band.low[0] < 1.0), bool(band.low[1] == band.high[1] == 10.0)
    (True, True)
    """
    rows = _rows(values)
    mean = rows.mean(axis=0)
    low, high = stretched(mean, resampled_means(rows), len(rows))
    return Band(mean, low, high, len(rows))


def mean_interval(values: ArrayLike) -> Interval:
    """The mean of one number per replicate.

    >>> mean_interval([4.0]).estimate, mean_interval([4.0]).low
    (4.0, nan)
    """
    mean, low, high, n = mean_band(np.asarray(values, dtype=np.float64)[:, np.newaxis])
    return Interval(float(mean[0]), float(low[0]), float(high[0]), n)


def power_law(x: ArrayLike, values: ArrayLike) -> PowerLaw | None:
    """Least squares of log mean(values) on log x; None where a mean is not positive.

    Parameters
    ----------
    x
        One positive number for each column, at least two different ones.
    values
        One row for each replicate.

    >>> T = np.array([100.0, 1000.0, 10000.0])
    >>> law = power_law(T, [2.0 * T**0.5, 3.0 * T**0.5])
    >>> round(law.exponent.estimate, 9), round(law.constant, 9)
    (0.5, 2.5)
    """
    log_x, rows = np.log(np.asarray(x, dtype=np.float64)), _rows(values)
    mean = rows.mean(axis=0)
    if (mean <= 0.0).any():
        return None
    centred = log_x - log_x.mean()
    slope_of = centred / (centred @ centred)
    slope = float(np.log(mean) @ slope_of)
    means = resampled_means(rows)
    low = high = np.array(np.nan)
    if (means > 0.0).all():  # otherwise some resamples have no slope, and no quantile is known
        low, high = stretched(np.array(slope), slope_of @ np.log(means), len(rows))
    constant = float(np.exp(np.log(mean).mean() - slope * log_x.mean()))
    return PowerLaw(Interval(slope, float(low), float(high), len(rows)), constant)


def sign_flip_p_values(differences: ArrayLike) -> tuple[Floats, Floats]:
    """Two-sided p-values of the columns for "symmetric about zero", plain and adjusted.

    The signs of whole rows are flipped: all patterns for up to 12 replicates, random ones beyond.
    The adjusted values compare each column with the largest statistic of all columns under the same
    flips (Westfall and Young's max-t): with probability 0.95 no true hypothesis gets one below
    0.05, however the columns depend on each other.  With n replicates none is below 2^(1 - n).

    Parameters
    ----------
    differences
        One row for each replicate; zero where a column has no such replicate.

    >>> p, adjusted = sign_flip_p_values([[1.0, 1.0], [2.0, -2.0], [3.0, 2.0]])
    >>> p.tolist(), adjusted.tolist()
    ([0.25, 1.0], [0.5, 1.0])
    """
    rows = _rows(differences)
    # Flips leave the sum of squares alone, so this is t up to an increasing function.
    size = np.sqrt((rows**2).sum(axis=0))
    scaled = rows / np.where(size > 0.0, size, 1.0)
    # Equal sums in another order differ by rounding, and must count as equal.
    observed = np.abs(scaled.sum(axis=0)) - 1e-9
    flipped = np.abs(np.einsum("fn,nk->fk", _sign_patterns(len(rows)), scaled))
    largest = flipped.max(axis=1, keepdims=True)
    return (flipped >= observed).mean(axis=0), (largest >= observed).mean(axis=0)


def resampled_means(rows: Floats) -> Floats:
    """The mean of each column in each bootstrap resample: a row for each column."""
    # Not a matrix product: on a busy machine the threads that it starts wait far longer for each
    # other than these small sums take, and the order of summation would depend on them.
    means: Floats = np.einsum("nk,nb->kb", rows, resampling_weights(len(rows)))
    return means


@lru_cache(maxsize=16)
def resampling_weights(n: int) -> Floats:
    """The share of each of n replicates (rows) in each resample (columns)."""
    draws = np.random.default_rng((SEED, n)).multinomial(n, np.full(n, 1.0 / n), size=RESAMPLES)
    weights = np.ascontiguousarray(draws.T) / n
    weights.flags.writeable = False
    return weights


@lru_cache(maxsize=16)
def _sign_patterns(n: int) -> Floats:
    """Sign patterns, one per row; the first is all plus: what was observed counts as one."""
    if n <= EXACT_FLIPS:
        bits = np.arange(2**n)[:, np.newaxis] >> np.arange(n) & 1
    else:
        drawn = np.random.default_rng((SEED, n)).integers(0, 2, size=(RANDOM_FLIPS, n))
        bits = np.concatenate([np.zeros((1, n), dtype=np.int64), drawn])
    signs = (1 - 2 * bits).astype(np.float64)
    signs.flags.writeable = False
    return signs


def stretched(estimate: Floats, resampled: Floats, n: int) -> tuple[Floats, Floats]:
    """The stretched percentile interval; resamples are along the last axis, and get reordered."""
    if n < 2:
        return np.full_like(estimate, np.nan), np.full_like(estimate, np.nan)
    tail = (1.0 - LEVEL) / 2.0
    # Two order statistics by partition: much faster than sorting or interpolating.
    first = round(tail * (RESAMPLES - 1))
    last = RESAMPLES - 1 - first
    resampled.partition((first, last), axis=-1)
    stretch = small_sample_stretch(n)
    low = estimate + stretch * np.minimum(resampled[..., first] - estimate, 0.0)
    high = estimate + stretch * np.maximum(resampled[..., last] - estimate, 0.0)
    return low, high


@lru_cache(maxsize=256)
def small_sample_stretch(n: int) -> float:
    """What makes an interval of n normal values cover as often as it says.

    >>> [round(small_sample_stretch(n), 2) for n in (2, 3, 5, 10, 100)]
    [9.17, 2.69, 1.58, 1.22, 1.02]
    """
    upper = (1.0 + LEVEL) / 2.0
    return sqrt(n / (n - 1)) * student_quantile(upper, n - 1) / NormalDist().inv_cdf(upper)


def student_quantile(p: float, freedom: int) -> float:
    """The p-quantile (p > 1/2) of Student's t distribution, by bisection in the angle.

    >>> round(student_quantile(0.975, 4), 4)
    2.7764
    """
    low, high = 0.0, pi / 2.0
    for _ in range(60):
        middle = (low + high) / 2.0
        if (1.0 + _central_chance(middle, freedom)) / 2.0 < p:
            low = middle
        else:
            high = middle
    return sqrt(freedom) * sin(low) / cos(low)


def _central_chance(angle: float, freedom: int) -> float:
    """P(|t| <= sqrt(freedom) tan(angle)): the finite sums of Abramowitz and Stegun, 26.7.3-4."""
    odd = freedom % 2
    term, total = (cos(angle) if odd else 1.0), 0.0
    for k in range(1 + odd, freedom, 2):
        total += term
        term *= k / (k + 1) * cos(angle) ** 2
    if odd:
        return 2.0 / pi * (angle + sin(angle) * total)
    return sin(angle) * total


def _rows(values: ArrayLike) -> Floats:
    rows = np.asarray(values, dtype=np.float64)
    if rows.ndim != 2 or len(rows) == 0:
        raise ValueError(f"values: shape {rows.shape}, expected one row for each replicate")
    return rows
