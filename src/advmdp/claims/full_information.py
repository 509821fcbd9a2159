"""Abstract and Section 1: the same rate as with full information."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from advmdp.claims import designs as shared
from advmdp.claims.designs import (
    FULL,
    Design,
    Effort,
    all_specs,
    figures,
    ids,
    over_horizons,
    with_delta,
)
from advmdp.claims.finding import Finding, Verdict
from advmdp.claims.lab import Lab
from advmdp.claims.regret_over_episodes import SLOWER, SUBJECT
from advmdp.claims.worst import exponent, interval_text, law_series, worst_over_gaps
from advmdp.reports.figures.panels import Panel, Series
from advmdp.reports.statistics import Interval, stretched

if TYPE_CHECKING:
    import polars as pl

UNKNOWN, KNOWN = "uc-o-reps", "o-reps"
QUICK = shared.QUICK._replace(horizons=shared.DECADES[:3])  # the ratio still rises at 10^6 too
RATE_GAP = SLOWER - 0.5  # by which a T^{2/3} learner falls behind a T^{1/2} one


def measure(lab: Lab, effort: Effort | None = None) -> Finding:
    """Play UOB-REPS and the two learners that see every loss."""
    played = designs(effort or (QUICK if lab.quick else FULL))
    runs, _ = lab.play(all_specs(*played.values()))
    return judge(played, runs)


def designs(effort: Effort) -> dict[str, Design]:
    """The runs by learner."""
    learners = {
        SUBJECT: with_delta(SUBJECT),
        UNKNOWN: with_delta(UNKNOWN),
        KNOWN: {"name": KNOWN},
    }
    return {
        name: over_horizons(part, effort.horizons, effort.gaps, effort.n_replicates)
        for name, part in learners.items()
    }


def judge(designs: Mapping[str, Design], runs: pl.DataFrame) -> Finding:
    """How the ratio of the largest regrets moves with T."""
    regret = dict(zip(runs["run"], runs["regret"], strict=True))
    horizons = [spec.n_episodes for spec in designs[SUBJECT][0, :, 0]]
    worst = {name: worst_over_gaps(figures(design, regret)) for name, design in designs.items()}
    own = worst[SUBJECT]
    data: dict[str, Any] = {"T": horizons}
    ratios, verdicts = [], []
    for rival in (UNKNOWN, KNOWN):
        other = worst[rival]
        slope = exponent(horizons[-2:], own.last(2), other.last(2))
        ratio = own.mean / other.mean
        low, high = stretched(ratio, own.resampled / other.resampled, own.n)
        data[rival] = {"ratio": ratio.tolist(), "exponent of the last decade": slope}
        verdicts.append(_verdict(slope))
        at = np.array(horizons, dtype=np.float64)
        ratios.append(Series(rival, f"UOB-REPS / {rival}", at, ratio, low, high))
    lines = [
        s
        for name, one in worst.items()
        for s in law_series(name, horizons, one, exponent(horizons, one))
    ]
    verdict: Verdict = (
        "fails" if "fails" in verdicts else "vacuous" if "vacuous" in verdicts else "holds"
    )
    exponents = {name: data[name]["exponent of the last decade"] for name in (UNKNOWN, KNOWN)}
    largest = max((slope.high for slope in exponents.values() if slope), default=np.nan)
    n, _, n_gaps = designs[SUBJECT].shape
    return Finding(
        claim="Bandit feedback costs no more than a factor: the rate is that of full information",
        reference="Abstract, Section 1",
        checked=(
            "the ratio of UOB-REPS's largest regret over all gaps to that of UC-O-REPS (every loss "
            "seen) and of O-REPS (the transition known too), and the ratio's exponent in T"
        ),
        instances=(
            f"{n} random MDPs, layers 1,3,3,1, 2 actions, {n_gaps} coin-flip losses at each T from "
            f"{horizons[0]:,} to {horizons[-1]:,}; the same worlds for all three"
        ),
        measured="; ".join(
            f"{name}: ratio {data[name]['ratio'][0]:.1f} to {data[name]['ratio'][-1]:.1f}, "
            f"exponent of the last decade {interval_text(slope)}"
            for name, slope in exponents.items()
        ),
        bound=f"exponent 0 in the limit; {RATE_GAP:.2f} would be that of a T^(2/3) learner",
        margin=f"largest upper end {largest:.2f} against {RATE_GAP:.2f}",
        verdict=verdict,
        error_rate="2.5% for each of the two: one end of a 95% interval",
        panels=(
            Panel(
                "Largest regret over all gaps",
                "T (episodes)",
                "regret",
                tuple(lines),
                x_log=True,
                y_log=True,
            ),
            Panel(
                "What bandit feedback costs",
                "T (episodes)",
                "ratio of regrets",
                tuple(ratios),
                x_log=True,
            ),
        ),
        runs=ids(*designs.values()),
        data=data,
    )


def _verdict(slope: Interval | None) -> Verdict:
    if slope is None:
        return "vacuous"
    if slope.low > RATE_GAP:
        return "fails"
    return "holds" if slope.high < RATE_GAP else "vacuous"
