"""Theorem 3: how the regret of UOB-REPS grows with the number of episodes."""

from __future__ import annotations

from typing import Any, NamedTuple

from advmdp.claims.claim import Claim, Description, Judgement
from advmdp.claims.finding import Verdict
from advmdp.claims.lab import Lab
from advmdp.claims.playing.regret_grids import RegretGrid, play_grids, run_ids
from advmdp.claims.playing.run_grids import (
    DELTA,
    FULL_HORIZONS,
    QUICK_HORIZONS,
    SMALL_MDP,
    UOB_REPS,
    HorizonEffort,
    RunGrid,
    horizon_grid,
    layout_of,
    with_delta,
)
from advmdp.claims.references.regret_bounds import (
    LOWER,
    SLOWER_RATE,
    UPPER,
    bound_series,
    lower_bound,
    slope_of,
    upper_bound,
)
from advmdp.claims.statistics.worst_gap import exponent, interval_text, law_series, worst_over_gaps
from advmdp.layout import Layout
from advmdp.reports.figures.panels import Panel, Series
from advmdp.reports.statistics import Interval

RIVALS: dict[str, dict[str, Any]] = {
    "uob-reps-l1": with_delta("uob-reps-l1"),
    "bandit-uc-o-reps": with_delta("bandit-uc-o-reps"),
    "bandit-uc-o-reps-floor": with_delta("bandit-uc-o-reps-floor"),
    "bandit-uc-o-reps-shifted": with_delta("bandit-uc-o-reps-shifted"),
    "exp3-ix": {"name": "exp3-ix"},
    "uniform": {"name": "uniform"},
}


class Measurement(NamedTuple):
    """Regrets over horizons and gaps."""

    regret: dict[str, RegretGrid]
    """By learner: UOB-REPS first, then its rivals."""


class TheoremBounds(NamedTuple):
    """The bounds of the theorem at each horizon, with constant 1."""

    horizons: list[int]
    upper: list[float]
    lower: list[float]
    trivial: list[float]
    """The loss of a learner that errs at every step."""


def grids(effort: HorizonEffort) -> dict[str, RunGrid]:
    """The runs by learner."""
    own = horizon_grid(with_delta(UOB_REPS), effort.horizons, effort.gaps, effort.n_replicates)
    rivals = {
        name: horizon_grid(learner, effort.rival_horizons, effort.gaps, effort.n_rivals)
        for name, learner in RIVALS.items()
    }
    return {UOB_REPS: own, **rivals}


def measure(lab: Lab, effort: HorizonEffort) -> Measurement:
    """Play UOB-REPS and its rivals over horizons and gaps."""
    return Measurement(play_grids(lab, grids(effort)))


def judge(measurement: Measurement) -> Judgement:
    """Compare the growth of UOB-REPS with the bound and with slower rates."""
    regret = measurement.regret
    series: list[Series] = []
    data: dict[str, Any] = {}
    for name, grid in regret.items():
        data[name], lines = _growth(name, grid)
        series += lines
    own, bounds = data[UOB_REPS], _theorem(layout_of(SMALL_MDP), regret[UOB_REPS].horizons)
    largest, above, below = own["largest regret"][-1], bounds.upper[-1], bounds.lower[-1]
    series += [
        bound_series(UPPER, bounds.horizons, bounds.upper),
        bound_series(LOWER, bounds.horizons, bounds.lower),
    ]
    return Judgement(
        _verdict(own["last decade"], largest, bounds),
        figures={
            **_instance_figures(regret),
            "exponent": interval_text(own["exponent"]),
            "last_decade": interval_text(own["last decade"]),
            "largest": largest,
            "above": above,
            "below": below,
            "bound_slope": slope_of(bounds.horizons, bounds.upper),
            "times_below": 1 / (largest / above),
            "times_lower": largest / below,
        },
        data=data,
        panels=(_panel(series),),
        runs=run_ids(regret.values()),
    )


