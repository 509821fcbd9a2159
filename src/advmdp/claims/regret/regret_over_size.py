"""Theorem 3: how the regret of UOB-REPS grows with states, actions and layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from advmdp.claims.claim import Claim, Description, Judgement
from advmdp.claims.finding import Verdict, verdict_of_all
from advmdp.claims.lab import Lab
from advmdp.claims.playing.regret_grids import RegretGrid, by_pair, play_grids, run_ids
from advmdp.claims.playing.run_grids import DELTA, UOB_REPS, Gaps, RunGrid, run_grid, with_delta
from advmdp.claims.references.regret_bounds import (
    LOWER,
    UPPER,
    bound_series,
    lower_bound,
    slope_of,
    upper_bound,
)
from advmdp.claims.statistics.worst_gap import exponent, interval_text, law_series, worst_over_gaps
from advmdp.layout import Layout
from advmdp.reports.figures.panels import Panel
from advmdp.reports.statistics import Interval

KNOWN = "o-reps-bandit"
BOUNDS_RATIO = {"|X|": 0.5, "|A|": 0.0, "L": 0.5}
"""Exponents of L|X| sqrt(|A|T) over sqrt(L|X||A|T), the bound of O-REPS with bandit feedback."""
ROOM = 0.25  # for logarithms and short ranges: the bounds hide the former
SIZE_OF: dict[str, Callable[[Layout], int]] = {
    "|X|": lambda layout: layout.n_states,
    "|A|": lambda layout: layout.n_actions,
    "L": lambda layout: layout.n_layers,
}


class Effort(NamedTuple):
    """How long and how often to play, and how large the MDPs become."""

    n_episodes: int
    gaps: Gaps
    n_replicates: int
    n_for_actions: int
    """Replicates where |A| grows: what a place is worth with two actions differs most by MDP."""
    largest: int
    """The widest layer, and the most actions."""


class Measurement(NamedTuple):
    """Regrets over sizes and gaps."""

    regret: dict[str, dict[str, RegretGrid]]
    """By learner, then by what grows."""


def families(largest: int) -> dict[str, list[dict[str, Any]]]:
    """MDPs by what grows in them; with more layers the number of states stays the same."""
    powers = [2**k for k in range(1, 12) if 2**k <= largest]
    deeper = [[1, 12, 1], [1, 6, 6, 1], [1, 4, 4, 4, 1], [1, 3, 3, 3, 3, 1], [1, *[2] * 6, 1]]
    shapes = {
        "|X|": [([1, n, n, 1], 2) for n in powers],
        "|A|": [([1, 3, 3, 1], n) for n in powers],
        "L": [(sizes, 2) for sizes in deeper],
    }
    return {
        name: [{"name": "random", "layer_sizes": s, "n_actions": a} for s, a in members]
        for name, members in shapes.items()
    }


def grids(effort: Effort) -> dict[tuple[str, str], RunGrid]:
    """The runs by learner and by what grows."""
    learners = {UOB_REPS: with_delta(UOB_REPS), KNOWN: {"name": KNOWN}}
    return {
        (name, axis): _grid(learner, axis, members, effort)
        for name, learner in learners.items()
        for axis, members in families(effort.largest).items()
    }


def _grid(
    learner: dict[str, Any], axis: str, members: list[dict[str, Any]], effort: Effort
) -> RunGrid:
    losses = effort.gaps.losses(effort.n_episodes)
    points = [
        [
            {"learner": learner, "n_episodes": effort.n_episodes, "mdp": mdp, "losses": one}
            for one in losses
        ]
        for mdp in members
    ]
    return run_grid(points, effort.n_for_actions if axis == "|A|" else effort.n_replicates)


def measure(lab: Lab, effort: Effort) -> Measurement:
    """Play UOB-REPS and O-REPS on MDPs that grow in one way at a time."""
    return Measurement(by_pair(play_grids(lab, grids(effort))))


def judge(measurement: Measurement) -> Judgement:
    """Compare the exponents of the ratio to O-REPS with those of the bounds' ratio."""
    regret = measurement.regret
    growths = {
        axis: _growth(axis, regret[UOB_REPS][axis], regret[KNOWN][axis]) for axis in BOUNDS_RATIO
    }
    data = {axis: growth.data for axis, growth in growths.items()}
    of_layers = regret[UOB_REPS]["L"]
    return Judgement(
        verdict_of_all([growth.verdict for growth in growths.values()]),
        figures={
            "n_replicates": of_layers.n_replicates,
            "n_for_actions": regret[UOB_REPS]["|A|"].n_replicates,
            "n_episodes": of_layers.horizons[0],
            "n_gaps": of_layers.n_gaps,
            "ratios": _powers(data, lambda one: one["exponent of the ratio"]),
            "alone": _powers(data, lambda one: one["exponents"][UOB_REPS]),
            "theorem": ", ".join(
                f"{axis}^{one['exponent of the upper bound']:.2f}" for axis, one in data.items()
            ),
            "margins": "; ".join(_margin(axis, growth) for axis, growth in growths.items()),
        },
        data=data,
        panels=tuple(growth.panel for growth in growths.values()),
        runs=run_ids(grid for by_axis in regret.values() for grid in by_axis.values()),
    )


