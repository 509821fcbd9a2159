"""Sections 3.1 and 4: an interval for every successor beats one ball for all of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from advmdp.claims.claim import Claim, Description, Judgement
from advmdp.claims.finding import Verdict
from advmdp.claims.lab import Lab
from advmdp.claims.playing.regret_grids import RegretGrid, play_grids, run_ids
from advmdp.claims.playing.run_grids import (
    UOB_REPS,
    RunGrid,
    run_grid,
    specs_of,
    values_on,
    with_delta,
    workload,
)
from advmdp.claims.statistics.worst_gap import (
    WorstGap,
    exponent,
    interval_text,
    law_series,
    worst_over_gaps,
)
from advmdp.experiments.build import build
from advmdp.experiments.spec import RunSpec
from advmdp.play import play
from advmdp.reports.figures.panels import Panel, Series
from advmdp.reports.statistics import Floats, Interval, stretched
from advmdp.steps.occupancy import occupancy_measure
from advmdp.steps.upper_occupancy import upper_occupancy
from advmdp.world.mdp import LayeredMDP

BOX, BALL = UOB_REPS, "uob-reps-l1"
REGRET, LOOSENESS = "regret", "u - q"


class Effort(NamedTuple):
    """How long, how wide, how often; looseness is measured on the first replicates only."""

    n_episodes: int
    widths: tuple[int, ...]
    n_replicates: int
    n_replayed: int


class Measurement(NamedTuple):
    """Regret and looseness over sizes, by set."""

    regret: dict[str, RegretGrid]
    looseness: dict[str, list[list[list[float]]]]
    """The sum over episodes and pairs of u_t - q_t, for the first replicates."""


def grids(effort: Effort) -> dict[str, RunGrid]:
    """The runs by set."""
    return {
        name: run_grid(
            [[_parts(name, width, effort)] for width in effort.widths], effort.n_replicates
        )
        for name in (BOX, BALL)
    }


def _parts(name: str, width: int, effort: Effort) -> dict[str, Any]:
    return {
        "learner": with_delta(name),
        "mdp": {"name": "random", "layer_sizes": [1, width, width, 1], "n_actions": 2},
        "losses": {"name": "stochastic", "means": "gap", "gap": 0.2},
        "n_episodes": effort.n_episodes,
    }


def measure(lab: Lab, effort: Effort) -> Measurement:
    """Play both, and replay some of the runs to measure their sets on the way."""
    of_set = grids(effort)
    regret = play_grids(lab, of_set)
    replayed = {name: grid[: effort.n_replayed] for name, grid in of_set.items()}
    specs = sorted(specs_of(*replayed.values()), key=workload, reverse=True)
    lab.say(f"tighter-set: playing {len(specs)} runs again, to look at their sets")
    sums = dict(zip((spec.id for spec in specs), lab.map(looseness_of, specs), strict=True))
    looseness = {name: values_on(grid, sums).tolist() for name, grid in replayed.items()}
    return Measurement(regret, looseness)


def looseness_of(spec: RunSpec) -> float:
    """The sum over episodes and pairs of u_t - q_t, by the trapezium rule over checkpoints.

    The run is played again, to the same numbers, and its sets are measured at every checkpoint.
    """
    mdp, losses, learner, seed, points = build(spec)
    wanted = set(points.tolist())
    seen: list[tuple[int, float]] = []

    def keep(episodes: int, _: Any) -> None:
        if episodes in wanted:
            seen.append((episodes, excess(mdp, learner)))

    play(mdp, losses, learner, spec.n_episodes, seed, checkpoints=points, keep=keep)
    at, values = np.array(seen).T
    return float(np.trapezoid(values, at))


def excess(mdp: LayeredMDP, learner: Any) -> float:
    """The sum over pairs of u_t - q_t for the coming episode."""
    policy = learner.policy()
    bounds = upper_occupancy(policy, learner.confidence_set())
    truth = occupancy_measure(mdp.transitions, policy, mdp.layout)
    return sum(float((u - q.sum(axis=2)).sum()) for u, q in zip(bounds, truth, strict=True))


def judge(measurement: Measurement) -> Judgement:
    """Whether regret and looseness are larger with the ball, and more so with more states."""
    box_grid = measurement.regret[BOX]
    sizes = [layout.n_states for layout in box_grid.layouts]
    regret = {name: worst_over_gaps(grid.values) for name, grid in measurement.regret.items()}
    loose = {name: worst_over_gaps(np.array(v)) for name, v in measurement.looseness.items()}
    compared = {
        REGRET: _compare(REGRET, sizes, regret),
        LOOSENESS: _compare(LOOSENESS, sizes, loose),
    }
    of_regret, of_loose = compared[REGRET], compared[LOOSENESS]
    return Judgement(
        _verdict(of_regret, of_loose),
        figures={
            "n_replicates": box_grid.n_replicates,
            "sizes": ", ".join(map(str, sizes)),
            "n_episodes": box_grid.horizons[0],
            "n_replayed": len(measurement.looseness[BOX]),
            "largest_size": sizes[-1],
            "regret_ratio": of_regret.ratio.y[-1],
            "loose_ratio": of_loose.ratio.y[-1],
            "regret_slope": interval_text(of_regret.slope),
            "loose_slope": interval_text(of_loose.slope),
            "margin": float(of_loose.ratio.y[-1] - 1.0),
        },
        data={"|X|": sizes, **{name: one.data() for name, one in compared.items()}},
        panels=(
            _panel("Sum of u_t - q_t", "sum over episodes and pairs", sizes, loose),
            _panel("Regret", "regret", sizes, regret),
            Panel(
                "L1 set relative to the box set",
                "|X|",
                "ratio",
                (of_regret.ratio, of_loose.ratio),
                x_log=True,
            ),
        ),
        runs=run_ids(measurement.regret.values()),
    )


CLAIM = Claim(
    "tighter-set",
    Description(
        statement="The tighter confidence set matters, the more the more states there are",
        reference="Section 3.1; end of Section 4",
        checked=(
            "regret and sum of u_t - q_t with the box set (UOB-REPS) and with the L1 set "
            "(uob-reps-l1), all else equal, as |X| grows"
        ),
        instances=(
            "{n_replicates} random MDPs, layers 1,n,n,1, |X| = {sizes}, 2 actions, gap 0.2, T = "
            "{n_episodes:,}; u - q on {n_replayed} of them, played again"
        ),
        measured=(
            "L1 / box at |X| = {largest_size}: regret {regret_ratio:.2f}, u - q {loose_ratio:.2f}; "
            "exponents of the ratios in |X|: {regret_slope} and {loose_slope}"
        ),
        bound="ratio of the bounds: |X|, exponent 1",
        margin="ratio of u - q {margin:+.0%} from 1 at the largest size",
        error_rate="2.5% for each of the four: one end of a 95% interval",
    ),
    quick=Effort(100_000, (4, 8, 16), 4, 3),
    full=Effort(300_000, (4, 8, 16, 32), 8, 4),
    measure_at=measure,
    judge=judge,
    grids=grids,
)


class _Ratio(NamedTuple):
    """The L1 set relative to the box set."""

    means: dict[str, Floats]
    """By set."""
    slope: Interval | None
    """The exponent of the ratio in |X|."""
    ratio: Series

    def data(self) -> dict[str, Any]:
        return {
            **{name: mean.tolist() for name, mean in self.means.items()},
            "ratio": self.ratio.y.tolist(),
            "exponent of the ratio": self.slope,
        }


def _compare(quantity: str, sizes: list[int], by_set: dict[str, WorstGap]) -> _Ratio:
    box, ball = by_set[BOX], by_set[BALL]
    ratio: Floats = ball.mean / box.mean
    low, high = stretched(ratio, ball.resampled / box.resampled, box.n)
    series = Series(quantity, quantity, np.array(sizes, dtype=np.float64), ratio, low, high)
    means = {name: one.mean for name, one in by_set.items()}
    return _Ratio(means, exponent(sizes, ball, box), series)


def _verdict(regret: _Ratio, loose: _Ratio) -> Verdict:
    """Both must be larger with the ball at the largest size, and their ratios must grow."""
    ends = [(one.ratio.low, one.ratio.high) for one in (regret, loose)]
    if any(high is not None and high[-1] < 1.0 for _, high in ends):
        return "fails"
    larger = all(low is not None and low[-1] > 1.0 for low, _ in ends)
    grows = all(one.slope is not None and one.slope.low > 0.0 for one in (regret, loose))
    return "holds" if grows and larger else "vacuous"


def _panel(title: str, y_label: str, sizes: list[int], by_set: dict[str, WorstGap]) -> Panel:
    lines = (law_series(name, sizes, one, exponent(sizes, one)) for name, one in by_set.items())
    series = tuple(one for pair in lines for one in pair)
    return Panel(title, "|X|", y_label, series, x_log=True, y_log=True)
