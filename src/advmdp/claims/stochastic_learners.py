"""Sections 1 and 1.1: learners for stochastic losses have no guarantee against an adversary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from advmdp.claims.designs import SMALL, Design, all_specs, figures, grid_of, ids, with_delta
from advmdp.claims.finding import Finding, Verdict
from advmdp.claims.lab import Lab
from advmdp.claims.worst import exponent, interval_text, law_series, worst_over_gaps
from advmdp.reports.panels import Panel, Series
from advmdp.reports.statistics import Interval, mean_band, mean_interval

if TYPE_CHECKING:
    import polars as pl

SUBJECT = "uob-reps"
STOCHASTIC = ("ucbvi-ch", "ucbvi-bf", "q-learning-h", "q-learning-b", "ucrl2")
ADAPTIVE, SWITCHING = "adaptive", "switching"
LOSSES: dict[str, dict[str, Any]] = {
    # What was played in the last episode costs 1/2 more: a deterministic policy is always caught.
    ADAPTIVE: {"name": "adaptive", "strength": 0.5, "memory": 0.0, "means": "gap", "gap": 0.1},
    SWITCHING: {"name": "switching", "means": "gap", "gap": 0.3},  # ten times in a run
}


class Effort(NamedTuple):
    """How long and how often."""

    horizons: tuple[int, ...]
    n_replicates: int


QUICK = Effort((10**3, 10**4, 10**5), 6)
FULL = Effort((10**3, 10**4, 10**5, 10**6), 20)


def measure(lab: Lab, effort: Effort | None = None) -> Finding:
    """Play all of them against both kinds of losses."""
    effort = effort or (QUICK if lab.quick else FULL)
    designs = {
        (name, kind): _design(name, losses, effort)
        for name in (SUBJECT, *STOCHASTIC)
        for kind, losses in LOSSES.items()
    }
    runs, _ = lab.play(all_specs(*designs.values()))
    return judge(designs, runs)


def _design(name: str, losses: dict[str, Any], effort: Effort) -> Design:
    learner = with_delta(name) if name == SUBJECT else {"name": name}
    rows = [
        [{"learner": learner, "mdp": SMALL, "losses": losses, "n_episodes": n}]
        for n in effort.horizons
    ]
    return grid_of(rows, effort.n_replicates)


def judge(designs: Mapping[tuple[str, str], Design], runs: pl.DataFrame) -> Finding:
    """Paired differences at the largest T, and exponents; the adaptive losses decide."""
    regret = dict(zip(runs["run"], runs["regret"], strict=True))
    values = {key: figures(design, regret) for key, design in designs.items()}
    horizons = [spec.n_episodes for spec in designs[SUBJECT, ADAPTIVE][0, :, 0]]
    slopes = {
        name: exponent(horizons, worst_over_gaps(values[name, ADAPTIVE]))
        for name in (SUBJECT, *STOCHASTIC)
    }
    excess = {
        (name, kind): mean_interval((values[name, kind] - values[SUBJECT, kind])[:, -1, 0])
        for name in STOCHASTIC
        for kind in LOSSES
    }
    means = {key: value[:, -1, 0].mean() for key, value in values.items()}
    least, most = (f(means[name, ADAPTIVE] for name in STOCHASTIC) for f in (min, max))
    exponents = ", ".join(f"{name} {interval_text(slope)}" for name, slope in slopes.items())
    n = len(values[SUBJECT, ADAPTIVE])
    worse = {kind: sum(excess[name, kind].low > 0 for name in STOCHASTIC) for kind in LOSSES}
    better = [name for name in STOCHASTIC if excess[name, SWITCHING].high < 0]
    return Finding(
        claim="Learners for stochastic losses fail against an adversary, UOB-REPS does not",
        reference="Sections 1 and 1.1",
        checked=(
            "regret of UCBVI, Q-learning and UCRL2 beside that of UOB-REPS, on losses that make "
            "the last actions dearer and on losses that switch, with the same worlds and random "
            "numbers"
        ),
        instances=(
            f"{n} random MDPs, layers 1,3,3,1, 2 actions, T from {horizons[0]:,} to "
            f"{horizons[-1]:,}; adaptive losses (strength 1/2, gap 0.1); losses with gap 0.3 that "
            "switch ten times"
        ),
        measured=(
            f"adaptive: exponents {exponents}; regret at T = {horizons[-1]:,} from "
            f"{least:,.0f} to {most:,.0f} against {means[SUBJECT, ADAPTIVE]:,.0f}; "
            f"switching: {worse[SWITCHING]} of {len(STOCHASTIC)} worse than UOB-REPS"
            + (f", better: {', '.join(better)}" if better else "")
        ),
        bound="on adaptive losses: all worse than UOB-REPS, and with larger exponents",
        margin=f"at least {least / means[SUBJECT, ADAPTIVE]:.1f} times its regret (adaptive)",
        verdict=_verdict(slopes, [excess[name, ADAPTIVE] for name in STOCHASTIC]),
        error_rate="2.5% for each learner: one end of a 95% interval",
        panels=(
            Panel(
                "Adaptive losses",
                "T (episodes)",
                "regret",
                tuple(
                    s
                    for name, slope in slopes.items()
                    for s in law_series(
                        name, horizons, worst_over_gaps(values[name, ADAPTIVE]), slope
                    )
                ),
                x_log=True,
                y_log=True,
            ),
            Panel(
                "Switching losses",
                "T (episodes)",
                "regret / T",
                tuple(_per_episode(name, horizons, values[name, SWITCHING]) for name in slopes),
                x_log=True,
                note="Against one fixed policy; who follows the switches can lose less than it.",
            ),
        ),
        runs=ids(*designs.values()),
        data={
            f"{name}, {kind}": {
                "T": horizons,
                "mean regret": value[:, :, 0].mean(axis=0).tolist(),
                "exponent": slopes[name] if kind == ADAPTIVE else None,
                "more than uob-reps": excess.get((name, kind)),
            }
            for (name, kind), value in values.items()
        },
    )


def _per_episode(name: str, horizons: list[int], values: Any) -> Series:
    at = np.array(horizons, dtype=np.float64)
    mean, low, high, n = mean_band(values[:, :, 0] / at)
    return Series(name, name, at, mean, low if n > 1 else None, high if n > 1 else None)


def _verdict(slopes: Mapping[str, Interval | None], excess: list[Interval]) -> Verdict:
    own = slopes[SUBJECT]
    if own is None or any(slopes[name] is None for name in STOCHASTIC):
        return "vacuous"
    if any(one.high < 0.0 for one in excess):
        return "fails"
    steeper = all(
        slope.low > own.high for name, slope in slopes.items() if slope and name != SUBJECT
    )
    return "holds" if steeper and all(one.low > 0.0 for one in excess) else "vacuous"
