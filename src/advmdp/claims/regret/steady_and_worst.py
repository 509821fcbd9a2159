"""Regret on coin flips with one gap, and at the worst gap for each T: both worlds of a learner.

Shared by the claims about learners that are good in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from advmdp.claims.claim import Judgement
from advmdp.claims.finding import Verdict, verdict_of_all
from advmdp.claims.lab import Lab
from advmdp.claims.playing.regret_grids import RegretGrid, by_pair, play_grids, run_ids
from advmdp.claims.playing.run_grids import SMALL_MDP, Gaps, RunGrid, horizon_grid, run_grid
from advmdp.claims.references.regret_bounds import SLOWER_RATE
from advmdp.claims.statistics.worst_gap import exponent, interval_text, law_series, worst_over_gaps
from advmdp.layout import Floats
from advmdp.learners.presets import PRACTICAL
from advmdp.reports.figures.panels import Panel, Series
from advmdp.reports.statistics import Interval

STEADY, WORST = "steady", "worst"
GAP = 0.2
LOGARITHMIC = 0.25
"""An exponent of the last decade below this counts as logarithmic: sqrt(T) has 1/2, and b ln T has
0.10, 0.08 and 0.07 at T = 10^5, 10^6 and 10^7; more if learning takes its time, b ln(T / t_0)."""
Learners = Mapping[str, dict[str, Any]]
"""The learner parts of specs by the names of the learners; the last is the one to compare with."""


class Effort(NamedTuple):
    """How long and how often to play."""

    steady_horizons: tuple[int, ...]
    worst_horizons: tuple[int, ...]
    gaps: Gaps
    """Of the worst case."""
    n_replicates: int


class Measurement(NamedTuple):
    """Regrets over horizons; with steady losses the grids have one gap."""

    regret: dict[str, dict[str, RegretGrid]]
    """By learner, the one to compare with last, then by losses."""


def with_preset(*names: str) -> dict[str, dict[str, Any]]:
    """Learners with their presets: theory's barriers keep play uniform for millions of episodes."""
    return {name: {"name": name, **PRACTICAL[name]} for name in names}


def grids_of(learners: Learners, effort: Effort) -> dict[tuple[str, str], RunGrid]:
    """The runs by learner and losses."""
    coins = {"name": "stochastic", "means": "gap", "gap": GAP}
    found = {}
    for name, learner in learners.items():
        points = [
            [{"learner": learner, "mdp": SMALL_MDP, "losses": coins, "n_episodes": n}]
            for n in effort.steady_horizons
        ]
        found[name, STEADY] = run_grid(points, effort.n_replicates)
        found[name, WORST] = horizon_grid(
            learner, effort.worst_horizons, effort.gaps, effort.n_replicates
        )
    return found


def measure_grids(lab: Lab, grids: Mapping[tuple[str, str], RunGrid]) -> Measurement:
    """Play all learners on coin flips with one gap, and with the worst of many."""
    return Measurement(by_pair(play_grids(lab, grids)))


def judge(measurement: Measurement) -> Judgement:
    """Compare exponents with limits and with the last learner's.

    On coin flips that of the last decade counts, since a logarithm has none; at worst the one over
    all T, since the gap that is worst jumps along the grid.
    """
    regret = measurement.regret
    growth = {
        name: {
            STEADY: _growth(by_kind[STEADY], n_last=2),
            WORST: _growth(by_kind[WORST], n_last=len(by_kind[WORST].horizons)),
        }
        for name, by_kind in regret.items()
    }
    *judged, rival = growth
    return Judgement(
        verdict_of_all([_verdict(growth[name], growth[rival]) for name in judged]),
        figures=_figures(regret, growth),
        data={
            f"{name}, {kind}": {
                "T": regret[name][kind].horizons,
                "largest mean regret": one.means.tolist(),
                "exponent": one.slope,
                "added by a decade over the one before": one.added,
            }
            for name, by_kind in growth.items()
            for kind, one in by_kind.items()
        },
        panels=_panels(regret, growth),
        runs=run_ids(grid for by_kind in regret.values() for grid in by_kind.values()),
    )


