"""The largest mean regret over a grid of gaps, its exponent, and intervals for both.

Replicates (rows) are resampled as a whole, as in ``reports.statistics``; every resample chooses its
own worst gap, so that the choice is part of the uncertainty.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from advmdp.reports.figures.panels import Series
from advmdp.reports.statistics import Band, Floats, Interval, resampling_weights, stretched


class WorstGap(NamedTuple):
    """For every point (horizon or size) the largest mean over the gaps."""

    mean: Floats
    gap: Floats
    """Index of the gap that attains it."""
    resampled: Floats
    """The same in every resample: points x resamples."""
    n: int
    """Number of replicates."""

    def last(self, number: int) -> WorstGap:
        """The last points alone."""
        mean, gap, resampled = (part[-number:] for part in self[:3])
        return WorstGap(mean, gap, resampled, self.n)

    def band(self) -> Band:
        """The means with their intervals."""
        return Band(self.mean, *stretched(self.mean, self.resampled.copy(), self.n), self.n)


def worst_over_gaps(values: Floats) -> WorstGap:
    """The largest mean over the gaps, from an array of replicates x points x gaps.

    >>> worst = worst_over_gaps(np.array([[[1.0, 5.0], [9.0, 2.0]], [[1.0, 3.0], [7.0, 2.0]]]))
    >>> worst.mean.tolist(), worst.gap.tolist()
    ([4.0, 8.0], [1, 0])
    """
    means = values.mean(axis=0)
    resampled = np.einsum("nkg,nb->kgb", values, resampling_weights(len(values))).max(axis=1)
    return WorstGap(means.max(axis=1), means.argmax(axis=1), resampled, len(values))


def exponent(x: ArrayLike, worst: WorstGap, against: WorstGap | None = None) -> Interval | None:
    """Slope of log worst (minus log ``against``) on log x; None where a value is not positive.

    >>> T = np.array([1e2, 1e4, 1e6])
    >>> slope = exponent(T, worst_over_gaps((3.0 * T**0.5)[None, :, None] * np.ones((4, 1, 2))))
    >>> round(slope.estimate, 9), round(slope.low, 9), slope.n
    (0.5, 0.5, 4)
    """
    one = np.ones_like
    other = (one(worst.mean), one(worst.resampled)) if against is None else against[:3:2]
    parts = (worst.mean, worst.resampled, *other)
    log_x = np.log(np.asarray(x, dtype=np.float64))
    if np.ptp(log_x) == 0.0 or any((part <= 0.0).any() for part in parts):
        return None
    weights = (log_x - log_x.mean()) / ((log_x - log_x.mean()) ** 2).sum()
    mean, resampled, other_mean, other_resampled = map(np.log, parts)
    slope = np.array(weights @ (mean - other_mean))
    low, high = stretched(slope, weights @ (resampled - other_resampled), worst.n)
    return Interval(float(slope), float(low), float(high), worst.n)


def law_series(key: str, x: ArrayLike, worst: WorstGap, slope: Interval | None) -> list[Series]:
    """Dots with intervals and, where there is an exponent, the fitted line."""
    at = np.asarray(x, dtype=np.float64)
    mean, low, high, n = worst.band()
    label = key if slope is None else f"{key} ({interval_text(slope)})"
    known = n > 1
    dots = Series(key, label, at, mean, low if known else None, high if known else None, dots=True)
    if slope is None:
        return [dots]
    level = np.exp(np.log(mean).mean() - slope.estimate * np.log(at).mean())
    ends = at[[0, -1]]
    return [dots, Series(key, f"{key}, fit", ends, level * ends**slope.estimate)]


def interval_text(interval: Interval | None, digits: int = 2) -> str:
    """An estimate with its interval.

    >>> interval_text(Interval(0.512, 0.48, 0.55, 8))
    '0.51 [0.48, 0.55]'
    """
    if interval is None:
        return "none"
    value, low, high, _ = interval
    ends = f" [{low:.{digits}f}, {high:.{digits}f}]" if np.isfinite(low) else ""
    return f"{value:.{digits}f}{ends}"
