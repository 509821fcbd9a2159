"""Theorem 3: how the regret of UOB-REPS grows with the number of episodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from advmdp.claims.bounds import lower_bound, slope_of, upper_bound
from advmdp.claims.designs import (
    DELTA,
    FULL,
    QUICK,
    SMALL,
    Design,
    Effort,
    all_specs,
    figures,
    ids,
    layout_of,
    over_horizons,
    with_delta,
)
from advmdp.claims.finding import Finding, Verdict
from advmdp.claims.lab import Lab
from advmdp.claims.worst import exponent, interval_text, law_series, worst_over_gaps
from advmdp.reports.figures.panels import Panel, Series
from advmdp.reports.statistics import Interval

if TYPE_CHECKING:
    import polars as pl

SUBJECT = "uob-reps"
RIVALS: dict[str, dict[str, Any]] = {
    "uob-reps-l1": with_delta("uob-reps-l1"),
    "bandit-uc-o-reps": with_delta("bandit-uc-o-reps"),
    "bandit-uc-o-reps-floor": with_delta("bandit-uc-o-reps-floor"),
    "bandit-uc-o-reps-shifted": with_delta("bandit-uc-o-reps-shifted"),
    "exp3-ix": {"name": "exp3-ix"},
    "uniform": {"name": "uniform"},
}
SLOWER = 2.0 / 3.0  # the next slower rate in the literature of the paper
UPPER, LOWER = "upper bound", "lower bound"


def measure(lab: Lab, effort: Effort | None = None) -> Finding:
    """Play UOB-REPS and its rivals over horizons and gaps."""
    played = designs(effort or (QUICK if lab.quick else FULL))
    runs, _ = lab.play(all_specs(*played.values()))
    return judge(played, runs)


def designs(effort: Effort) -> dict[str, Design]:
    """The runs by learner."""
    own = over_horizons(with_delta(SUBJECT), effort.horizons, effort.gaps, effort.n_replicates)
    rivals = {
        name: over_horizons(part, effort.rival_horizons, effort.gaps, effort.n_rivals)
        for name, part in RIVALS.items()
    }
    return {SUBJECT: own, **rivals}


def judge(designs: Mapping[str, Design], runs: pl.DataFrame) -> Finding:
    """Fit the exponents, and hold UOB-REPS against the bound and against slower rates."""
    regret = dict(zip(runs["run"], runs["regret"], strict=True))
    layout = layout_of(SMALL)
    series: list[Series] = []
    data: dict[str, Any] = {}
    for name, design in designs.items():
        horizons = [spec.n_episodes for spec in design[0, :, 0]]
        worst = worst_over_gaps(figures(design, regret))
        slope = exponent(horizons, worst)
        series += law_series(name, horizons, worst, slope)
        gaps = [design[0, k, g].losses.label for k, g in enumerate(worst.gap)]
        data[name] = {
            "T": horizons,
            "largest regret": worst.mean.tolist(),
            "at": gaps,
            "exponent": slope,
            "last decade": exponent(horizons[-2:], worst.last(2)),
        }
    own = data[SUBJECT]
    horizons, largest = own["T"], np.array(own["largest regret"])
    above = [upper_bound(layout, n, DELTA) for n in horizons]
    below = [lower_bound(layout, n) for n in horizons]
    series += [line(UPPER, horizons, above), line(LOWER, horizons, below)]
    share = largest / above
    trivial = layout.n_layers * np.array(horizons) / 2.0  # a learner that errs at every step
    verdict = _verdict(
        own["last decade"], slope_of(horizons[-2:], above[-2:]), share, trivial, above
    )
    return Finding(
        claim="The regret grows like the square root of T",
        reference="Theorem 3",
        checked=(
            "the largest mean regret over a grid of gaps (from 1/2 down to 4 T^{-1/2}, in the "
            "actions and in the places), with parameters set for each T; its exponent in T; its "
            "ratio to the theorem's bound with constant 1"
        ),
        instances=_instances(designs),
        measured=(
            f"exponent {interval_text(own['exponent'])} over all T, "
            f"{interval_text(own['last decade'])} over the last decade; largest regret "
            f"{largest[-1]:,.0f} at T = {horizons[-1]:,}"
        ),
        bound=(
            f"L|X| sqrt(|A| T ln(T|X||A|/delta)) = {above[-1]:,.0f}, exponent "
            f"{slope_of(horizons, above):.2f} over this range; lower bound L sqrt(|X||A|T) = "
            f"{below[-1]:,.0f}"
        ),
        margin=(
            f"{1 / share[-1]:.1f} times below the bound, {largest[-1] / below[-1]:.2f} times the "
            f"lower bound (constants 1)"
        ),
        verdict=verdict,
        error_rate="2.5%: one end of a 95% interval (bootstrap over replicates)",
        panels=(
            Panel(
                "Largest regret over all gaps",
                "T (episodes)",
                "regret",
                tuple(series),
                x_log=True,
                y_log=True,
                note="Dots: the largest mean over the grid of gaps, with 95% intervals; lines: "
                "least squares in logarithms, with their exponents. Bounds with constant 1.",
            ),
        ),
        runs=ids(*designs.values()),
        data=data,
    )


def _verdict(
    last: Interval | None, of_bound: float, share: Any, trivial: Any, above: Any
) -> Verdict:
    """Fails: above the bound, or growing faster than it and no slower than T^{2/3} may.

    Vacuous: the bound is above what any learner loses, or the interval tells nothing apart.
    """
    if trivial[-1] < above[-1]:
        return "vacuous"
    if share[-1] > 1.0 or (last is not None and last.low > max(of_bound, SLOWER)):
        return "fails"
    if last is None or not last.high < SLOWER:
        return "vacuous"
    return "holds"


def _instances(designs: Mapping[str, Design]) -> str:
    n, _, n_gaps = designs[SUBJECT].shape
    horizons = [spec.n_episodes for spec in designs[SUBJECT][0, :, 0]]
    rival = designs[next(iter(RIVALS))]
    return (
        f"{n} random MDPs, layers 1,3,3,1, 2 actions; T from {horizons[0]:,} to {horizons[-1]:,}; "
        f"{n_gaps} coin-flip losses at each T; seeds: replicates 0 to {n - 1} of seed 0; rivals in "
        f"the first {len(rival)} of the MDPs, up to T = {rival[0, -1, 0].n_episodes:,}"
    )


def line(key: str, x: Any, y: Any) -> Series:
    """A plain line, such as a bound."""
    return Series(key, key, np.array(x, dtype=np.float64), np.array(y, dtype=np.float64))
