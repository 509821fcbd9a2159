"""Sections 1 and 1.1: learners for stochastic losses have no guarantee against an adversary."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from advmdp.claims.claim import Claim, Description, Judgement
from advmdp.claims.finding import Verdict
from advmdp.claims.lab import Lab
from advmdp.claims.playing.regret_grids import RegretGrid, by_pair, play_grids, run_ids
from advmdp.claims.playing.run_grids import SMALL_MDP, UOB_REPS, RunGrid, run_grid, with_delta
from advmdp.claims.statistics.worst_gap import exponent, interval_text, law_series, worst_over_gaps
from advmdp.layout import Floats
from advmdp.reports.figures.panels import Panel, Series
from advmdp.reports.statistics import Interval, mean_band, mean_interval

STOCHASTIC = ("ucbvi-ch", "ucbvi-bf", "q-learning-h", "q-learning-b", "ucrl2")
LEARNERS = (UOB_REPS, *STOCHASTIC)
ADAPTIVE, STEADY, SWITCHING = "adaptive", "steady", "switching"
LOSSES: dict[str, dict[str, Any]] = {
    # What was played in the last episode costs 1 in this one: a repeated policy is punished.
    ADAPTIVE: {"name": "adaptive", "strength": 1.0, "memory": 0.0, "means": "gap", "gap": 0.2},
    STEADY: {"name": "stochastic", "means": "gap", "gap": 0.2},
    SWITCHING: {"name": "switching", "means": "gap", "gap": 0.3},  # ten times in a run
}


class Effort(NamedTuple):
    """How long and how often to play."""

    horizons: tuple[int, ...]
    n_replicates: int


class Measurement(NamedTuple):
    """Regrets over horizons; the grids have one gap."""

    regret: dict[str, dict[str, RegretGrid]]
    """By learner, then by losses."""


def grids(effort: Effort) -> dict[tuple[str, str], RunGrid]:
    """The runs by learner and losses."""
    return {(name, kind): _grid(name, kind, effort) for name in LEARNERS for kind in LOSSES}


def _grid(name: str, kind: str, effort: Effort) -> RunGrid:
    learner = with_delta(name) if name == UOB_REPS else {"name": name}
    points = [
        [{"learner": learner, "mdp": SMALL_MDP, "losses": LOSSES[kind], "n_episodes": n}]
        for n in effort.horizons
    ]
    return run_grid(points, effort.n_replicates)


def measure(lab: Lab, effort: Effort) -> Measurement:
    """Play all of them against all three kinds of losses."""
    return Measurement(by_pair(play_grids(lab, grids(effort))))


def judge(measurement: Measurement) -> Judgement:
    """Compare regrets at the largest T, and exponents; the adaptive losses decide."""
    regret = measurement.regret
    own = regret[UOB_REPS]
    horizons = own[ADAPTIVE].horizons
    growth = {
        name: {kind: _growth(grid, own[kind]) for kind, grid in by_kind.items()}
        for name, by_kind in regret.items()
    }
    learning = [name for name in STOCHASTIC if _learns(growth[name])]
    return Judgement(
        _verdict(growth, learning),
        figures={
            "n_replicates": own[ADAPTIVE].n_replicates,
            "first_horizon": horizons[0],
            "last_horizon": horizons[-1],
            "exponents": ", ".join(
                f"{name} {interval_text(growth[name][ADAPTIVE].slope)}" for name in LEARNERS
            ),
            "adaptive": _range(growth, ADAPTIVE),
            "switching": _range(growth, SWITCHING),
            "learning": ", ".join(learning) or "none at this size",
            "margin": _margin(growth, learning),
        },
        data={
            f"{name}, {kind}": _growth_data(horizons, name, one)
            for name, by_kind in growth.items()
            for kind, one in by_kind.items()
        },
        panels=_panels(horizons, regret),
        runs=run_ids(grid for by_kind in regret.values() for grid in by_kind.values()),
    )


CLAIM = Claim(
    "stochastic-learners",
    Description(
        statement=("Learners for stochastic losses fail against an adversary, UOB-REPS does not"),
        reference="Sections 1 and 1.1",
        checked=(
            "regret of UCBVI, Q-learning and UCRL2 beside that of UOB-REPS on losses that make the "
            "last actions dearer; only learners count whose regret grows more slowly on steady "
            "coin flips. Losses that switch are told, but do not decide: who follows them can lose "
            "less than any fixed policy"
        ),
        instances=(
            "{n_replicates} random MDPs, layers 1,3,3,1, 2 actions, T from {first_horizon:,} to "
            "{last_horizon:,}; adaptive losses (strength 1, gap 0.2); steady coin flips (gap 0.2); "
            "losses with gap 0.3 that switch ten times"
        ),
        measured=(
            "adaptive, exponents of the last decade: {exponents}; regret at T = {last_horizon:,}: "
            "{adaptive}; switching: {switching}"
        ),
        bound=(
            "adaptive: those that learn from steady coin flips ({learning}) all have larger regret "
            "and a larger exponent than UOB-REPS"
        ),
        margin="{margin}",
        error_rate="2.5% for each learner: one end of a 95% interval",
    ),
    quick=Effort((10**3, 10**4, 10**5), 6),
    full=Effort((10**3, 10**4, 10**5, 10**6), 20),
    measure_at=measure,
    judge=judge,
    grids=grids,
)


class _Growth(NamedTuple):
    """The regret of one learner on one kind of losses."""

    means: Floats
    """Over replicates, at each horizon."""
    slope: Interval | None
    """The exponent of the last decade."""
    excess: Interval
    """The regret at the largest T minus that of UOB-REPS on the same instances."""


Growths = dict[str, dict[str, _Growth]]
"""By learner, then by losses."""


def _growth(grid: RegretGrid, own: RegretGrid) -> _Growth:
    values = grid.values
    slope = exponent(grid.horizons[-2:], worst_over_gaps(values).last(2))
    excess = mean_interval((values - own.values)[:, -1, 0])
    return _Growth(values[:, :, 0].mean(axis=0), slope, excess)


def _learns(growth: dict[str, _Growth]) -> bool:
    """Whether the regret grows more slowly on steady coin flips than on adaptive losses."""
    steady, adaptive = growth[STEADY].slope, growth[ADAPTIVE].slope
    return adaptive is not None and (steady is None or steady.high < adaptive.low)


def _verdict(growth: Growths, learning: list[str]) -> Verdict:
    adaptive = {name: by_kind[ADAPTIVE] for name, by_kind in growth.items()}
    if any(adaptive[name].excess.high < 0.0 for name in STOCHASTIC):
        return "fails"
    own = adaptive[UOB_REPS].slope
    if own is None or not learning:
        return "vacuous"
    theirs = [adaptive[name].slope for name in learning]
    steeper = all(slope is not None and slope.low > own.high for slope in theirs)
    worse = all(adaptive[name].excess.low > 0.0 for name in learning)
    return "holds" if steeper and worse else "vacuous"


def _range(growth: Growths, kind: str) -> str:
    """The regrets at the largest T: the others' range, and that of UOB-REPS."""
    theirs = [growth[name][kind].means[-1] for name in STOCHASTIC]
    return (
        f"{min(theirs):,.0f} to {max(theirs):,.0f} against {growth[UOB_REPS][kind].means[-1]:,.0f}"
    )


