"""Lemma 13 (Hedge): the regret of mirror descent on its own estimates, a deterministic inequality.

For every q in all the sets used,

    sum <q^_t - q, l^_t>  <=  L ln(|X|^2 |A|) / eta + eta sum q^_t l^_t^2.

It is checked at its worst q: the least <q, sum of l^> over the measures whose transition lies in
the intersection of all boxes, found by optimistic planning in that intersection.
"""

from __future__ import annotations

import math
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from advmdp.claims.claim import Claim, Description, Judgement
from advmdp.claims.finding import verdict_of
from advmdp.claims.lab import Lab
from advmdp.claims.playing.observed_runs import Observations, observe_run
from advmdp.claims.playing.random_instances import (
    LearnerFactory,
    RandomInstance,
    random_instance,
    shape_name,
    switching_instance,
)
from advmdp.evaluation.run import log_spaced
from advmdp.kernels.planning.optimism import optimistic_response
from advmdp.layout import Floats, Layout
from advmdp.learners.mirror.uob_reps import UOBREPS
from advmdp.reports.figures.panels import EPISODES, Panel, Series
from advmdp.steps.confidence import BoxSet
from advmdp.steps.workspace import new_reach

SIZES, ACTIONS = (1, 4, 4, 1), 2
SETTINGS = tuple(product((1.0, 0.05), (1.0, 8.0, 64.0)))
"""Factors on the log term and on the learning rate."""


class Effort(NamedTuple):
    """Runs of each setting, and their length."""

    n_runs: int
    n_episodes: int


class Comparison(NamedTuple):
    """Both sides of the inequality, times eta, at a checkpoint of a run."""

    log_scale: float
    eta_scale: float
    run: int
    episodes: int
    left: float
    right: float
    sharper: float
    """The right side in the proof's sharper form."""


class Measurement(NamedTuple):
    """Every comparison, and the number of checkpoints without one."""

    effort: Effort
    comparisons: list[Comparison]
    empty: int
    """Checkpoints where the sets have no transition in common."""


def measure(lab: Lab, effort: Effort, make: LearnerFactory = UOBREPS) -> Measurement:
    """Every run at every checkpoint; the lemma holds for every T."""
    rng = lab.rng("hedge")
    points = [int(t) for t in log_spaced(effort.n_episodes, per_decade=6)]
    comparisons, empty = [], 0
    for log_scale, eta_scale in SETTINGS:
        for i in range(effort.n_runs):
            mdp, losses, seed = _instance(rng, switching=i % 2 == 0)
            learner = make(mdp.layout, effort.n_episodes, log_scale=log_scale, eta_scale=eta_scale)
            observed = observe_run(
                mdp, losses, learner, effort.n_episodes, seed, checkpoints=points
            )
            for t in points:
                sides = _sides(mdp.layout, learner.eta, observed.at[t])
                if sides is None:
                    empty += 1
                else:
                    comparisons.append(Comparison(log_scale, eta_scale, i, t, *sides))
    return Measurement(effort, comparisons, empty)


def judge(measurement: Measurement) -> Judgement:
    """The left side exceeds the right in no comparison."""
    made = measurement.comparisons
    ratio = max((one.left / one.right for one in made), default=-math.inf)
    slack = min((one.right - one.left for one in made), default=math.inf)
    sharp = max((one.left / one.sharper for one in made), default=-math.inf)
    n_episodes, n_runs = measurement.effort.n_episodes, len(SETTINGS) * measurement.effort.n_runs
    data = {
        "ratio": ratio,
        "sharp": sharp,
        "slack": slack,
        "comparisons": len(made),
        "empty": measurement.empty,
    }
    return Judgement(
        verdict_of(slack >= 0.0, can_fail=bool(made)),
        figures={**data, "n_runs": n_runs, "n_episodes": n_episodes, "unused": 1 - ratio},
        data=data,
        panels=(_ratio_panel(made),),
    )


CLAIM = Claim(
    "hedge",
    Description(
        statement="Hedge",
        reference="Lemma 13 (lem:Hedge)",
        checked=(
            "sum <q^_t - q, l^_t> against L ln(|X|^2|A|) / eta + eta sum q^_t l^_t^2 for the worst "
            "q of all sets together, at every checkpoint"
        ),
        instances=(
            f"{{n_runs}} runs of {{n_episodes}} episodes on {shape_name(SIZES, ACTIONS)}, "
            "coin-flip and switching losses; log term x 1, 0.05; learning rate x 1, 8, 64; "
            "{comparisons} comparisons ({empty} more where the sets have nothing in common: "
            "nothing to compare)"
        ),
        measured="at most {ratio:.1%} of the bound (each side times eta: slack {slack:.3g})",
        bound=(
            "100%; of the proof's sharper form, sum_k ln(|X_k||A||X_k+1|) and eta / 2, at most "
            "{sharp:.1%} is reached"
        ),
        margin="the nearest comparison leaves {unused:.1%} of the bound unused",
    ),
    quick=Effort(2, 4000),
    full=Effort(20, 100_000),
    measure_at=measure,
    judge=judge,
)


def _instance(rng: np.random.Generator, *, switching: bool) -> RandomInstance:
    if switching:
        return switching_instance(SIZES, ACTIONS, rng, period=200)
    return random_instance(SIZES, ACTIONS, rng)


def _sides(layout: Layout, eta: float, seen: Observations) -> tuple[float, float, float] | None:
    """Both sides times eta, and the sharper right side; None when no transition is in all sets."""
    start = layout.row_start[:-1]
    lower, upper = seen.common_lower, seen.common_upper
    low, high = (np.add.reduceat(side, start) for side in (lower, upper))
    if (lower > upper).any() or (low > 1.0).any() or (high < 1.0).any():
        return None
    cheapest = least_loss(BoxSet(layout, lower, upper), seen.estimates)
    left = eta * (seen.hedge_inner - cheapest)
    square = eta * eta * seen.hedge_square
    n_states, n_actions = layout.n_states, layout.n_actions
    printed = layout.n_layers * math.log(n_states**2 * n_actions)
    proved = sum(math.log(n * n_actions * m) for n, m in pairwise(layout.layer_sizes))
    return float(left), float(printed + square), float(proved + 0.5 * square)


def least_loss(box: BoxSet, losses: Floats) -> float:
    """min <q, losses> over all policies and all transitions in the box."""
    layout = box.layout
    work = (np.zeros(layout.n_rows), np.zeros(layout.n_states), np.zeros(layout.n_rows))
    graph = layout.graph()
    return float(optimistic_response(graph, box.rows, losses, new_reach(layout), *work))


def _ratio_panel(made: list[Comparison]) -> Panel:
    """The first run of each learning rate, with the printed log term."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for one in made:
        if one.log_scale == 1.0 and one.run == 0:
            key = f"learning rate x {one.eta_scale:g}"
            curves.setdefault(key, []).append((one.episodes, one.left / one.right))
    series = [Series(name, name, *np.array(curve).T) for name, curve in curves.items()]
    return Panel(
        "Mirror descent's regret as a share of the Hedge bound",
        EPISODES,
        "left side / right side",
        tuple(series),
        x_log=True,
        note="One run each, printed log term; the comparator is the worst that the sets allow.",
    )