class _Growth(NamedTuple):
    """The regret of one learner on one kind of losses."""

    means: Floats
    """The largest over gaps at each horizon."""
    slope: Interval | None
    """The exponent: on coin flips that of the last decade."""
    added: float | None
    """What the last decade adds over what the one before it added: 1 for log T, 3.2 for sqrt(T)."""


Growths = dict[str, dict[str, _Growth]]
"""By learner, then by losses."""


def _growth(grid: RegretGrid, n_last: int) -> _Growth:
    worst = worst_over_gaps(grid.values)
    slope = exponent(grid.horizons[-n_last:], worst.last(n_last))
    steps = np.diff(worst.mean[-3:])
    added = float(steps[1] / steps[0]) if len(steps) == 2 and steps[0] > 0.0 else None
    return _Growth(worst.mean, slope, added)


def _verdict(own: dict[str, _Growth], rival: dict[str, _Growth]) -> Verdict:
    """Fails: steeper than T^{1/4} on coin flips, or than T^{2/3} at worst."""
    steady, worst, other = own[STEADY].slope, own[WORST].slope, rival[STEADY].slope
    if steady is None or worst is None or other is None:
        return "vacuous"
    if steady.low > LOGARITHMIC or worst.low > SLOWER_RATE:
        return "fails"
    logarithmic = steady.high < LOGARITHMIC and steady.high < other.low
    return "holds" if logarithmic and worst.high < SLOWER_RATE else "vacuous"


def _figures(regret: dict[str, dict[str, RegretGrid]], growth: Growths) -> dict[str, Any]:
    *judged, rival = growth
    steady, worst = regret[rival][STEADY], regret[rival][WORST]
    last = {name: float(by_kind[STEADY].means[-1]) for name, by_kind in growth.items()}

    def each(kind: str) -> str:
        return ", ".join(f"{name} {interval_text(growth[name][kind].slope)}" for name in growth)

    return {
        "n_replicates": steady.n_replicates,
        "n_gaps": worst.n_gaps,
        "first_horizon": steady.horizons[0],
        "last_horizon": steady.horizons[-1],
        "worst_horizon": worst.horizons[-1],
        "steady": each(STEADY),
        "worst": each(WORST),
        "regrets": ", ".join(f"{last[name]:,.0f}" for name in growth),
        "added": ", ".join(_ratio_text(growth[name][STEADY].added) for name in growth),
        "times": last[rival] / max(*(last[name] for name in judged), 1e-300),
    }


def _ratio_text(ratio: float | None) -> str:
    return "none" if ratio is None else f"{ratio:.1f}"


def _panels(regret: dict[str, dict[str, RegretGrid]], growth: Growths) -> tuple[Panel, ...]:
    steady: list[Series] = []
    worst: list[Series] = []
    for name, by_kind in regret.items():
        points = by_kind[STEADY].horizons
        dots = law_series(
            name, points, worst_over_gaps(by_kind[STEADY].values), growth[name][STEADY].slope
        )[0]
        line = Series(name, f"{name}, means", dots.x, dots.y)  # a logarithm is no straight line
        steady += [dots, line]
        largest = worst_over_gaps(by_kind[WORST].values)
        worst += law_series(name, by_kind[WORST].horizons, largest, growth[name][WORST].slope)
    return (
        _panel("Coin flips with one gap", steady, "In brackets: exponents of the last decade."),
        _panel(
            "Largest regret over all gaps",
            worst,
            "Lines: least squares in logarithms, with their exponents.",
        ),
    )


def _panel(title: str, series: list[Series], note: str) -> Panel:
    lines = tuple(series)
    return Panel(title, "T (episodes)", "regret", lines, x_log=True, y_log=True, note=note)
