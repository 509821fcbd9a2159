"""Lemma 10 (aux): the sums of q_t / N and q_t / sqrt(N), with constants taken from its proof.

A pair's j-th visit falls in an epoch that began with at least j / 2 visits, so the visited terms
add up to at most 1 + 2 ln N and 1 + 2 sqrt(2 N) for each pair, in every run.  With Freedman's
inequality as the proof applies it, for all layers k with probability 1 - 2 delta,

    sum q / max(1, N)        <=  2 |X_k||A| (1 + 2 ln T) + 4 ln(L / delta)                =: B_k
    sum q / sqrt(max(1, N))  <=  |X_k||A| + 2 sqrt(2 |X_k||A| T) + B_k + ln(L / delta).

Both sums are at most T in any case: a bound above T says nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from advmdp.claims.claim import Claim, Description, Judgement
from advmdp.claims.finding import verdict_of
from advmdp.claims.lab import Lab
from advmdp.claims.playing.observed_runs import ObservedRun, observe_run
from advmdp.claims.playing.random_instances import LearnerFactory, shape_name, switching_instance
from advmdp.claims.references.lemma_bounds import visit_sum_bounds
from advmdp.claims.statistics.exact_tests import ERROR_RATE, exceeds_rate
from advmdp.evaluation.run import log_spaced
from advmdp.layout import Floats, Layout
from advmdp.learners.mirror.uob_reps import UOBREPS
from advmdp.reports.figures.panels import EPISODES, Panel, Series

DELTA = 0.05


class Effort(NamedTuple):
    """Runs, their length and their shape."""

    n_runs: int
    n_episodes: int
    layers: tuple[int, ...] = (1, 2, 4, 1)
    n_actions: int = 2


class Measurement(NamedTuple):
    """The sums of every run."""

    effort: Effort
    checkpoints: list[int]
    sums: list[list[list[list[float]]]]
    """Runs x checkpoints x {q / N, q / sqrt(N)} x layers."""
    visited_shares: list[float]
    """Of each run: the visited terms as a share of what they can be at most."""


def measure(lab: Lab, effort: Effort, make: LearnerFactory = UOBREPS) -> Measurement:
    """Both sums of every layer at the checkpoints of every run."""
    rng = lab.rng("visit sums")
    points = [int(t) for t in log_spaced(effort.n_episodes, per_decade=4)]
    sums, shares = [], []
    for _ in range(effort.n_runs):
        mdp, losses, seed = switching_instance(effort.layers, effort.n_actions, rng, period=100)
        learner = make(mdp.layout, effort.n_episodes, delta=DELTA)
        observed = observe_run(
            mdp, losses, learner, effort.n_episodes, seed, checkpoints=points, bounds=False
        )
        seen = [observed.at[t] for t in points]
        sums.append([[one.inverse.tolist(), one.root.tolist()] for one in seen])
        shares.append(_visited_share(mdp.layout, observed))
    return Measurement(effort, points, sums, shares)


def judge(measurement: Measurement) -> Judgement:
    """Whether more runs exceed a bound than 2 delta explains; the visited terms never may."""
    effort, points = measurement.effort, measurement.checkpoints
    layout = Layout(effort.layers, effort.n_actions)
    table = np.array(measurement.sums)
    limits = visit_sum_bounds(layout, effort.n_episodes, DELTA)
    over = int((table[:, -1] > limits).any(axis=(1, 2)).sum())
    certain = max(measurement.visited_shares)
    shares = table[:, -1].max(axis=0) / limits
    telling = limits < effort.n_episodes
    growth = table[:, :, 0].mean(axis=0) / np.maximum(1.0, np.log(points))[:, None]
    constants = growth[-1] / (np.array(effort.layers[:-1]) * effort.n_actions)
    holds = certain <= 1.0 and not exceeds_rate(over, effort.n_runs, 2 * DELTA)
    return Judgement(
        verdict_of(holds, can_fail=bool(telling.any())),
        figures={
            **effort._asdict(),
            "shape": shape_name(effort.layers, effort.n_actions),
            "n_telling": int(telling.sum()),
            "n_bounds": telling.size,
            "inverse_shares": _percent(shares[0]),
            "root_shares": _percent(shares[1]),
            "certain": certain,
            "over": over,
            "constants": ", ".join(f"{constant:.2f}" for constant in constants),
        },
        data={
            "shares": shares.tolist(),
            "certain_share": certain,
            "runs_over": over,
            "bounds": limits.tolist(),
            "means": table[:, -1].mean(axis=0).tolist(),
        },
        panels=_share_panels(np.array(points, dtype=np.float64), table, layout),
    )


CLAIM = Claim(
    "visit-sums",
    Description(
        statement="visit sums",
        reference="Lemma 10 (lem:aux), Eqs. (aux1), (aux2)",
        checked=(
            "both sums in every layer against the bounds with the proof's constants; the visited "
            "terms against 1 + 2 ln N and 1 + 2 sqrt(2 N) for each pair, which is certain"
        ),
        instances=(
            "{n_runs} runs of {n_episodes} episodes, each in a random world {shape} with switching "
            f"losses, delta = {DELTA}; "
            "{n_telling} of {n_bounds} bounds are below the trivial one"
        ),
        measured=(
            "largest share of its bound, layer by layer: sum q/N {inverse_shares}, sum q/sqrt(N) "
            "{root_shares}; visited terms at most {certain:.0%} of what is certain; {over} runs "
            "over a bound"
        ),
        bound=f"a share of 2 delta = {2 * DELTA:g} of the runs over a bound",
        margin="sum q/N is {constants} times |X_k||A| ln T in the layers",
        error_rate=f"{ERROR_RATE:.1%} (binomial test); none for the visited terms",
    ),
    quick=Effort(200, 3000),
    full=Effort(2000, 20_000),
    measure_at=measure,
    judge=judge,
)


def _visited_share(layout: Layout, observed: ObservedRun) -> float:
    """The visited terms as a share of what they can be at most, given the visits."""
    visits = np.maximum(1.0, layout.flat_pairs(observed.learner.visits))
    seen, layers = observed.last, layout.row_layer
    shares = [
        seen.seen_inverse / np.bincount(layers, weights=1.0 + 2.0 * np.log(visits)),
        seen.seen_root / np.bincount(layers, weights=1.0 + 2.0 * np.sqrt(2.0 * visits)),
    ]
    return float(np.max(shares))


def _percent(shares: Floats) -> str:
    return ", ".join(f"{share:.0%}" for share in shares)


def _share_panels(points: Floats, table: Floats, layout: Layout) -> tuple[Panel, ...]:
    limits = np.array([visit_sum_bounds(layout, int(t), DELTA) for t in points])
    names = ("q / max(1, N)", "q / sqrt(max(1, N))")
    return tuple(
        Panel(
            f"Sum of {name}, as a share of its bound",
            EPISODES,
            "share of the bound",
            tuple(
                _share_series(k, points, table[:, :, which, k] / limits[:, which, k])
                for k in range(layout.n_layers)
            ),
            x_log=True,
            note="Mean over runs; bands: the least and the largest.",
        )
        for which, name in enumerate(names)
    )


def _share_series(layer: int, points: Floats, shares: Floats) -> Series:
    name = f"layer {layer}"
    return Series(name, name, points, shares.mean(axis=0), shares.min(axis=0), shares.max(axis=0))
