"""Abstract and Section 1: the same rate as with full information."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from advmdp.claims.claim import Claim, Description, Judgement
from advmdp.claims.finding import Verdict, verdict_of_all
from advmdp.claims.lab import Lab
from advmdp.claims.playing.regret_grids import RegretGrid, play_grids, run_ids
from advmdp.claims.playing.run_grids import (
    DECADES,
    FULL_HORIZONS,
    QUICK_HORIZONS,
    UOB_REPS,
    HorizonEffort,
    RunGrid,
    horizon_grid,
    with_delta,
)
from advmdp.claims.references.regret_bounds import SLOWER_RATE
from advmdp.claims.statistics.worst_gap import (
    WorstGap,
    exponent,
    interval_text,
    law_series,
    worst_over_gaps,
)
from advmdp.reports.figures.panels import Panel, Series
from advmdp.reports.statistics import Interval, stretched

UNKNOWN, KNOWN = "uc-o-reps", "o-reps"
RATE_GAP = SLOWER_RATE - 0.5  # by which a T^{2/3} learner falls behind a T^{1/2} one


class Measurement(NamedTuple):
    """Regrets over horizons and gaps."""

    regret: dict[str, RegretGrid]
    """By learner."""


def grids(effort: HorizonEffort) -> dict[str, RunGrid]:
    """The runs by learner."""
    learners = {
        UOB_REPS: with_delta(UOB_REPS),
        UNKNOWN: with_delta(UNKNOWN),
        KNOWN: {"name": KNOWN},
    }
    return {
        name: horizon_grid(learner, effort.horizons, effort.gaps, effort.n_replicates)
        for name, learner in learners.items()
    }


def measure(lab: Lab, effort: HorizonEffort) -> Measurement:
    """Play UOB-REPS and the two learners that see every loss."""
    return Measurement(play_grids(lab, grids(effort)))


def judge(measurement: Measurement) -> Judgement:
    """Whether the ratio of the largest regrets grows with T over the last decade."""
    regret = measurement.regret
    own_grid, horizons = regret[UOB_REPS], regret[UOB_REPS].horizons
    worst = {name: worst_over_gaps(grid.values) for name, grid in regret.items()}
    ratios = {rival: _ratio(rival, horizons, worst) for rival in (UNKNOWN, KNOWN)}
    slopes = {
        rival: exponent(horizons[-2:], worst[UOB_REPS].last(2), worst[rival].last(2))
        for rival in ratios
    }
    largest = max((slope.high for slope in slopes.values() if slope), default=np.nan)
    return Judgement(
        verdict_of_all([_verdict(slope) for slope in slopes.values()]),
        figures={
            "n_replicates": own_grid.n_replicates,
            "n_gaps": own_grid.n_gaps,
            "first_horizon": horizons[0],
            "last_horizon": horizons[-1],
            "ratios": "; ".join(
                f"{rival}: ratio {ratios[rival].y[0]:.1f} to {ratios[rival].y[-1]:.1f}, "
                f"exponent of the last decade {interval_text(slope)}"
                for rival, slope in slopes.items()
            ),
            "largest": largest,
        },
        data=_data(horizons, ratios, slopes),
        panels=_panels(horizons, worst, tuple(ratios.values())),
        runs=run_ids(regret.values()),
    )


CLAIM = Claim(
    "full-information",
    Description(
        statement=(
            "Bandit feedback costs no more than a factor: the rate is that of full information"
        ),
        reference="Abstract, Section 1",
        checked=(
            "the ratio of UOB-REPS's largest regret over all gaps to that of UC-O-REPS (every loss "
            "seen) and of O-REPS (the transition known too), and the ratio's exponent in T"
        ),
        instances=(
            "{n_replicates} random MDPs, layers 1,3,3,1, 2 actions, {n_gaps} coin-flip losses at "
            "each T from {first_horizon:,} to {last_horizon:,}; the same worlds for all three"
        ),
        measured="{ratios}",
        bound=f"exponent 0 in the limit; {RATE_GAP:.2f} would be that of a T^(2/3) learner",
        margin=f"largest upper end {{largest:.2f}} against {RATE_GAP:.2f}",
        error_rate="2.5% for each of the two: one end of a 95% interval",
    ),
    quick=QUICK_HORIZONS._replace(horizons=DECADES[:3]),  # the ratio still rises at 10^6 too
    full=FULL_HORIZONS,
    measure_at=measure,
    judge=judge,
    grids=grids,
)


def _ratio(rival: str, horizons: list[int], worst: dict[str, WorstGap]) -> Series:
    """The ratio of UOB-REPS's largest regret to the rival's, with intervals."""
    own, other = worst[UOB_REPS], worst[rival]
    ratio = own.mean / other.mean
    low, high = stretched(ratio, own.resampled / other.resampled, own.n)
    at = np.array(horizons, dtype=np.float64)
    return Series(rival, f"UOB-REPS / {rival}", at, ratio, low, high)


def _verdict(slope: Interval | None) -> Verdict:
    if slope is None:
        return "vacuous"
    if slope.low > RATE_GAP:
        return "fails"
    return "holds" if slope.high < RATE_GAP else "vacuous"


def _data(
    horizons: list[int], ratios: dict[str, Series], slopes: dict[str, Interval | None]
) -> dict[str, Any]:
    by_rival = {
        rival: {"ratio": ratio.y.tolist(), "exponent of the last decade": slopes[rival]}
        for rival, ratio in ratios.items()
    }
    return {"T": horizons, **by_rival}


def _panels(
    horizons: list[int], worst: dict[str, WorstGap], ratios: tuple[Series, ...]
) -> tuple[Panel, ...]:
    lines = [
        series
        for name, one in worst.items()
        for series in law_series(name, horizons, one, exponent(horizons, one))
    ]
    return (
        Panel(
            "Largest regret over all gaps",
            "T (episodes)",
            "regret",
            tuple(lines),
            x_log=True,
            y_log=True,
        ),
        Panel("What bandit feedback costs", "T (episodes)", "ratio of regrets", ratios, x_log=True),
    )
