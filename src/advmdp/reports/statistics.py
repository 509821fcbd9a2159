"""Means over replicates, their bootstrap intervals, and power laws through them.

Rows are replicates (independent seeds), columns are what is measured once per replicate: the
evaluation points of a curve, the lengths of a sweep.  Every interval is a bootstrap over whole
rows, so that the values of one replicate stay together.

The intervals are percentile intervals, stretched about the estimate by sqrt(n / (n - 1)) t / z.
Plain percentile intervals are too short for few seeds (with five they cover 85% of the time, not
95%), and BCa corrects skewness, not shortness; the stretch is exact in the normal case and vanishes
as n grows (narrowness bias: Hesterberg, The American Statistician 69, 2015).  Intervals from two or
three seeds remain rough, so n is always reported.  Everything is seeded: equal replicates give
equal bits.
"""

from __future__ import annotations

from functools import lru_cache
from math import cos, pi, sin, sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from advmdp.layout import Floats as Floats

LEVEL = 0.95
RESAMPLES = 2000
SEED = 2020


class Band(NamedTuple):
    """The mean of each column, with the ends of its interval (NaN for a single replicate)."""

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
        """The values of the law."""
        return self.constant * np.asarray(x, dtype=np.float64) ** self.exponent.estimate


def mean_band(values: ArrayLike) -> Band:
    """Means over the rows, with pointwise intervals.

    >>> band = mean_band([[1.0, 10.0], [2.0, 10.0], [3.0, 10.0]])
    >>> band.mean.tolist(), band.n
    ([2.0, 10.0], 3)
    >>> bool(band.low[0] < 1.0), bool(band.low[1] == band.high[1] == 10.0)
    (True, True)
    """
    rows = as_rows(values)
    mean = rows.mean(axis=0)
    low, high = stretched(mean, resampled_means(rows), len(rows))
    return Band(mean, low, high, len(rows))


def mean_interval(values: ArrayLike) -> Interval:
    """The mean of one number per replicate, with its interval.

    >>> mean_interval([4.0]).estimate, mean_interval([4.0]).low
    (4.0, nan)
    """
    mean, low, high, n = mean_band(np.asarray(values, dtype=np.float64)[:, np.newaxis])
    return Interval(float(mean[0]), float(low[0]), float(high[0]), n)


def power_law(x: ArrayLike, values: ArrayLike) -> PowerLaw | None:
    """Least squares of log mean(values) on log x; None if a mean is not positive.

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
    log_x, rows = np.log(np.asarray(x, dtype=np.float64)), as_rows(values)
    mean = rows.mean(axis=0)
    if (mean <= 0.0).any():
        return None
    centred = log_x - log_x.mean()
    slope_of = centred / (centred @ centred)
    slope = float(np.log(mean) @ slope_of)
    means = resampled_means(rows)
    low = high = np.array(np.nan)
    if (means > 0.0).all():  # otherwise some resamples have no slope, and the quantiles are unknown
        low, high = stretched(np.array(slope), slope_of @ np.log(means), len(rows))
    constant = float(np.exp(np.log(mean).mean() - slope * log_x.mean()))
    return PowerLaw(Interval(slope, float(low), float(high), len(rows)), constant)


def resampled_means(rows: Floats) -> Floats:
    """The mean of each column in each bootstrap resample: a row for each column."""
    # Not a matrix product: on a busy machine its threads wait for each other far longer than these
    # small sums take, and the order of summation would depend on them.
    means: Floats = np.einsum("nk,nb->kb", rows, resampling_weights(len(rows)))
    return means


@lru_cache(maxsize=16)
def resampling_weights(n: int) -> Floats:
    """The weight of each of n replicates (rows) in each resample (columns)."""
    draws = np.random.default_rng((SEED, n)).multinomial(n, np.full(n, 1.0 / n), size=RESAMPLES)
    weights = np.ascontiguousarray(draws.T) / n
    weights.flags.writeable = False
    return weights


def stretched(estimate: Floats, resampled: Floats, n: int) -> tuple[Floats, Floats]:
    """The stretched percentile interval; ``resampled`` is reordered along its last axis."""
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
    """The factor with which intervals of n normal values have their nominal coverage.

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


def as_rows(values: ArrayLike) -> Floats:
    """The values as an array with one row for each replicate."""
    rows = np.asarray(values, dtype=np.float64)
    if rows.ndim != 2 or len(rows) == 0:
        raise ValueError(f"values: shape {rows.shape}, expected one row for each replicate")
    return rows
