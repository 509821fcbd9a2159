"""Section 3.3: implicit exploration keeps the regret of single runs in check."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from advmdp.claims.claim import Claim, Description, Judgement
from advmdp.claims.finding import Verdict
from advmdp.claims.lab import Lab
from advmdp.claims.playing.regret_grids import RegretGrid, by_pair, play_grids, run_ids
from advmdp.claims.playing.run_grids import SMALL_MDP, UOB_REPS, RunGrid, run_grid, with_delta
from advmdp.reports.figures.panels import Panel, Series
from advmdp.reports.statistics import Floats, Interval, resampling_weights, stretched

WITH, WITHOUT = "with gamma", "without gamma"
GAMMA_SCALES = {WITH: 1.0, WITHOUT: 0.0}
TURNING, STEADY = "losses that turn", "steady coin flips"
LOSSES = {
    TURNING: {"name": "turning", "means": "gap", "gap": 0.4, "seed": 1},
    STEADY: {"name": "stochastic", "means": "gap", "gap": 0.2, "seed": 1},
}
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
UPPER_LEVEL = 0.95
Samples = dict[str, dict[str, Floats]]
"""Regrets over seeds, by learner, then by losses."""


class Effort(NamedTuple):
    """How long and how often to play."""

    n_episodes: int
    n_seeds: int
    n_steady_seeds: int
    """On the losses for comparison."""


class Measurement(NamedTuple):
    """Regrets over seeds; the grids have one point and one gap."""

    regret: dict[str, dict[str, RegretGrid]]
    """By learner, then by losses."""


def grids(effort: Effort) -> dict[tuple[str, str], RunGrid]:
    """The runs by learner and losses."""
    return {
        (kind, losses): _grid(kind, losses, effort) for kind in GAMMA_SCALES for losses in LOSSES
    }


def _grid(kind: str, losses: str, effort: Effort) -> RunGrid:
    parts = {
        "learner": with_delta(UOB_REPS, gamma_scale=GAMMA_SCALES[kind]),
        "mdp": {**SMALL_MDP, "seed": 1},
        "losses": LOSSES[losses],
        "n_episodes": effort.n_episodes,
        "checkpoints": 1,
    }
    return run_grid([[parts]], effort.n_seeds if losses == TURNING else effort.n_steady_seeds)


def measure(lab: Lab, effort: Effort) -> Measurement:
    """One MDP, one loss table, many seeds, with and without gamma."""
    return Measurement(by_pair(play_grids(lab, grids(effort))))


def judge(measurement: Measurement) -> Judgement:
    """Compare the upper quantiles with and without gamma; the losses that turn decide."""
    regret = measurement.regret
    sample = {
        kind: {losses: grid.values.ravel() for losses, grid in by_losses.items()}
        for kind, by_losses in regret.items()
    }
    rise = {one: _difference(sample[WITHOUT][one], sample[WITH][one]) for one in LOSSES}
    first = regret[WITH][TURNING]
    with_gamma, without = (sample[kind][TURNING] for kind in (WITH, WITHOUT))
    return Judgement(
        _verdict(rise[TURNING]),
        figures={
            "n_episodes": first.horizons[0],
            "n_seeds": first.n_replicates,
            "n_steady_seeds": regret[WITH][STEADY].n_replicates,
            "quantile_without": np.quantile(without, UPPER_LEVEL),
            "quantile_with": np.quantile(with_gamma, UPPER_LEVEL),
            "rise": _text(rise[TURNING]),
            "times": _spread(without) / _spread(with_gamma),
            "steady_rise": _text(rise[STEADY]),
            "margin": rise[TURNING].low,
        },
        data={
            f"{kind}, {losses}": _sample_data(values)
            for kind, by_losses in sample.items()
            for losses, values in by_losses.items()
        }
        | {f"rise of the {UPPER_LEVEL:.0%} quantile, {one}": rise[one] for one in LOSSES},
        panels=tuple(_panel(losses, sample) for losses in LOSSES),
        runs=run_ids(grid for by_losses in regret.values() for grid in by_losses.values()),
    )


CLAIM = Claim(
    "exploration-spread",
    Description(
        statement="Implicit exploration matters: without it single runs can go badly wrong",
        reference="Section 3.3; Lemma 11",
        checked=(
            f"the {UPPER_LEVEL:.0%} quantile of the regret over seeds, with the theorem's gamma "
            "and with gamma = 0, and the distance from the 5% quantile to it"
        ),
        instances=(
            "one random MDP, layers 1,3,3,1, 2 actions, T = {n_episodes:,}, {n_seeds} seeds "
            "({n_steady_seeds} for the comparison); losses with gap 0.4 that turn after a quarter "
            "of the run, and steady coin flips with gap 0.2 for comparison"
        ),
        measured=(
            f"{UPPER_LEVEL:.0%} quantile "
            "{quantile_without:,.0f} without, {quantile_with:,.0f} with: {rise} more; spread "
            "{times:.1f} times as large; on steady coin flips {steady_rise} more"
        ),
        bound="more than 0 where the losses turn",
        margin="{margin:,.0f} (lower end)",
        error_rate="2.5%: one end of a 95% bootstrap interval over seeds",
    ),
    quick=Effort(10_000, 200, 50),
    full=Effort(10_000, 10_000, 1000),
    measure_at=measure,
    judge=judge,
    grids=grids,
)


def resampled_quantiles(values: Floats, levels: Any) -> Floats:
    """Quantiles (rows) of the bootstrap resamples (columns).

    >>> resampled_quantiles(np.full(5, 7.0), [0.5]).mean().item()
    7.0
    """
    order = np.argsort(values)
    reached = resampling_weights(len(values))[order].cumsum(axis=0)
    places = [(reached < level - 1e-12).sum(axis=0) for level in levels]
    picked: Floats = values[order][np.minimum(places, len(values) - 1)]
    return picked


def _difference(first: Floats, second: Floats) -> Interval:
    """Of the upper quantiles; seeds are paired, and resampled together."""
    estimate = np.quantile(first, UPPER_LEVEL) - np.quantile(second, UPPER_LEVEL)
    resampled = (resampled_quantiles(one, [UPPER_LEVEL])[0] for one in (first, second))
    low, high = stretched(np.array(estimate), np.subtract(*resampled), len(first))
    return Interval(float(estimate), float(low), float(high), len(first))


def _spread(values: Floats) -> float:
    """The distance from the 5% quantile to the upper one."""
    return float(np.ptp(np.quantile(values, (0.05, UPPER_LEVEL))))


def _verdict(rise: Interval) -> Verdict:
    if rise.low > 0.0:
        return "holds"
    return "fails" if rise.high < 0.0 else "vacuous"


def _sample_data(values: Floats) -> dict[str, Any]:
    quantiles = np.quantile(values, LEVELS).tolist()
    return {
        "mean": float(values.mean()),
        "quantiles": dict(zip(map(str, LEVELS), quantiles, strict=True)),
        "largest": float(values.max()),
    }


def _text(one: Interval) -> str:
    return f"{one.estimate:,.0f} [{one.low:,.0f}, {one.high:,.0f}]"


def _panel(losses: str, sample: Samples) -> Panel:
    return Panel(
        f"Quantiles of the regret, {losses}",
        "quantile",
        "regret",
        tuple(_quantile_curve(kind, sample[kind][losses]) for kind in (WITH, WITHOUT)),
        note="Bands: 95% bootstrap intervals over seeds, pointwise.",
    )


def _quantile_curve(kind: str, values: Floats) -> Series:
    levels = np.array(LEVELS)
    at = np.quantile(values, levels)
    low, high = stretched(at, resampled_quantiles(values, levels), len(values))
    return Series(kind, kind, levels, at, low, high)
