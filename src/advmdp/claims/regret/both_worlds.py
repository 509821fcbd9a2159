"""Best of both worlds: log T where losses are stochastic, sqrt(T) in the worst case."""

from __future__ import annotations

from typing import Any, NamedTuple

from advmdp.claims.claim import Claim, Description, Judgement
from advmdp.claims.finding import Verdict
from advmdp.claims.lab import Lab
from advmdp.claims.playing.regret_grids import RegretGrid, by_pair, play_grids, run_ids
from advmdp.claims.playing.run_grids import SMALL_MDP, Gaps, RunGrid, horizon_grid, run_grid
from advmdp.claims.references.regret_bounds import SLOWER_RATE
from advmdp.claims.statistics.worst_gap import exponent, interval_text, law_series, worst_over_gaps
from advmdp.reports.figures.panels import Panel
from advmdp.reports.statistics import Interval

BOTH, ONE = "tsallis-ftrl", "o-reps-bandit"
LEARNERS: dict[str, dict[str, Any]] = {
    BOTH: {"name": BOTH, "log_barrier": 0.1},  # the theory's barrier keeps play uniform for long
    ONE: {"name": ONE},
}
STEADY, WORST = "steady", "worst"
GAP = 0.2
LOGARITHMIC = 0.25
"""An exponent of the last decade below this counts as logarithmic: a + b ln T has 0.08 at
T = 10^6 for a = 0, more for a < 0, and sqrt(T) has 1/2."""


class Effort(NamedTuple):
    """How long and how often to play."""

    horizons: tuple[int, ...]
    gaps: Gaps
    """Of the worst case."""
    n_replicates: int


class Measurement(NamedTuple):
    """Regrets over horizons; with steady losses the grids have one gap."""

    regret: dict[str, dict[str, RegretGrid]]
    """By learner, then by losses."""


def grids(effort: Effort) -> dict[tuple[str, str], RunGrid]:
    """The runs by learner and losses."""
    found = {}
    for name, learner in LEARNERS.items():
        found[name, STEADY] = _steady_grid(learner, effort)
        found[name, WORST] = horizon_grid(
            learner, effort.horizons, effort.gaps, effort.n_replicates
        )
    return found


def _steady_grid(learner: dict[str, Any], effort: Effort) -> RunGrid:
    losses = {"name": "stochastic", "means": "gap", "gap": GAP}
    points = [
        [{"learner": learner, "mdp": SMALL_MDP, "losses": losses, "n_episodes": n}]
        for n in effort.horizons
    ]
    return run_grid(points, effort.n_replicates)


def measure(lab: Lab, effort: Effort) -> Measurement:
    """Play both learners on coin flips with one gap, and with the worst of many."""
    return Measurement(by_pair(play_grids(lab, grids(effort))))


def judge(measurement: Measurement) -> Judgement:
    """Compare exponents of the last decade."""
    regret = measurement.regret
    horizons = regret[BOTH][STEADY].horizons
    slopes = {
        name: {kind: _last_decade(grid) for kind, grid in by_kind.items()}
        for name, by_kind in regret.items()
    }
    means = {
        name: {kind: worst_over_gaps(grid.values).mean for kind, grid in by_kind.items()}
        for name, by_kind in regret.items()
    }
    return Judgement(
        _verdict(slopes),
        figures={
            "n_replicates": regret[BOTH][STEADY].n_replicates,
            "n_gaps": regret[BOTH][WORST].n_gaps,
            "first_horizon": horizons[0],
            "last_horizon": horizons[-1],
            "steady": interval_text(slopes[BOTH][STEADY]),
            "steady_other": interval_text(slopes[ONE][STEADY]),
            "worst": interval_text(slopes[BOTH][WORST]),
            "regret": means[BOTH][STEADY][-1],
            "regret_other": means[ONE][STEADY][-1],
            "times": means[ONE][STEADY][-1] / max(means[BOTH][STEADY][-1], 1e-300),
        },
        data={
            f"{name}, {kind}": {
                "T": horizons,
                "largest mean regret": means[name][kind].tolist(),
                "exponent of the last decade": slopes[name][kind],
            }
            for name in LEARNERS
            for kind in (STEADY, WORST)
        },
        panels=(
            _panel("Coin flips with one gap", STEADY, regret),
            _panel("Largest regret over all gaps", WORST, regret),
        ),
        runs=run_ids(grid for by_kind in regret.values() for grid in by_kind.values()),
    )


CLAIM = Claim(
    "both-worlds",
    Description(
        statement="Tsallis FTRL has regret of order log T on coin flips, and sqrt(T) at worst",
        reference="Jin, Huang, Luo (2021), Section 3",
        checked=(
            "the exponent in T of the last decade: on coin flips with one gap, where O-REPS grows "
            "like sqrt(T), and of the largest mean regret over a grid of gaps"
        ),
        instances=(
            "{n_replicates} random MDPs, layers 1,3,3,1, 2 actions, known transition, T from "
            "{first_horizon:,} to {last_horizon:,}; coin flips with gap 0.2; {n_gaps} coin-flip "
            "losses with gaps from 1/2 down to 4 T^{{-1/2}}; log_barrier 0.1"
        ),
        measured=(
            "coin flips, exponent {steady} (O-REPS {steady_other}), regret {regret:,.0f} "
            "({regret_other:,.0f}) at T = {last_horizon:,}; worst case, exponent {worst}"
        ),
        bound=(
            "on coin flips below 1/4 and below O-REPS; at worst below 2/3. A regret a + b ln T "
            "has an exponent that falls like 1 / ln T"
        ),
        margin="O-REPS has {times:.1f} times the regret on coin flips at T = {last_horizon:,}",
        error_rate="2.5% for each exponent: one end of a 95% interval",
    ),
    quick=Effort((10**3, 10**4, 10**5), Gaps(4, 1), 6),
    full=Effort((10**4, 10**5, 10**6, 10**7), Gaps(4, 1), 8),
    measure_at=measure,
    judge=judge,
    grids=grids,
)

Slopes = dict[str, dict[str, Interval | None]]


def _last_decade(grid: RegretGrid) -> Interval | None:
    return exponent(grid.horizons[-2:], worst_over_gaps(grid.values).last(2))


def _verdict(slopes: Slopes) -> Verdict:
    """Fails: as steep as sqrt(T) on coin flips, or steeper than T^{2/3} at worst."""
    steady, other, worst = slopes[BOTH][STEADY], slopes[ONE][STEADY], slopes[BOTH][WORST]
    if steady is None or other is None or worst is None:
        return "vacuous"
    if steady.low > LOGARITHMIC or worst.low > SLOWER_RATE:
        return "fails"
    logarithmic = steady.high < LOGARITHMIC and steady.high < other.low
    return "holds" if logarithmic and worst.high < SLOWER_RATE else "vacuous"


def _panel(title: str, kind: str, regret: dict[str, dict[str, RegretGrid]]) -> Panel:
    series = []
    for name, by_kind in regret.items():
        worst = worst_over_gaps(by_kind[kind].values)
        horizons = by_kind[kind].horizons
        series += law_series(name, horizons, worst, exponent(horizons, worst))
    return Panel(title, "T (episodes)", "regret", tuple(series), x_log=True, y_log=True)
