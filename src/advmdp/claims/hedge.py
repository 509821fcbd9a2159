"""Lemma 13 (Hedge): the regret of mirror descent on its own estimates, a deterministic inequality.

For every q in all the sets used,

    sum <q^_t - q, l^_t>  <=  L ln(|X|^2 |A|) / eta + eta sum q^_t l^_t^2.

It is checked at its worst q: the least <q, sum of l^> over the measures whose transition lies in
the intersection of all boxes, found by optimistic planning in that intersection.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from advmdp.claims.chances import judged
from advmdp.claims.finding import Finding
from advmdp.claims.lab import Lab
from advmdp.claims.witness import watch
from advmdp.claims.worlds import (
    MakeLearner,
    World,
    random_world,
    seeded,
    shape_name,
    switching_world,
)
from advmdp.evaluation.run import log_spaced
from advmdp.kernels.accounting.witness import INNER, SQUARE, Witness
from advmdp.kernels.sets.optimism import optimistic_response
from advmdp.layout import Floats, Layout
from advmdp.learners.uob_reps import UOBREPS
from advmdp.reports.figures.panels import EPISODES, Panel, Series
from advmdp.steps.confidence import BoxSet
from advmdp.steps.workspace import new_reach

SIZES, ACTIONS = (1, 4, 4, 1), 2
SETTINGS = tuple(product((1.0, 0.05), (1.0, 8.0, 64.0)))
"""Factors on the log term and on the learning rate."""


@dataclass(frozen=True)
class Size:
    n_runs: int
    n_episodes: int


QUICK, FULL = Size(2, 4000), Size(20, 100_000)


def measure(lab: Lab) -> Finding:
    """The claim at the lab's effort."""
    return seeded(lab, examine(QUICK if lab.quick else FULL, lab.rng("hedge")))


def examine(size: Size, rng: np.random.Generator, make: MakeLearner = UOBREPS) -> Finding:
    """Every run at every checkpoint; the lemma holds for every T."""
    points = [int(t) for t in log_spaced(size.n_episodes, per_decade=6)]
    worst, slack, sharp, empty, looks = -math.inf, math.inf, -math.inf, 0, 0
    curves: dict[str, tuple[Floats, Floats]] = {}
    for log_scale, eta_scale in SETTINGS:
        for i in range(size.n_runs):
            world = _world(rng, switching=i % 2 == 0)
            learner = make(
                world.mdp.layout, size.n_episodes, log_scale=log_scale, eta_scale=eta_scale
            )
            watched = watch(*world[:2], learner, size.n_episodes, world.seed, checkpoints=points)
            sides = [_sides(world.mdp.layout, learner.eta, watched.notes[t]) for t in points]
            empty += sum(side is None for side in sides)
            known = [(t, *side) for t, side in zip(points, sides, strict=True) if side]
            looks += len(known)
            for _, left, right, sharper in known:
                worst, slack = max(worst, left / right), min(slack, right - left)
                sharp = max(sharp, left / sharper)
            if known and log_scale == 1.0 and i == 0:
                t, left, right, _ = np.array(known).T
                curves[f"learning rate x {eta_scale:g}"] = (t, left / right)
    return Finding(
        claim="Hedge",
        reference="Lemma 13 (lem:Hedge)",
        checked=(
            "sum <q^_t - q, l^_t> against L ln(|X|^2|A|) / eta + eta sum q^_t l^_t^2 for the worst "
            "q of all sets together, at every checkpoint"
        ),
        instances=(
            f"{len(SETTINGS) * size.n_runs} runs of {size.n_episodes} episodes on "
            f"{shape_name(SIZES, ACTIONS)}, coin-flip and switching losses; log term x 1, 0.05; "
            f"learning rate x 1, 8, 64; {looks} comparisons ({empty} more where the sets have "
            "nothing in common: nothing to compare)"
        ),
        measured=f"at most {worst:.1%} of the bound (each side times eta: slack {slack:.3g})",
        bound=(
            "100%; of the proof's sharper form, sum_k ln(|X_k||A||X_k+1|) and eta / 2, at most "
            f"{sharp:.1%} is reached"
        ),
        margin=f"the nearest comparison leaves {1 - worst:.1%} of the bound unused",
        verdict=judged(slack >= 0.0, can_fail=looks > 0),
        panels=(_panel(curves),),
        data={"ratio": worst, "sharp": sharp, "slack": slack, "comparisons": looks, "empty": empty},
    )


def _world(rng: np.random.Generator, *, switching: bool) -> World:
    if switching:
        return switching_world(SIZES, ACTIONS, rng, period=200)
    return random_world(SIZES, ACTIONS, rng)


def _sides(layout: Layout, eta: float, notes: Witness) -> tuple[float, float, float] | None:
    """Both sides times eta, and the sharper right side; None when no transition is in all sets."""
    start = layout.row_start[:-1]
    low, high = (np.add.reduceat(side, start) for side in (notes.low, notes.high))
    if (notes.low > notes.high).any() or (low > 1.0).any() or (high < 1.0).any():
        return None
    cheapest = least_loss(BoxSet(layout, notes.low, notes.high), notes.fed)
    left = eta * (notes.hedge[INNER] - cheapest)
    square = eta * eta * notes.hedge[SQUARE]
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


def _panel(curves: dict[str, tuple[Floats, Floats]]) -> Panel:
    series = [Series(name, name, *curve) for name, curve in curves.items()]
    return Panel(
        "Mirror descent's regret as a share of the Hedge bound",
        EPISODES,
        "left side / right side",
        tuple(series),
        x_log=True,
        note="One run each, printed log term; the comparator is the worst that the sets allow.",
    )