def _margin(growth: Growths, learning: list[str]) -> str:
    if not learning:
        return "none"
    least = min(growth[name][ADAPTIVE].means[-1] for name in learning)
    times = least / growth[UOB_REPS][ADAPTIVE].means[-1]
    return f"at least {times:.1f} times the regret of UOB-REPS"


def _growth_data(horizons: list[int], name: str, growth: _Growth) -> dict[str, Any]:
    return {
        "T": horizons,
        "mean regret": growth.means.tolist(),
        "exponent of the last decade": growth.slope,
        "more than uob-reps": None if name == UOB_REPS else growth.excess,
    }


def _panels(horizons: list[int], regret: dict[str, dict[str, RegretGrid]]) -> tuple[Panel, ...]:
    def growing(kind: str, title: str) -> Panel:
        worst = {name: worst_over_gaps(regret[name][kind].values) for name in LEARNERS}
        lines = (
            law_series(name, horizons, one, exponent(horizons, one)) for name, one in worst.items()
        )
        series = tuple(one for pair in lines for one in pair)
        return Panel(title, "T (episodes)", "regret", series, x_log=True, y_log=True)

    return (
        growing(ADAPTIVE, "Adaptive losses"),
        growing(STEADY, "Steady coin flips"),
        Panel(
            "Switching losses",
            "T (episodes)",
            "regret / T",
            tuple(
                _per_episode(name, horizons, regret[name][SWITCHING].values) for name in LEARNERS
            ),
            x_log=True,
            note="Against one fixed policy; who follows the switches can lose less than it.",
        ),
    )


def _per_episode(name: str, horizons: list[int], values: Floats) -> Series:
    at = np.array(horizons, dtype=np.float64)
    mean, low, high, n = mean_band(values[:, :, 0] / at)
    return Series(name, name, at, mean, low if n > 1 else None, high if n > 1 else None)
