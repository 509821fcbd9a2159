"""Sections 3.1 and 4: an interval for every successor beats one ball for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from advmdp.claims.designs import (
    Design,
    all_specs,
    figures,
    grid_of,
    ids,
    layout_of,
    size_of,
    with_delta,
)
from advmdp.claims.finding import Finding, Verdict
from advmdp.claims.lab import Lab
from advmdp.claims.worst import Worst, exponent, interval_text, law_series, worst_over_gaps
from advmdp.experiments.build import build
from advmdp.experiments.spec import RunSpec
from advmdp.play import play
from advmdp.reports.figures.panels import Panel, Series
from advmdp.reports.statistics import Floats, stretched
from advmdp.steps.occupancy import occupancy_measure
from advmdp.steps.upper_occupancy import upper_occupancy
from advmdp.world.mdp import LayeredMDP

if TYPE_CHECKING:
    import polars as pl

BOX, BALL = "uob-reps", "uob-reps-l1"


class Effort(NamedTuple):
    """How long, how wide, how often; looseness is measured on the first replicates only."""

    n_episodes: int
    widths: tuple[int, ...]
    n_replicates: int
    n_replayed: int


QUICK = Effort(100_000, (4, 8, 16), 4, 3)
FULL = Effort(300_000, (4, 8, 16, 32), 8, 4)


def measure(lab: Lab, effort: Effort | None = None) -> Finding:
    """Play both, and replay some of the runs to look at their sets on the way."""
    effort = effort or (QUICK if lab.quick else FULL)
    played = designs(effort)
    runs, _ = lab.play(all_specs(*played.values()))
    again = all_specs(*(design[: effort.n_replayed] for design in played.values()))
    again.sort(key=size_of, reverse=True)
    lab.say(f"tighter-set: playing {len(again)} runs again, to look at their sets")
    looseness = lab.spread(looseness_of, again)
    return judge(played, runs, {spec.id: one for spec, one in zip(again, looseness, strict=True)})


def designs(effort: Effort) -> dict[str, Design]:
    """The runs by set."""
    return {
        name: grid_of(
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


def looseness_of(spec: RunSpec) -> float:
    """The sum over episodes and pairs of u_t - q_t, by the trapezium rule over checkpoints.

    The run is played again, to the same numbers, with a look at its sets at every checkpoint.
    """
    mdp, losses, learner, seed, points = build(spec)
    wanted = set(points.tolist())
    seen: list[tuple[int, float]] = []

    def look(episodes: int, _: Any) -> None:
        if episodes in wanted:
            seen.append((episodes, excess(mdp, learner)))

    play(mdp, losses, learner, spec.n_episodes, seed, checkpoints=points, keep=look)
    at, values = np.array(seen).T
    return float(np.trapezoid(values, at))


def excess(mdp: LayeredMDP, learner: Any) -> float:
    """The sum over pairs of u_t - q_t for the coming episode."""
    policy = learner.policy()
    bounds = upper_occupancy(policy, learner.confidence_set())
    truth = occupancy_measure(mdp.transitions, policy, mdp.layout)
    return sum(float((u - q.sum(axis=2)).sum()) for u, q in zip(bounds, truth, strict=True))


def judge(
    designs: Mapping[str, Design], runs: pl.DataFrame, looseness: Mapping[str, float]
) -> Finding:
    """How both ratios, of regret and of looseness, move with the number of states."""
    regret = dict(zip(runs["run"], runs["regret"], strict=True))
    sizes = [layout_of(spec.mdp.parameters).n_states for spec in designs[BOX][0, :, 0]]
    n_replayed = sum(spec.id in looseness for spec in designs[BOX][:, 0, 0])
    regrets = {name: worst_over_gaps(figures(one, regret)) for name, one in designs.items()}
    loose = {
        name: worst_over_gaps(figures(one[:n_replayed], looseness)) for name, one in designs.items()
    }
    data: dict[str, Any] = {"|X|": sizes}
    slopes, ratios = {}, {}
    for what, by_name in (("regret", regrets), ("u - q", loose)):
        box, ball = by_name[BOX], by_name[BALL]
        slopes[what] = exponent(sizes, ball, box)
        ratios[what] = _ratio(what, sizes, ball, box)
        data[what] = {
            **{name: one.mean.tolist() for name, one in by_name.items()},
            "ratio": ratios[what].y.tolist(),
            "exponent of the ratio": slopes[what],
        }
    n_episodes = designs[BOX][0, 0, 0].n_episodes
    return Finding(
        claim="The tighter confidence set matters, the more the more states there are",
        reference="Section 3.1; end of Section 4",
        checked=(
            "regret and sum of u_t - q_t with the box set (UOB-REPS) and with the L1 set "
            "(uob-reps-l1), all else equal, as |X| grows"
        ),
        instances=(
            f"{len(designs[BOX])} random MDPs, layers 1,n,n,1, |X| = {', '.join(map(str, sizes))}, "
            f"2 actions, gap 0.2, T = {n_episodes:,}; u - q on {n_replayed} of them, played again"
        ),
        measured=(
            f"L1 / box at |X| = {sizes[-1]}: regret {data['regret']['ratio'][-1]:.2f}, u - q "
            f"{data['u - q']['ratio'][-1]:.2f}; exponents of the ratios in |X|: "
            f"{interval_text(slopes['regret'])} and {interval_text(slopes['u - q'])}"
        ),
        bound="ratio of the bounds: |X|, exponent 1",
        margin=f"ratio of u - q {_margin(ratios['u - q']):+.0%} from 1 at the largest size",
        verdict=_verdict(slopes["regret"], ratios["regret"], slopes["u - q"], ratios["u - q"]),
        error_rate="2.5% for each of the four: one end of a 95% interval",
        panels=(
            Panel(
                "Sum of u_t - q_t",
                "|X|",
                "sum over episodes and pairs",
                _lines(sizes, loose),
                x_log=True,
                y_log=True,
            ),
            Panel("Regret", "|X|", "regret", _lines(sizes, regrets), x_log=True, y_log=True),
            Panel(
                "L1 set relative to the box set", "|X|", "ratio", tuple(ratios.values()), x_log=True
            ),
        ),
        runs=ids(*designs.values()),
        data=data,
    )


def _ratio(what: str, sizes: list[int], ball: Worst, box: Worst) -> Series:
    ratio: Floats = ball.mean / box.mean
    low, high = stretched(ratio, ball.resampled / box.resampled, box.n)
    return Series(what, what, np.array(sizes, dtype=np.float64), ratio, low, high)


def _lines(sizes: list[int], by_name: Mapping[str, Worst]) -> tuple[Series, ...]:
    lines = [law_series(name, sizes, one, exponent(sizes, one)) for name, one in by_name.items()]
    return tuple(series for pair in lines for series in pair)


def _margin(ratio: Series) -> float:
    return float(ratio.y[-1] - 1.0)


def _verdict(slope: Any, ratio: Series, loose_slope: Any, loose_ratio: Series) -> Verdict:
    """Both must be larger with the ball at the largest size, and their ratios must grow."""
    if (
        ratio.low is None
        or loose_ratio.low is None
        or ratio.high is None
        or loose_ratio.high is None
    ):
        return "vacuous"
    if loose_ratio.high[-1] < 1.0 or ratio.high[-1] < 1.0:
        return "fails"
    grows = all(one is not None and one.low > 0.0 for one in (slope, loose_slope))
    larger = ratio.low[-1] > 1.0 and loose_ratio.low[-1] > 1.0
    return "holds" if grows and larger else "vacuous"
