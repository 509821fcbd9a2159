"""One term of the regret against its lemma.

The proofs give every constant of the bounds on REG and BIAS2, which a run exceeds with probability
5 delta at most.  The bounds on ERROR and BIAS1 are orders: only their growth is compared.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from advmdp.claims.finding import Verdict
from advmdp.claims.playing.run_grids import DELTA, SMALL_MDP, layout_of
from advmdp.claims.references.regret_bounds import (
    SLOWER_RATE,
    bias1_bound,
    bias2_bound,
    reg_bound,
    slope_of,
    upper_bound,
)
from advmdp.claims.statistics.worst_gap import exponent, worst_over_gaps
from advmdp.layout import Floats, Layout
from advmdp.reports.statistics import Interval

BOUNDS: dict[str, Callable[[Layout, int, float], float]] = {
    "error": upper_bound,
    "bias1": bias1_bound,
    "reg": reg_bound,
    "bias2": bias2_bound,
}
EXPLICIT = ("reg", "bias2")
FAILURE = 5 * DELTA
LEAST_CHANCE = 0.01
"""The p-value below which a term fails."""


class TermComparison(NamedTuple):
    """One term against its lemma, at each horizon."""

    largest: Floats
    """The largest mean over the gaps."""
    limits: Floats
    """The bound of the lemma."""
    slope: Interval | None
    """The exponent of the last decade."""
    n_above: int
    """Runs above the bound."""
    chance: float
    """The p-value of so many runs above an explicit bound."""
    verdict: Verdict

    @property
    def shares(self) -> Floats:
        """The largest mean as a share of the bound."""
        shares: Floats = self.largest / self.limits
        return shares

    def data(self) -> dict[str, Any]:
        """The comparison for the JSON file."""
        return {
            "largest mean": self.largest.tolist(),
            "lemma": self.limits.tolist(),
            "last decade": self.slope,
            "runs above": self.n_above,
            "chance": self.chance,
        }


def compare_term(term: str, horizons: list[int], values: Floats) -> TermComparison:
    """Compare the final values of a term, replicates x horizons x gaps, with its lemma."""
    layout = layout_of(SMALL_MDP)
    limits = np.array([BOUNDS[term](layout, n, DELTA) for n in horizons])
    worst = worst_over_gaps(values)
    above = values > limits[:, np.newaxis]
    slope = exponent(horizons[-2:], worst.last(2))
    chance = least_chance(above) if term in EXPLICIT else 1.0
    verdict = _verdict(chance, slope, limits, horizons, layout)
    return TermComparison(worst.mean, limits, slope, int(above.sum()), chance, verdict)


def _verdict(
    chance: float, slope: Interval | None, limits: Floats, horizons: list[int], layout: Layout
) -> Verdict:
    if chance < LEAST_CHANCE:
        return "fails"
    if limits[-1] > layout.n_layers * horizons[-1]:  # no learner can lose more
        return "vacuous"
    of_bound = slope_of(horizons[-2:], limits[-2:])
    if slope is not None and slope.low > max(of_bound, SLOWER_RATE):
        return "fails"
    return "holds"


def least_chance(exceeds: NDArray[np.bool_]) -> float:
    """The binomial p-value of the worst cell (T, gap), times the number of cells (Bonferroni).

    In every cell the replicates are independent, and each exceeds with probability 5 delta at most.
    """
    n = len(exceeds)
    counts = exceeds.sum(axis=0).ravel()
    tail = [
        sum(comb(n, j) * FAILURE**j * (1 - FAILURE) ** (n - j) for j in range(int(count), n + 1))
        for count in counts
    ]
    return min(1.0, min(tail) * len(tail))