CLAIM = Claim(
    "regret-over-size",
    Description(
        statement=(
            "Not knowing the transition costs no more with |X|, |A| and L than the theorem says"
        ),
        reference="Theorem 3; Section 1.1",
        checked=(
            "as one size grows: the exponent of the largest regret over all gaps, relative to that "
            "of O-REPS on the same worlds, which knows the transition; both grow with the "
            "logarithm of |A| too, which the bounds hide, and in the ratio it cancels"
        ),
        instances=(
            "{n_replicates} random MDPs of each size at T = {n_episodes:,}, {n_gaps} coin-flip "
            "losses each: layers 1,n,n,1; layers 1,3,3,1 with n actions, {n_for_actions} MDPs "
            "each; 14 states in 2 to 7 layers"
        ),
        measured="ratio to O-REPS: {ratios}; UOB-REPS alone: {alone}",
        bound=(
            "ratio of the bounds, without logarithms: "
            + ", ".join(f"{axis}^{power}" for axis, power in BOUNDS_RATIO.items())
            + f", and {ROOM} more for what they hide; the theorem alone: "
            + "{theorem}"
        ),
        margin="{margins}",
        error_rate="2.5% for each of the three: one end of a 95% interval",
    ),
    quick=Effort(20_000, Gaps(3, 1), 4, 12, 16),
    full=Effort(100_000, Gaps(3, 1), 8, 24, 32),
    measure_at=measure,
    judge=judge,
    grids=grids,
)


class _Growth(NamedTuple):
    """How both learners grow along one axis."""

    data: dict[str, Any]
    ratio: Interval | None
    """The exponent of the ratio of their regrets."""
    verdict: Verdict
    panel: Panel


def _growth(axis: str, own_grid: RegretGrid, known_grid: RegretGrid) -> _Growth:
    layouts, horizons = own_grid.layouts, own_grid.horizons
    sizes = [SIZE_OF[axis](layout) for layout in layouts]
    own, known = (worst_over_gaps(grid.values) for grid in (own_grid, known_grid))
    above = [upper_bound(x, n, DELTA) for x, n in zip(layouts, horizons, strict=True)]
    below = [lower_bound(x, n) for x, n in zip(layouts, horizons, strict=True)]
    ratio = exponent(sizes, own, known)
    slopes = {UOB_REPS: exponent(sizes, own), KNOWN: exponent(sizes, known)}
    series = (
        *law_series(UOB_REPS, sizes, own, slopes[UOB_REPS]),
        *law_series(KNOWN, sizes, known, slopes[KNOWN]),
        bound_series(UPPER, sizes, above),
        bound_series(LOWER, sizes, below),
    )
    data = {
        "sizes": sizes,
        "largest regret": {UOB_REPS: own.mean.tolist(), KNOWN: known.mean.tolist()},
        "exponents": slopes,
        "exponent of the ratio": ratio,
        "upper bound": above,
        "exponent of the upper bound": slope_of(sizes, above),
        "exponent of the lower bound": slope_of(sizes, below),
    }
    verdict = "fails" if (own.mean > above).any() else _verdict(ratio, BOUNDS_RATIO[axis])
    panel = Panel(f"Growth with {axis}", axis, "largest regret", series, x_log=True, y_log=True)
    return _Growth(data, ratio, verdict, panel)


def _verdict(ratio: Interval | None, of_bounds: float) -> Verdict:
    """Whether the ratio grows faster than the bounds' ratio by a quarter of a power or more.

    The theorem bounds the regret and not this ratio, so that a little more refutes nothing.
    """
    if ratio is None:
        return "vacuous"
    if ratio.low > of_bounds + ROOM:
        return "fails"
    return "holds" if ratio.high < of_bounds + ROOM else "vacuous"


def _powers(data: dict[str, Any], get: Callable[[Any], Interval | None]) -> str:
    return ", ".join(f"{axis}^{interval_text(get(one))}" for axis, one in data.items())


def _margin(axis: str, growth: _Growth) -> str:
    ratio, verdict = growth.ratio, growth.verdict
    end = "" if ratio is None else f"upper end {ratio.high - BOUNDS_RATIO[axis] - ROOM:+.2f}, "
    return f"{axis}: {end}{verdict}"
