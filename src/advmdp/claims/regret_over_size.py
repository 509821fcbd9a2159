"""Theorem 3: how the regret of UOB-REPS grows with states, actions and layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from advmdp.claims.bounds import lower_bound, slope_of, upper_bound
from advmdp.claims.designs import (
    DELTA,
    Design,
    Gaps,
    all_specs,
    figures,
    grid_of,
    ids,
    layout_of,
    with_delta,
)
from advmdp.claims.finding import Finding, Verdict
from advmdp.claims.lab import Lab
from advmdp.claims.regret_over_episodes import LOWER, SUBJECT, UPPER, line
from advmdp.claims.worst import exponent, interval_text, law_series, worst_over_gaps
from advmdp.layout import Layout
from advmdp.reports.figures.panels import Panel
from advmdp.reports.statistics import Interval

if TYPE_CHECKING:
    import polars as pl


class Effort(NamedTuple):
    """How long and how often."""

    n_episodes: int
    gaps: Gaps
    n_replicates: int
    n_for_actions: int
    """Replicates where |A| grows: what a place is worth with two actions differs most by world."""
    largest: int
    """The widest layer, and the most actions."""


QUICK = Effort(20_000, Gaps(3, 1), 4, 12, 16)
FULL = Effort(100_000, Gaps(3, 1), 8, 24, 32)
KNOWN = "o-reps-bandit"
BOUNDS_RATIO = {"|X|": 0.5, "|A|": 0.0, "L": 0.5}
"""Exponents of L|X| sqrt(|A|T) over sqrt(L|X||A|T), the bound of O-REPS with bandit feedback."""
ROOM = 0.25  # for logarithms and short ranges: the bounds hide the former
SIZE_OF: dict[str, Callable[[Layout], int]] = {
    "|X|": lambda layout: layout.n_states,
    "|A|": lambda layout: layout.n_actions,
    "L": lambda layout: layout.n_layers,
}


def measure(lab: Lab, effort: Effort | None = None) -> Finding:
    """Play UOB-REPS on MDPs that grow in one way at a time."""
    played = designs(effort or (QUICK if lab.quick else FULL))
    runs, _ = lab.play(all_specs(*played.values()))
    return judge(played, runs)


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


def designs(effort: Effort) -> dict[tuple[str, str], Design]:
    """The runs by learner and by what grows."""
    losses = effort.gaps.losses(effort.n_episodes)
    return {
        (learner, name): grid_of(
            [
                [
                    {
                        "learner": with_delta(learner) if learner == SUBJECT else {"name": learner},
                        "n_episodes": effort.n_episodes,
                        "mdp": mdp,
                        "losses": one,
                    }
                    for one in losses
                ]
                for mdp in members
            ],
            effort.n_for_actions if name == "|A|" else effort.n_replicates,
        )
        for learner in (SUBJECT, KNOWN)
        for name, members in families(effort.largest).items()
    }


def judge(designs: Mapping[tuple[str, str], Design], runs: pl.DataFrame) -> Finding:
    """The exponents of the ratio to O-REPS in each size, against those of the bounds' ratio."""
    regret = dict(zip(runs["run"], runs["regret"], strict=True))
    panels, verdicts = [], []
    data: dict[str, dict[str, Any]] = {}
    for name, of_bounds in BOUNDS_RATIO.items():
        specs = designs[SUBJECT, name][0, :, 0]
        layouts = [layout_of(spec.mdp.parameters) for spec in specs]
        sizes = [SIZE_OF[name](layout) for layout in layouts]
        own, known = (
            worst_over_gaps(figures(designs[learner, name], regret)) for learner in (SUBJECT, KNOWN)
        )
        both = list(zip(layouts, specs, strict=True))
        above = [upper_bound(layout, spec.n_episodes, DELTA) for layout, spec in both]
        below = [lower_bound(layout, spec.n_episodes) for layout, spec in both]
        relative = exponent(sizes, own, known)
        exceeds = bool((own.mean > above).any())
        verdicts.append("fails" if exceeds else _verdict(relative, of_bounds))
        slopes = {SUBJECT: exponent(sizes, own), KNOWN: exponent(sizes, known)}
        data[name] = {
            "sizes": sizes,
            "largest regret": {SUBJECT: own.mean.tolist(), KNOWN: known.mean.tolist()},
            "exponents": slopes,
            "exponent of the ratio": relative,
            "upper bound": above,
            "exponent of the upper bound": slope_of(sizes, above),
            "exponent of the lower bound": slope_of(sizes, below),
        }
        series = (
            *law_series(SUBJECT, sizes, own, slopes[SUBJECT]),
            *law_series(KNOWN, sizes, known, slopes[KNOWN]),
            line(UPPER, sizes, above),
            line(LOWER, sizes, below),
        )
        panels.append(
            Panel(f"Growth with {name}", name, "largest regret", series, x_log=True, y_log=True)
        )
    verdict: Verdict = "fails" if "fails" in verdicts else "vacuous"
    if all(one == "holds" for one in verdicts):
        verdict = "holds"
    first = designs[SUBJECT, "L"]
    return Finding(
        claim="Not knowing the transition costs no more with |X|, |A| and L than the theorem says",
        reference="Theorem 3; Section 1.1",
        checked=(
            "as one size grows: the exponent of the largest regret over all gaps, relative to that "
            "of O-REPS on the same worlds, which knows the transition; both grow with the "
            "logarithm of |A| too, which the bounds hide, and in the ratio it cancels"
        ),
        instances=(
            f"{len(first)} random MDPs of each size at T = {first[0, 0, 0].n_episodes:,}, "
            f"{first.shape[2]} coin-flip losses each: layers 1,n,n,1; layers 1,3,3,1 with n "
            f"actions, {len(designs[SUBJECT, '|A|'])} MDPs each; 14 states in 2 to 7 layers"
        ),
        measured=(
            f"ratio to O-REPS: {_powers(data, lambda one: one['exponent of the ratio'])}; UOB-REPS "
            f"alone: {_powers(data, lambda one: one['exponents'][SUBJECT])}"
        ),
        bound=(
            "ratio of the bounds, without logarithms: "
            + ", ".join(f"{name}^{power}" for name, power in BOUNDS_RATIO.items())
            + f", and {ROOM} more for what they hide; the theorem alone: "
            + ", ".join(f"{k}^{one['exponent of the upper bound']:.2f}" for k, one in data.items())
        ),
        margin="; ".join(map(_margin, data.items(), verdicts)),
        verdict=verdict,
        error_rate="2.5% for each of the three: one end of a 95% interval",
        panels=tuple(panels),
        runs=ids(*designs.values()),
        data=data,
    )


def _powers(data: dict[str, Any], get: Callable[[Any], Interval | None]) -> str:
    return ", ".join(f"{name}^{interval_text(get(one))}" for name, one in data.items())


def _margin(item: tuple[str, dict[str, Any]], verdict: str) -> str:
    name, slope = item[0], item[1]["exponent of the ratio"]
    return (
        f"{name}: "
        f"{f'upper end {slope.high - BOUNDS_RATIO[name] - ROOM:+.2f}, ' if slope else ''}{verdict}"
    )


def _verdict(slope: Interval | None, of_bounds: float) -> Verdict:
    """Whether the ratio grows faster than the bounds' ratio, by a quarter of a power or more.

    The theorem bounds the regret and not this ratio, so that a little more refutes nothing.
    """
    if slope is None:
        return "vacuous"
    if slope.low > of_bounds + ROOM:
        return "fails"
    return "holds" if slope.high < of_bounds + ROOM else "vacuous"
