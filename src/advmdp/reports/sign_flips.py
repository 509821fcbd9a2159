"""Sign-flip tests of paired differences, with an adjustment for several comparisons."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from advmdp.reports.statistics import SEED, Floats, as_rows

EXACT_FLIPS = 12  # replicates up to which all 2^n sign patterns are enumerated
RANDOM_FLIPS = 9999


def sign_flip_p_values(differences: ArrayLike) -> tuple[Floats, Floats]:
    """Two-sided p-values of the columns for "symmetric about zero", plain and adjusted.

    The signs of whole rows are flipped: all patterns for up to 12 replicates, random ones beyond.
    The adjusted values compare each column with the largest statistic of all columns under the same
    flips (the max-t method of Westfall and Young): with probability 0.95 no true hypothesis has one
    below 0.05, however the columns depend on each other.  With n replicates no value is below
    2^(1 - n).

    Parameters
    ----------
    differences
        One row for each replicate; zero where a column has no such replicate.

    >>> p, adjusted = sign_flip_p_values([[1.0, 1.0], [2.0, -2.0], [3.0, 2.0]])
    >>> p.tolist(), adjusted.tolist()
    ([0.25, 1.0], [0.5, 1.0])
    """
    rows = as_rows(differences)
    # Flips do not change the sum of squares, so this is t up to an increasing function.
    size = np.sqrt((rows**2).sum(axis=0))
    scaled = rows / np.where(size > 0.0, size, 1.0)
    # Equal sums in another order differ by rounding, and must count as equal.
    observed = np.abs(scaled.sum(axis=0)) - 1e-9
    flipped = np.abs(np.einsum("fn,nk->fk", _sign_patterns(len(rows)), scaled))
    largest = flipped.max(axis=1, keepdims=True)
    return (flipped >= observed).mean(axis=0), (largest >= observed).mean(axis=0)


@lru_cache(maxsize=16)
def _sign_patterns(n: int) -> Floats:
    """Sign patterns, one per row; the first is all plus, so that the observation counts as one."""
    if n <= EXACT_FLIPS:
        bits = np.arange(2**n)[:, np.newaxis] >> np.arange(n) & 1
    else:
        drawn = np.random.default_rng((SEED, n)).integers(0, 2, size=(RANDOM_FLIPS, n))
        bits = np.concatenate([np.zeros((1, n), dtype=np.int64), drawn])
    signs = (1 - 2 * bits).astype(np.float64)
    signs.flags.writeable = False
    return signs
