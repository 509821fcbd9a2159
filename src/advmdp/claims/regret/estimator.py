"""Section 3.3: dividing by an upper occupancy bound, and not by the learner's own occupancy.

The family is built to hurt the estimator l / q^_t.  Two routers stand between source and sink; the
link to one fails now and then and the packet reaches the other one, with a small probability p.
One router is the better one, but in the first eighth of the run it is the worse one.  By then its
own occupancy q^_t is next to zero: no policy goes there, and a plausible transition has p = 0.
Yet packets still get there with probability p, and each visit counts as a loss of l / q^_t.
However cheap the router becomes, it looks expensive for ever: E_t[l^_t] = l p / q^_t.  With u_t in
the denominator p is part of the bound, and the learner returns.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from advmdp.claims.claim import Claim, Description, Judgement
from advmdp.claims.finding import Verdict
from advmdp.claims.lab import Lab
from advmdp.claims.playing.regret_grids import RegretGrid, play_grids, run_ids
from advmdp.claims.playing.run_grids import (
    DELTA,
    UOB_REPS,
    RunGrid,
    gap_grid,
    run_grid,
    with_delta,
)
from advmdp.claims.statistics.worst_gap import (
    WorstGap,
    exponent,
    interval_text,
    law_series,
    worst_over_gaps,
)
from advmdp.layout import Layout
from advmdp.learners.tuning import uob_reps_rate
from advmdp.reports.figures.panels import Panel
from advmdp.reports.statistics import Interval

SAME_SET, OWN = "uob-reps-l1", "l / own occupancy"
TUNED, SHIFTED = "bandit-uc-o-reps", "bandit-uc-o-reps-shifted"
ROUTING_MDP = {"name": "routing", "width": 2, "depth": 1, "failure": 0.05}
LAYOUT = Layout(layer_sizes=(1, 2, 1), n_actions=2)
SMALL_FLOOR = 0.005  # of the own occupancy: a tenth of the largest chance of a failure
TURN = {"adverse_parts": 1, "parts": 8}
VISIBLE = 0.1  # difference of exponents


class Effort(NamedTuple):
    """How long and how often to play."""

    horizons: tuple[int, ...]
    n_gaps: int
    n_replicates: int


class Measurement(NamedTuple):
    """Regrets over horizons and gaps."""

    regret: dict[str, RegretGrid]
    """By estimator."""


def grids(effort: Effort) -> dict[str, RunGrid]:
    """The runs by estimator."""
    return {name: _grid(name, effort) for name in (UOB_REPS, SAME_SET, OWN, TUNED, SHIFTED)}


def _grid(name: str, effort: Effort) -> RunGrid:
    points = [
        [
            {
                "learner": _learner(name, n_episodes),
                "mdp": ROUTING_MDP,
                "losses": {"name": "turning", "means": "place", "gap": min(gap, 0.4), **TURN},
                "n_episodes": n_episodes,
            }
            for gap in gap_grid(n_episodes, effort.n_gaps, 1.0)
        ]
        for n_episodes in effort.horizons
    ]
    return run_grid(points, effort.n_replicates)


def _learner(name: str, n_episodes: int) -> dict[str, Any]:
    if name != OWN:
        return with_delta(name)
    eta = uob_reps_rate(LAYOUT, n_episodes, DELTA)
    return with_delta("bandit-uc-o-reps", alpha=SMALL_FLOOR, eta=eta)


def measure(lab: Lab, effort: Effort) -> Measurement:
    """Play both estimators with the same set, the same learning rate, the same random numbers."""
    return Measurement(play_grids(lab, grids(effort)))


def judge(measurement: Measurement) -> Judgement:
    """Whether the exponent with the own occupancy exceeds the one with the upper bound."""
    regret = measurement.regret
    horizons = regret[OWN].horizons
    worst = {name: worst_over_gaps(grid.values) for name, grid in regret.items()}
    slopes = {name: exponent(horizons, one) for name, one in worst.items()}
    difference = exponent(horizons, worst[OWN], worst[SAME_SET])
    return Judgement(
        _verdict(difference),
        figures={
            "n_replicates": regret[OWN].n_replicates,
            "n_gaps": regret[OWN].n_gaps,
            "first_horizon": horizons[0],
            "last_horizon": horizons[-1],
            "own": interval_text(slopes[OWN]),
            "same_set": interval_text(slopes[SAME_SET]),
            "upper": interval_text(slopes[UOB_REPS]),
            "difference": interval_text(difference),
            "times": worst[OWN].mean[-1] / worst[SAME_SET].mean[-1],
            "margin": f"{difference.low - VISIBLE:+.2f} (lower end)" if difference else "none",
        },
        data={
            "T": horizons,
            "difference": difference,
            **{
                name: {"largest regret": one.mean.tolist(), "exponent": slopes[name]}
                for name, one in worst.items()
            },
        },
        panels=(_panel(horizons, worst, slopes),),
        runs=run_ids(regret.values()),
    )


CLAIM = Claim(
    "estimator",
    Description(
        statement="The upper occupancy bound matters: dividing by the own occupancy fails",
        reference="Section 3.3",
        checked=(
            "the exponent in T of the largest regret over all gaps with l / (u_t + gamma) and with "
            "l / q^_t (Bandit UC-O-REPS), both with the L1 set and the same learning rate, on a "
            "family where a router is reached with a small chance whatever the policy, and becomes "
            "the better one after an eighth of the run"
        ),
        instances=(
            f"{{n_replicates}} routing MDPs, 2 routers, failure up to {ROUTING_MDP['failure']}; "
            "losses that turn, {n_gaps} gaps at each T from {first_horizon:,} to {last_horizon:,}"
        ),
        measured=(
            "own occupancy {own}, upper bound {same_set} (box set {upper}); difference "
            "{difference}; regret {times:.0f} times as large at T = {last_horizon:,}"
        ),
        bound=f"a difference of at least {VISIBLE}; the proven rates differ by 1/4",
        margin="{margin}",
        error_rate="2.5%: one end of a 95% interval (bootstrap over replicates)",
    ),
    quick=Effort((10**3, 10**4, 10**5), 5, 6),
    full=Effort((10**3, 3 * 10**3, 10**4, 3 * 10**4, 10**5), 7, 32),
    measure_at=measure,
    judge=judge,
    grids=grids,
)


def _verdict(difference: Interval | None) -> Verdict:
    if difference is None or not np.isfinite(difference.low):
        return "vacuous"
    if difference.low > VISIBLE:
        return "holds"
    return "fails" if difference.high < VISIBLE else "vacuous"


def _panel(
    horizons: list[int], worst: dict[str, WorstGap], slopes: dict[str, Interval | None]
) -> Panel:
    lines = (law_series(name, horizons, one, slopes[name]) for name, one in worst.items())
    return Panel(
        "Largest regret over all gaps",
        "T (episodes)",
        "regret",
        tuple(series for pair in lines for series in pair),
        x_log=True,
        y_log=True,
        note=f"{TUNED} and {SHIFTED} in our reading of their authors: with a floor of 0.1, "
        "and with shifted transitions.",
    )
