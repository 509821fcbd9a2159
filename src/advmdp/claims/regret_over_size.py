"""Theorem 3: how the regret of UOB-REPS grows with states, actions and layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import nan
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
from advmdp.reports.panels import Panel

if TYPE_CHECKING:
    import polars as pl


class Effort(NamedTuple):
    """How long and how often."""

    n_episodes: int
    gaps: Gaps
    n_replicates: int
    largest: int
    """The widest layer, and the most actions."""


QUICK = Effort(100_000, Gaps(4, 1), 4, 16)
FULL = Effort(1_000_000, Gaps(6, 3), 8, 32)
SIZE_OF: dict[str, Callable[[Layout], int]] = {
    "|X|": lambda layout: layout.n_states,
    "|A|": lambda layout: layout.n_actions,
    "L": lambda layout: layout.n_layers,
}


def measure(lab: Lab, effort: Effort | None = None) -> Finding:
    """Play UOB-REPS on MDPs that grow in one way at a time."""
    effort = effort or (QUICK if lab.quick else FULL)
    designs = subjects(effort)
    runs, _ = lab.play(all_specs(*designs.values()))
    return judge(designs, runs)


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


def subjects(effort: Effort) -> dict[str, Design]:
    """The runs by what grows."""
    common = {"learner": with_delta(SUBJECT), "n_episodes": effort.n_episodes}
    losses = effort.gaps.losses(effort.n_episodes)
    return {
        name: grid_of(
            [[{**common, "mdp": mdp, "losses": one} for one in losses] for mdp in members],
            effort.n_replicates,
        )
        for name, members in families(effort.largest).items()
    }


def judge(designs: Mapping[str, Design], runs: pl.DataFrame) -> Finding:
    """The exponent in each size against the bound's over the same sizes."""
    regret = dict(zip(runs["run"], runs["regret"], strict=True))
    panels, data, verdicts = [], {}, []
    for name, design in designs.items():
        specs = design[0, :, 0]
        layouts = [layout_of(spec.mdp.parameters) for spec in specs]
        sizes = [SIZE_OF[name](layout) for layout in layouts]
        worst = worst_over_gaps(figures(design, regret))
        slope = exponent(sizes, worst)
        above = [
            upper_bound(one, spec.n_episodes, DELTA)
            for one, spec in zip(layouts, specs, strict=True)
        ]
        below = [
            lower_bound(one, spec.n_episodes) for one, spec in zip(layouts, specs, strict=True)
        ]
        trivial = layouts[-1].n_layers * specs[-1].n_episodes
        verdicts.append(
            "vacuous" if above[-1] > trivial else _verdict(slope, slope_of(sizes, above))
        )
        data[name] = {
            "sizes": sizes,
            "largest regret": worst.mean.tolist(),
            "upper bound": above,
            "exponent": slope,
            "of the bound": slope_of(sizes, above),
            "of the lower bound": slope_of(sizes, below),
        }
        series = (
            *law_series(SUBJECT, sizes, worst, slope),
            line(UPPER, sizes, above),
            line(LOWER, sizes, below),
        )
        panels.append(
            Panel(f"Growth with {name}", name, "largest regret", series, x_log=True, y_log=True)
        )
    verdict: Verdict = "holds"
    for worse in ("vacuous", "fails"):
        if worse in verdicts:
            verdict = worse  # type: ignore[assignment]
    texts = [f"{name}^{interval_text(one['exponent'])}" for name, one in data.items()]
    bounds = [f"{name}^{one['of the bound']:.2f}" for name, one in data.items()]
    lower = [f"{name}^{one['of the lower bound']:.2f}" for name, one in data.items()]
    n, _, n_gaps = next(iter(designs.values())).shape
    n_episodes = next(iter(designs.values()))[0, 0, 0].n_episodes
    slack = min(
        (one["of the bound"] - one["exponent"].high for one in data.values() if one["exponent"]),
        default=nan,
    )
    return Finding(
        claim="The regret grows no faster with |X|, |A| and L than the theorem says",
        reference="Theorem 3",
        checked="the exponent of the largest mean regret over all gaps, as one size grows",
        instances=(
            f"{n} random MDPs of each size at T = {n_episodes:,}, {n_gaps} coin-flip losses each: "
            "layers 1,n,n,1; layers 1,3,3,1 with n actions; 14 states in 2 to 7 layers"
        ),
        measured=", ".join(texts),
        bound=f"{', '.join(bounds)} over these sizes; lower bound {', '.join(lower)}",
        margin=f"least distance from an upper end to the bound's exponent {slack:+.2f}",
        verdict=verdict,
        error_rate="2.5% for each of the three: one end of a 95% interval",
        panels=tuple(panels),
        runs=ids(*designs.values()),
        data=data,
    )


def _verdict(slope: Any, of_bound: float) -> Verdict:
    if slope is None:
        return "vacuous"
    if slope.low > of_bound:
        return "fails"
    return "holds" if slope.high < of_bound else "vacuous"
