"""Lemma 4, the key lemma: how far the sets leave occupancies open, summed over a run.

For the worst collection {P_t^x} the sum is  K = sum_{t,x,a} max(u_t - q_t, q_t - l_t),  where u_t
and l_t are the largest and the least occupancy over the set of the episode: the maximising P_t^x
gives q^{P_t^x} = u_t.  The lemma hides its constants.  They are restored here from its proof, on
runs that are covered, with the sums of Lemma 10 as measured in the run:

    |P^ - P| <= C1 sqrt(P i / N) + C2 i / N        (Lemma 8: i the log term)
    K <= sum_{m<k} B1(m) + sum_{m<h<k} |X_k| B2(m, h)

No set can make K larger than one for each state and episode: a bound above that says nothing.
The same sums are taken with the L1 set of the older analysis.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from advmdp.claims.claim import Claim, Description, Judgement
from advmdp.claims.finding import verdict_of
from advmdp.claims.lab import Lab
from advmdp.claims.lemmas.spread_runs import ACTIONS, BALL, BOX, DELTA, SpreadRun, Sweep
from advmdp.claims.playing.observed_runs import observe_run
from advmdp.claims.playing.random_instances import LearnerFactory, random_instance, shape_name
from advmdp.learners.mirror.uob_reps import UOBREPS, UOBREPSL1
from advmdp.reports.figures.panels import Panel, Series
from advmdp.reports.statistics import power_law

LEADING = "L|X| sqrt(|A| T ln(T|X||A|/delta))"
SMALL = 0.1
"""A factor on the log term with which runs of these sizes are still covered."""
Places = list[tuple[tuple[int, ...], int]]
"""Layers and horizon, along an axis."""


class Effort(NamedTuple):
    """Horizons on one shape, widths (1, n, n, 1) with one horizon, and two layers (1, n, 1)."""

    horizons: tuple[int, ...]
    widths: tuple[int, ...]
    width_horizon: int
    n_runs: int
    layers: tuple[int, ...] = (1, 3, 3, 1)
    short: tuple[int, ...] = (1, 3, 1)


class Measurement(NamedTuple):
    """Sweeps over T and |X| for both sets, on the same instances, and runs with two layers."""

    effort: Effort
    in_t: list[Sweep]
    in_x: list[Sweep]
    short: list[SpreadRun]


def measure(
    lab: Lab,
    effort: Effort,
    make: LearnerFactory = UOBREPS,
    make_l1: LearnerFactory = UOBREPSL1,
) -> Measurement:
    """Observe K along T and along |X|."""
    seeds = [int(seed) for seed in lab.rng("key lemma").integers(2**31, size=effort.n_runs)]
    makers = {BOX: make, BALL: make_l1}
    along_t: Places = [(effort.layers, t) for t in effort.horizons]
    along_x: Places = [((1, n, n, 1), effort.width_horizon) for n in effort.widths]

    def sweep(kind: str, scale: float, x: list[float], places: Places) -> Sweep:
        make_one = makers[kind]
        runs = [[_observe(*place, seed, make_one, scale) for place in places] for seed in seeds]
        return Sweep(kind, scale, x, runs)

    horizons = [float(t) for t in effort.horizons]
    states = [float(sum(layers)) for layers, _ in along_x]
    return Measurement(
        effort,
        in_t=[sweep(kind, s, horizons, along_t) for s in (1.0, SMALL) for kind in makers],
        in_x=[sweep(kind, SMALL, states, along_x) for kind in makers],
        short=[_observe(effort.short, effort.horizons[-1], s, make, 1.0) for s in seeds],
    )


def judge(measurement: Measurement) -> Judgement:
    """K is below the bound in every covered run where the bound is below the trivial one."""
    in_t, in_x = measurement.in_t, measurement.in_x
    boxes = [sweep for sweep in (*in_t, *in_x) if sweep.kind == BOX]
    runs = [run for sweep in boxes for row in sweep.runs for run in row] + measurement.short
    telling = [run for run in runs if run.covered and run.bound < run.trivial]
    share = max((run.spread / run.bound for run in telling), default=None)
    t_slopes, x_slopes = (
        {(sweep.kind, sweep.log_scale): sweep.last_slope for sweep in part} for part in (in_t, in_x)
    )
    last = boxes[0].runs[0][-1]
    return Judgement(
        verdict_of(all(run.spread <= run.bound for run in telling), can_fail=bool(telling)),
        figures={
            **_instance_figures(measurement.effort),
            "t_box": t_slopes[BOX, 1.0],
            "t_box_small": t_slopes[BOX, SMALL],
            "x_box": x_slopes[BOX, SMALL],
            "t_ball": t_slopes[BALL, 1.0],
            "t_ball_small": t_slopes[BALL, SMALL],
            "x_ball": x_slopes[BALL, SMALL],
            "times_leading": last.spread / last.leading,
            "n_telling": len(telling),
            "n_all": len(runs),
            "margin": (
                "no run is long enough: the bound with constants exceeds the largest possible sum"
                if share is None
                else f"at most {share:.0%} of the bound with constants in those runs"
            ),
        },
        data={
            "telling_runs": len(telling),
            "largest_share": share,
            "in_T": {sweep.name: _sweep_data(sweep) for sweep in in_t},
            "in_X": {sweep.name: _sweep_data(sweep) for sweep in in_x},
        },
        panels=(
            _growth_panel("in T", "T (episodes)", in_t),
            _growth_panel("in |X|", "|X|", in_x),
        ),
    )


CLAIM = Claim(
    "key-lemma",
    Description(
        statement="key lemma",
        reference="Lemma 4 (lem:key_lemma)",
        checked=(
            "sum of |q^{P_t^x} - q_t| for the worst P_t^x of every set against the lemma with the "
            "constants of its proof; growth in T and in |X|, box set and L1 set"
        ),
        instances=(
            "{n_runs} random worlds each: {shape} with T = {horizons} and the log term x 1 and "
            "{small}; 1,n,n,1 x{n_actions} with n = {widths}, T = {width_horizon:,} and x {small}; "
            "{short_shape} with the last T and x 1"
        ),
        measured=(
            "at the last step K grows like T^{t_box:.2f} (x {small}: T^{t_box_small:.2f}) and "
            "|X|^{x_box:.2f}; with the L1 set like T^{t_ball:.2f} (T^{t_ball_small:.2f}) and "
            "|X|^{x_ball:.2f}; K is {times_leading:.2f} times " + LEADING
        ),
        bound=(
            "T^0.5 and |X|^1 when the leading term rules; with constants the bound is below the "
            "largest possible sum in {n_telling} of {n_all} runs"
        ),
        margin="{margin}",
    ),
    quick=Effort((1000, 4000, 16_000, 64_000), (2, 4, 8), 50_000, 2),
    full=Effort((10_000, 40_000, 160_000, 640_000), (2, 4, 8, 16), 100_000, 6),
    measure_at=measure,
    judge=judge,
)


def _observe(
    layers: tuple[int, ...], n_episodes: int, seed: int, make: LearnerFactory, scale: float
) -> SpreadRun:
    mdp, losses, run_seed = random_instance(layers, ACTIONS, np.random.default_rng(seed))
    learner = make(mdp.layout, n_episodes, delta=DELTA, log_scale=scale)
    seen = observe_run(mdp, losses, learner, n_episodes, run_seed).last
    return SpreadRun(
        layers,
        n_episodes,
        scale,
        spread=float(seen.spread.sum()),
        inverse=seen.inverse.tolist(),
        root=seen.root.tolist(),
        covered=seen.epochs_missed == 0,
    )


def _instance_figures(effort: Effort) -> dict[str, Any]:
    return {
        "n_runs": effort.n_runs,
        "n_actions": ACTIONS,
        "small": SMALL,
        "shape": shape_name(effort.layers, ACTIONS),
        "horizons": ", ".join(f"{t:,}" for t in effort.horizons),
        "widths": ", ".join(str(n) for n in effort.widths),
        "width_horizon": effort.width_horizon,
        "short_shape": shape_name(effort.short, ACTIONS),
    }


def _sweep_data(sweep: Sweep) -> dict[str, Any]:
    law = power_law(sweep.x, [[run.spread for run in row] for row in sweep.runs])
    return {
        "x": sweep.x,
        "K": sweep.column_means("spread").tolist(),
        "largest_possible": sweep.column_means("trivial").tolist(),
        "leading_term": sweep.column_means("leading").tolist(),
        "exponent": None if law is None else law.exponent.estimate,
        "last_exponent": sweep.last_slope,
    }


def _growth_panel(title: str, x_label: str, sweeps: list[Sweep]) -> Panel:
    x = np.array(sweeps[0].x)
    series = [Series(s.name, s.name, x, s.column_means("spread")) for s in sweeps]
    limits = {"trivial": ("upper bound", "largest possible"), "leading": ("bound", LEADING)}
    for quantity, (key, label) in limits.items():
        series.append(Series(key, label, x, sweeps[0].column_means(quantity)))
    note = "Means over worlds; the largest possible sum leaves every state open."
    return Panel(f"Open occupancy {title}", x_label, "K", tuple(series), True, True, note=note)
