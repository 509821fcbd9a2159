"""Section 3.3: implicit exploration keeps the regret of single runs in check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from advmdp.claims.designs import SMALL, Design, all_specs, figures, grid_of, ids, with_delta
from advmdp.claims.finding import Finding, Verdict
from advmdp.claims.lab import Lab
from advmdp.reports.figures.panels import Panel, Series
from advmdp.reports.statistics import Floats, Interval, resampling_weights, stretched

if TYPE_CHECKING:
    import polars as pl

WITH, WITHOUT = "with gamma", "without gamma"
TURNING, STEADY = "losses that turn", "steady coin flips"
LOSSES = {
    TURNING: {"name": "turning", "means": "gap", "gap": 0.4, "seed": 1},
    STEADY: {"name": "stochastic", "means": "gap", "gap": 0.2, "seed": 1},
}
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
UPPER = 0.95


class Effort(NamedTuple):
    """How long and how often."""

    n_episodes: int
    n_seeds: int
    n_steady_seeds: int
    """On the losses for comparison."""


QUICK = Effort(10_000, 200, 50)
FULL = Effort(10_000, 10_000, 1000)


def measure(lab: Lab, effort: Effort | None = None) -> Finding:
    """One MDP, one loss table, many seeds, with and without gamma."""
    played = designs(effort or (QUICK if lab.quick else FULL))
    runs, _ = lab.play(all_specs(*played.values()))
    return judge(played, runs)


def designs(effort: Effort) -> dict[tuple[str, str], Design]:
    """The runs by learner and losses."""
    return {
        (kind, losses): _design(scale, losses, effort)
        for kind, scale in ((WITH, 1.0), (WITHOUT, 0.0))
        for losses in LOSSES
    }


def _design(scale: float, losses: str, effort: Effort) -> Design:
    parts = {
        "learner": with_delta("uob-reps", gamma_scale=scale),
        "mdp": {**SMALL, "seed": 1},
        "losses": LOSSES[losses],
        "n_episodes": effort.n_episodes,
        "checkpoints": 1,
    }
    n_seeds = effort.n_seeds if losses == TURNING else effort.n_steady_seeds
    return grid_of([[parts]], n_seeds)


def judge(designs: Mapping[tuple[str, str], Design], runs: pl.DataFrame) -> Finding:
    """The upper quantiles, with and without; the losses that turn decide."""
    regret = dict(zip(runs["run"], runs["regret"], strict=True))
    sample = {key: figures(design, regret).ravel() for key, design in designs.items()}
    rise = {kind: _difference(sample[WITHOUT, kind], sample[WITH, kind]) for kind in LOSSES}
    spread = {key: float(np.ptp(np.quantile(x, (0.05, UPPER)))) for key, x in sample.items()}
    panels = tuple(
        Panel(
            f"Quantiles of the regret, {losses}",
            "quantile",
            "regret",
            tuple(_curve(kind, sample[kind, losses]) for kind in (WITH, WITHOUT)),
            note="Bands: 95% bootstrap intervals over seeds, pointwise.",
        )
        for losses in LOSSES
    )
    first = next(iter(designs.values()))
    quantiles = {k: float(np.quantile(sample[k, TURNING], UPPER)) for k in (WITH, WITHOUT)}
    times = spread[WITHOUT, TURNING] / spread[WITH, TURNING]
    return Finding(
        claim="Implicit exploration matters: without it single runs can go badly wrong",
        reference="Section 3.3; Lemma 11",
        checked=(
            f"the {UPPER:.0%} quantile of the regret over seeds, with the theorem's gamma and with "
            "gamma = 0, and the distance from the 5% quantile to it"
        ),
        instances=(
            f"one random MDP, layers 1,3,3,1, 2 actions, T = {first[0, 0, 0].n_episodes:,}, "
            f"{len(first)} seeds ({len(designs[WITH, STEADY])} for the comparison); "
            "losses with gap 0.4 that turn after a quarter of the run, and "
            "steady coin flips with gap 0.2 for comparison"
        ),
        measured=(
            f"{UPPER:.0%} quantile {quantiles[WITHOUT]:,.0f} without, {quantiles[WITH]:,.0f} with: "
            f"{_text(rise[TURNING])} more; spread {times:.1f} times as large; on steady coin flips "
            f"{_text(rise[STEADY])} more"
        ),
        bound="more than 0 where the losses turn",
        margin=f"{rise[TURNING].low:,.0f} (lower end)",
        verdict=_verdict(rise[TURNING]),
        error_rate="2.5%: one end of a 95% bootstrap interval over seeds",
        panels=panels,
        runs=ids(*designs.values()),
        data={
            f"{kind}, {losses}": {
                "mean": float(x.mean()),
                "quantiles": dict(
                    zip(map(str, LEVELS), np.quantile(x, LEVELS).tolist(), strict=True)
                ),
                "largest": float(x.max()),
            }
            for (kind, losses), x in sample.items()
        }
        | {f"rise of the {UPPER:.0%} quantile, {kind}": one for kind, one in rise.items()},
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
    estimate = np.quantile(first, UPPER) - np.quantile(second, UPPER)
    resampled = (resampled_quantiles(one, [UPPER])[0] for one in (first, second))
    low, high = stretched(np.array(estimate), np.subtract(*resampled), len(first))
    return Interval(float(estimate), float(low), float(high), len(first))


def _curve(kind: str, values: Floats) -> Series:
    levels = np.array(LEVELS)
    at = np.quantile(values, levels)
    return Series(
        kind, kind, levels, at, *stretched(at, resampled_quantiles(values, levels), len(values))
    )


def _text(one: Interval) -> str:
    return f"{one.estimate:,.0f} [{one.low:,.0f}, {one.high:,.0f}]"


def _verdict(rise: Interval) -> Verdict:
    if rise.low > 0.0:
        return "holds"
    return "fails" if rise.high < 0.0 else "vacuous"