CLAIM = Claim(
    "regret-over-episodes",
    Description(
        statement="The regret grows like the square root of T",
        reference="Theorem 3",
        checked=(
            "the largest mean regret over a grid of gaps (from 1/2 down to 4 T^{-1/2}, in the "
            "actions and in the places), with parameters set for each T; its exponent in T; its "
            "ratio to the theorem's bound with constant 1"
        ),
        instances=(
            "{n_replicates} random MDPs, layers 1,3,3,1, 2 actions; T from {first_horizon:,} to "
            "{last_horizon:,}; {n_gaps} coin-flip losses at each T; seeds: replicates 0 to "
            "{last_replicate} of seed 0; rivals in the first {n_rivals} of the MDPs, up to T = "
            "{rival_horizon:,}"
        ),
        measured=(
            "exponent {exponent} over all T, {last_decade} over the last decade; largest regret "
            "{largest:,.0f} at T = {last_horizon:,}"
        ),
        bound=(
            "L|X| sqrt(|A| T ln(T|X||A|/delta)) = {above:,.0f}, exponent {bound_slope:.2f} over "
            "this range; lower bound L sqrt(|X||A|T) = {below:,.0f}"
        ),
        margin=(
            "{times_below:.1f} times below the bound, {times_lower:.2f} times the lower bound "
            "(constants 1)"
        ),
        error_rate="2.5%: one end of a 95% interval (bootstrap over replicates)",
    ),
    quick=QUICK_HORIZONS,
    full=FULL_HORIZONS,
    measure_at=measure,
    judge=judge,
    grids=grids,
)


def _growth(name: str, grid: RegretGrid) -> tuple[dict[str, Any], list[Series]]:
    """The figures of one learner, and how they are drawn."""
    worst = worst_over_gaps(grid.values)
    slope = exponent(grid.horizons, worst)
    data = {
        "T": grid.horizons,
        "largest regret": worst.mean.tolist(),
        "at": [losses[gap] for losses, gap in zip(grid.losses, worst.gap, strict=True)],
        "exponent": slope,
        "last decade": exponent(grid.horizons[-2:], worst.last(2)),
    }
    return data, law_series(name, grid.horizons, worst, slope)


def _theorem(layout: Layout, horizons: list[int]) -> TheoremBounds:
    return TheoremBounds(
        horizons,
        upper=[upper_bound(layout, n, DELTA) for n in horizons],
        lower=[lower_bound(layout, n) for n in horizons],
        trivial=[layout.n_layers * n / 2.0 for n in horizons],
    )


def _verdict(last: Interval | None, largest: float, bounds: TheoremBounds) -> Verdict:
    """Fails: above the bound, or growing faster than it and than T^{2/3}.

    Vacuous: the bound is above what any learner loses, or the interval is too wide to decide.
    """
    of_bound = slope_of(bounds.horizons[-2:], bounds.upper[-2:])
    if bounds.trivial[-1] < bounds.upper[-1]:
        return "vacuous"
    if largest > bounds.upper[-1] or (last is not None and last.low > max(of_bound, SLOWER_RATE)):
        return "fails"
    if last is None or not last.high < SLOWER_RATE:
        return "vacuous"
    return "holds"


def _instance_figures(regret: dict[str, RegretGrid]) -> dict[str, Any]:
    own, rival = regret[UOB_REPS], regret[next(iter(RIVALS))]
    return {
        "n_replicates": own.n_replicates,
        "last_replicate": own.n_replicates - 1,
        "first_horizon": own.horizons[0],
        "last_horizon": own.horizons[-1],
        "n_gaps": own.n_gaps,
        "n_rivals": rival.n_replicates,
        "rival_horizon": rival.horizons[-1],
    }


def _panel(series: list[Series]) -> Panel:
    return Panel(
        "Largest regret over all gaps",
        "T (episodes)",
        "regret",
        tuple(series),
        x_log=True,
        y_log=True,
        note="Dots: the largest mean over the grid of gaps, with 95% intervals; lines: "
        "least squares in logarithms, with their exponents. Bounds with constant 1.",
    )
