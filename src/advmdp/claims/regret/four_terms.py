"""Section 4: the regret is ERROR + BIAS1 + REG + BIAS2, and every term has its lemma."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from advmdp.claims.claim import Claim, Description, Judgement
from advmdp.claims.finding import Verdict
from advmdp.claims.lab import Lab
from advmdp.claims.playing.run_grids import (
    DELTA,
    FULL_HORIZONS,
    QUICK_HORIZONS,
    UOB_REPS,
    HorizonEffort,
    RunGrid,
    horizon_grid,
    specs_of,
    values_on,
    with_delta,
)
from advmdp.claims.references.regret_bounds import slope_of
from advmdp.claims.regret.term_bounds import (
    BOUNDS,
    FAILURE,
    LEAST_CHANCE,
    TermComparison,
    compare_term,
)
from advmdp.claims.statistics.worst_gap import interval_text
from advmdp.layout import Floats
from advmdp.reports.figures.panels import TERM_NAMES, TOTAL, Panel, Series

if TYPE_CHECKING:
    import polars as pl

SUM_TOLERANCE = 1e-9  # of the sum of the terms' sizes


class Measurement(NamedTuple):
    """The regret and its terms at the end of every run, replicates x horizons x gaps."""

    horizons: list[int]
    finals: dict[str, list[list[list[float]]]]
    """By name: ``regret`` and the four terms."""
    residual: float
    """Largest |sum of the terms - regret| over all checkpoints, relative to the terms' sizes."""
    runs: list[str]


def grids(effort: HorizonEffort) -> dict[str, RunGrid]:
    """The runs of UOB-REPS for the theorem."""
    learner = with_delta(UOB_REPS)
    return {UOB_REPS: horizon_grid(learner, effort.horizons, effort.gaps, effort.n_replicates)}


def measure(lab: Lab, effort: HorizonEffort) -> Measurement:
    """Read the terms of the theorem's runs."""
    grid = grids(effort)[UOB_REPS]
    return measured_terms(grid, *lab.play(specs_of(grid)))


def measured_terms(grid: RunGrid, runs: pl.DataFrame, curves: pl.DataFrame) -> Measurement:
    """The final values of every run, and the largest residual of its curve."""
    ends = final_rows(runs, curves)
    finals = {
        name: values_on(grid, dict(zip(ends["run"], ends[name], strict=True))).tolist()
        for name in (TOTAL, *BOUNDS)
    }
    horizons = [spec.n_episodes for spec in grid[0, :, 0]]
    return Measurement(horizons, finals, _residual(curves), [spec.id for spec in specs_of(grid)])


def final_rows(runs: pl.DataFrame, curves: pl.DataFrame) -> pl.DataFrame:
    """The last row of the curve of every run, whatever the order of the rows in either frame.

    The condition is evaluated on the joined frame: a join promises no order of rows.
    """
    import polars as pl

    joined = curves.join(runs.select("run", "n_episodes"), on="run", how="inner")
    return joined.filter(pl.col("episodes") == pl.col("n_episodes"))


def judge(measurement: Measurement) -> Judgement:
    """The terms add up, and none is above its lemma or grows faster than it."""
    horizons, residual = measurement.horizons, measurement.residual
    finals = {name: np.array(values) for name, values in measurement.finals.items()}
    terms = {TERM_NAMES[term]: compare_term(term, horizons, finals[term]) for term in BOUNDS}
    n_replicates, _, n_gaps = finals[TOTAL].shape
    return Judgement(
        _overall(residual, [term.verdict for term in terms.values()]),
        figures={
            "n_replicates": n_replicates,
            "n_gaps": n_gaps,
            "first_horizon": horizons[0],
            "last_horizon": horizons[-1],
            "residual": residual,
            "shares": ", ".join(
                f"{name} {term.largest[-1]:,.0f} of {term.limits[-1]:,.0f} ({term.shares[-1]:.0%})"
                for name, term in terms.items()
            ),
            "exponents": ", ".join(
                f"{name} {interval_text(term.slope)}" for name, term in terms.items()
            ),
            "bound_slope": slope_of(horizons[-2:], terms["ERROR"].limits[-2:]),
            "largest_share": max(float(term.shares.max()) for term in terms.values()),
        },
        data={
            "T": horizons,
            "residual": residual,
            **{name: term.data() for name, term in terms.items()},
        },
        panels=(_share_panel(horizons, terms), _sum_panel(horizons, finals)),
        runs=tuple(measurement.runs),
    )


