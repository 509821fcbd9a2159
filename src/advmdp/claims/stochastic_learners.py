"""Sections 1 and 1.1: learners for stochastic losses have no guarantee against an adversary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from advmdp.claims.designs import SMALL, Design, all_specs, figures, grid_of, ids, with_delta
from advmdp.claims.finding import Finding, Verdict
from advmdp.claims.lab import Lab
from advmdp.claims.worst import exponent, interval_text, law_series, worst_over_gaps
from advmdp.reports.figures.panels import Panel, Series
from advmdp.reports.statistics import Interval, mean_band, mean_interval

if TYPE_CHECKING:
    import polars as pl

SUBJECT = "uob-reps"
STOCHASTIC = ("ucbvi-ch", "ucbvi-bf", "q-learning-h", "q-learning-b", "ucrl2")
NAMES = (SUBJECT, *STOCHASTIC)
ADAPTIVE, STEADY, SWITCHING = "adaptive", "steady", "switching"
LOSSES: dict[str, dict[str, Any]] = {
    # What was played in the last episode costs 1 in this one: who repeats himself is caught.
    ADAPTIVE: {"name": "adaptive", "strength": 1.0, "memory": 0.0, "means": "gap", "gap": 0.2},
    STEADY: {"name": "stochastic", "means": "gap", "gap": 0.2},
    SWITCHING: {"name": "switching", "means": "gap", "gap": 0.3},  # ten times in a run
}


class Effort(NamedTuple):
    """How long and how often."""

    horizons: tuple[int, ...]
    n_replicates: int


QUICK = Effort((10**3, 10**4, 10**5), 6)
FULL = Effort((10**3, 10**4, 10**5, 10**6), 20)


def measure(lab: Lab, effort: Effort | None = None) -> Finding:
    """Play all of them against all three kinds of losses."""
    played = designs(effort or (QUICK if lab.quick else FULL))
    runs, _ = lab.play(all_specs(*played.values()))
    return judge(played, runs)


def designs(effort: Effort) -> dict[tuple[str, str], Design]:
    """The runs by learner and losses."""
    return {
        (name, kind): _design(name, losses, effort)
        for name in NAMES
        for kind, losses in LOSSES.items()
    }


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
    worst = {key: worst_over_gaps(value) for key, value in values.items()}
    slopes = {key: exponent(horizons[-2:], one.last(2)) for key, one in worst.items()}
    excess = {
        (name, kind): mean_interval((values[name, kind] - values[SUBJECT, kind])[:, -1, 0])
        for name in STOCHASTIC
        for kind in LOSSES
    }
    judged = [name for name in STOCHASTIC if _learns(slopes[name, STEADY], slopes[name, ADAPTIVE])]
    means = {key: float(one.mean[-1]) for key, one in worst.items()}
    return Finding(
        claim="Learners for stochastic losses fail against an adversary, UOB-REPS does not",
        reference="Sections 1 and 1.1",
        checked=(
            "regret of UCBVI, Q-learning and UCRL2 beside that of UOB-REPS on losses that make the "
            "last actions dearer; only learners count whose regret grows more slowly on steady "
            "coin flips. Losses that switch are told, but do not decide: who follows them can lose "
            "less than any fixed policy"
        ),
        instances=(
            f"{len(values[SUBJECT, ADAPTIVE])} random MDPs, layers 1,3,3,1, 2 actions, T from "
            f"{horizons[0]:,} to {horizons[-1]:,}; adaptive losses (strength 1, gap 0.2); steady "
            "coin flips (gap 0.2); losses with gap 0.3 that switch ten times"
        ),
        measured=(
            "adaptive, exponents of the last decade: "
            + ", ".join(f"{name} {interval_text(slopes[name, ADAPTIVE])}" for name in NAMES)
            + f"; regret at T = {horizons[-1]:,}: {_range(means, ADAPTIVE)}"
            + f"; switching: {_range(means, SWITCHING)}"
        ),
        bound=(
            "adaptive: those that learn from steady coin flips "
            f"({', '.join(judged) or 'none at this size'}) all have larger regret and a larger "
            "exponent than UOB-REPS"
        ),
        margin=_margin(means, judged),
        verdict=_verdict(slopes, excess, judged),
        error_rate="2.5% for each learner: one end of a 95% interval",
        panels=(
            *(
                Panel(
                    title,
                    "T (episodes)",
                    "regret",
                    tuple(
                        series
                        for name in NAMES
                        for series in law_series(
                            name, horizons, worst[name, kind], exponent(horizons, worst[name, kind])
                        )
                    ),
                    x_log=True,
                    y_log=True,
                )
                for kind, title in ((ADAPTIVE, "Adaptive losses"), (STEADY, "Steady coin flips"))
            ),
            Panel(
                "Switching losses",
                "T (episodes)",
                "regret / T",
                tuple(_per_episode(name, horizons, values[name, SWITCHING]) for name in NAMES),
                x_log=True,
                note="Against one fixed policy; who follows the switches can lose less than it.",
            ),
        ),
        runs=ids(*designs.values()),
        data={
            f"{name}, {kind}": {
                "T": horizons,
                "mean regret": value[:, :, 0].mean(axis=0).tolist(),
                "exponent of the last decade": slopes[name, kind],
                "more than uob-reps": excess.get((name, kind)),
            }
            for (name, kind), value in values.items()
        },
    )


def _learns(steady: Interval | None, adaptive: Interval | None) -> bool:
    return adaptive is not None and (steady is None or steady.high < adaptive.low)


def _range(means: Mapping[tuple[str, str], float], kind: str) -> str:
    theirs = [means[name, kind] for name in STOCHASTIC]
    return f"{min(theirs):,.0f} to {max(theirs):,.0f} against {means[SUBJECT, kind]:,.0f}"


def _margin(means: Mapping[tuple[str, str], float], judged: list[str]) -> str:
    if not judged:
        return "none"
    least = min(means[name, ADAPTIVE] for name in judged)
    return f"at least {least / means[SUBJECT, ADAPTIVE]:.1f} times the regret of UOB-REPS"


def _per_episode(name: str, horizons: list[int], values: Any) -> Series:
    at = np.array(horizons, dtype=np.float64)
    mean, low, high, n = mean_band(values[:, :, 0] / at)
    return Series(name, name, at, mean, low if n > 1 else None, high if n > 1 else None)


def _verdict(
    slopes: Mapping[tuple[str, str], Interval | None],
    excess: Mapping[tuple[str, str], Interval],
    judged: list[str],
) -> Verdict:
    own = slopes[SUBJECT, ADAPTIVE]
    if any(excess[name, ADAPTIVE].high < 0.0 for name in STOCHASTIC):
        return "fails"
    if own is None or not judged:
        return "vacuous"
    theirs = [slopes[name, ADAPTIVE] for name in judged]
    steeper = all(slope is not None and slope.low > own.high for slope in theirs)
    worse = all(excess[name, ADAPTIVE].low > 0.0 for name in judged)
    return "holds" if steeper and worse else "vacuous"