CLAIM = Claim(
    "four-terms",
    Description(
        statement="The regret is the sum of four terms, each below its lemma",
        reference="Section 4, Lemmas 5, 6, 12 and 14",
        checked=(
            "that the terms add up at every checkpoint; the largest mean of each term over the "
            "gaps against its lemma: with the proof's constants for REG and BIAS2, with constant 1 "
            "for ERROR and BIAS1, whose growth over the last decade is judged instead"
        ),
        instances=(
            "the runs of UOB-REPS for Theorem 3: {n_replicates} random MDPs, layers 1,3,3,1, "
            "2 actions, {n_gaps} coin-flip losses at each T from {first_horizon:,} to "
            f"{{last_horizon:,}}, delta = {DELTA}"
        ),
        measured=(
            "largest residual {residual:.1e}; at T = {last_horizon:,}: {shares}; exponents of the "
            "last decade: {exponents}"
        ),
        bound=(
            f"residual {SUM_TOLERANCE:.0e}; "
            "the lemmas at T = {last_horizon:,}, whose order has exponent {bound_slope:.2f} over "
            "the last decade"
        ),
        margin="largest share of a lemma's bound {largest_share:.0%}",
        error_rate=(
            f"sum: none, must hold on every run; terms: {LEAST_CHANCE:.0%} that more runs exceed "
            f"an explicit bound than its failure probability {FAILURE:.0%} explains, 2.5% for an "
            "exponent"
        ),
    ),
    quick=QUICK_HORIZONS,
    full=FULL_HORIZONS,
    measure_at=measure,
    judge=judge,
    grids=grids,
)


def _overall(residual: float, verdicts: list[Verdict]) -> Verdict:
    """Fails if the sum or any term fails; vacuous only if every term is."""
    if residual > SUM_TOLERANCE or "fails" in verdicts:
        return "fails"
    return "holds" if "holds" in verdicts else "vacuous"


def _residual(curves: pl.DataFrame) -> float:
    terms = [curves[term].to_numpy() for term in BOUNDS]
    size = 1.0 + np.sum(np.abs(terms), axis=0)
    return float((np.abs(np.sum(terms, axis=0) - curves["regret"].to_numpy()) / size).max())


def _share_panel(horizons: list[int], terms: dict[str, TermComparison]) -> Panel:
    at = np.array(horizons, dtype=np.float64)
    return Panel(
        "Each term as a share of its lemma's bound",
        "T (episodes)",
        "term / bound",
        tuple(Series(name, name, at, term.shares, dots=False) for name, term in terms.items()),
        x_log=True,
        note="The largest mean over the gaps at each T.",
    )


def _sum_panel(horizons: list[int], finals: dict[str, Floats]) -> Panel:
    """The regret and its terms where the regret is largest."""
    names = {TOTAL: TOTAL, **TERM_NAMES}
    means = {name: finals[name].mean(axis=0) for name in names}
    rows, gaps = np.arange(len(horizons)), means[TOTAL].argmax(axis=1)
    at = np.array(horizons, dtype=np.float64)
    series = (Series(key, key, at, means[name][rows, gaps]) for name, key in names.items())
    return Panel(
        "The four terms at the gap with the largest regret",
        "T (episodes)",
        "regret and its terms",
        tuple(series),
        x_log=True,
        note="Means over replicates. What BIAS1 costs, BIAS2 nearly pays back: both come from "
        "losses that are underestimated.",
    )
