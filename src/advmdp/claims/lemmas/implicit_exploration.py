"""Lemma 11 (IX): sums of estimates divided by u + gamma rarely exceed their targets by much.

The proof shows, for each layer k and alpha_t in [0, 2 gamma],  E exp(S_k) <= 1  with
S_k = sum_t sum_{x in X_k, a} alpha_t (l^_t - (q_t / u_t) l_t);  the tail bounds follow by Markov.
Both are measured: the moment for alpha = 2 gamma on a whole layer and on a single pair, and how
often the sums exceed the bounds at level delta.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from advmdp.batch import BatchRun
from advmdp.claims.claim import Claim, Description, Judgement
from advmdp.claims.finding import verdict_of
from advmdp.claims.lab import Lab
from advmdp.claims.playing.observed_runs import observe_runs
from advmdp.claims.playing.random_instances import LearnerFactory, random_instance, shape_name
from advmdp.claims.statistics.exact_tests import (
    ERROR_RATE,
    exceeds_rate,
    log_wealth,
    mean_and_standard_error,
)
from advmdp.layout import Floats, Layout
from advmdp.learners.mirror.uob_reps import UOBREPS
from advmdp.reports.figures.panels import Panel, Series

SIZES, ACTIONS, DELTA = (1, 2, 2, 1), 2, 0.1
SETTINGS = (
    {"log_scale": 1.0, "gamma_scale": 1.0},
    {"log_scale": 0.02, "gamma_scale": 1.0},
    {"log_scale": 0.02, "gamma_scale": 0.2},
)
"""The theorem's; u near q instead of far above it; and so little exploration that 2 gamma sums
stay small, where the moment is close to one and the test is sharpest."""
LEVELS = np.linspace(0.01, 0.99, 50)
LARGEST_EXPONENT = 600.0  # keeps e^sum finite; e^600 rejects as well as infinity


class Effort(NamedTuple):
    """Runs of each setting, and their length."""

    n_runs: int
    n_episodes: int


class ScaledSums(NamedTuple):
    """2 gamma times the sums of l^ - (q / u) l, one row for each run of a setting."""

    layers: list[list[float]]
    pairs: list[list[float]]
    bare: list[list[float]]
    """By layer, for the estimator without gamma."""


class Measurement(NamedTuple):
    """The sums of all runs, one entry for each of ``SETTINGS``."""

    effort: Effort
    sums: list[ScaledSums]


def measure(lab: Lab, effort: Effort, make: LearnerFactory = UOBREPS) -> Measurement:
    """Runs of one instance; the moments are expectations over trajectories and coins."""
    rng = lab.rng("implicit exploration")
    mdp, losses, _ = random_instance(SIZES, ACTIONS, rng)
    layout = mdp.layout
    sums = []
    for settings in SETTINGS:
        scale = 2.0 * make(layout, effort.n_episodes, delta=DELTA, **settings).gamma
        runs = (
            BatchRun(mdp, losses, make(layout, effort.n_episodes, delta=DELTA, **settings), seed)
            for seed in map(int, rng.integers(2**62, size=effort.n_runs))
        )
        parts = ScaledSums([], [], [])
        for seen in observe_runs(runs, effort.n_episodes, on_gpu=lab.on_gpu):
            excess, bare = scale * seen.excess, scale * seen.bare
            parts.layers.append(_by_layer(layout, excess).tolist())
            parts.pairs.append(excess.tolist())
            parts.bare.append(_by_layer(layout, bare).tolist())
        sums.append(parts)
    return Measurement(effort, sums)


def judge(measurement: Measurement) -> Judgement:
    """No moment above one, no tail above its level; the estimator without gamma shows the power."""
    found = [moments_and_tails(sums) for sums in measurement.sums]
    fails = any(f["rejected"] or f["pair_excess"] or f["sum_excess"] for f in found)
    without = int(sum(f["bare_rejected"] for f in found))
    n_runs = measurement.effort.n_runs
    return Judgement(
        verdict_of(not fails, can_fail=without > 0),
        figures={
            "n_runs": n_runs,
            "n_episodes": measurement.effort.n_episodes,
            "moments": _intervals(found, "moment"),
            "pair_moments": _intervals(found, "pair_moment"),
            "largest": max(f["largest_value"] for f in found),
            "pair_count": sum(f["pair_count"] for f in found),
            "sum_count": sum(f["sum_count"] for f in found),
            "n_all_runs": len(SETTINGS) * n_runs,
            "short": -max(f["log_wealth"] - f["needed"] for f in found),
            "without": without,
            "n_settings": len(found),
        },
        data={_name(s): f for s, f in zip(SETTINGS, found, strict=True)},
        panels=(_quantile_panel(found),),
    )


def moments_and_tails(sums: ScaledSums) -> dict[str, Any]:
    """Moments with standard errors, the betting test of all of them, and the two tails."""
    layers, pairs, bare = (np.array(part) for part in sums)
    n_runs, n_layers = layers.shape
    columns = [*_exp(layers).T, *_exp(pairs).T]
    wealth = max(log_wealth(column) for column in columns)
    needed = math.log(len(columns) / ERROR_RATE)
    nearest = int(np.argmax([column.mean() for column in columns[:n_layers]]))
    moment, error = mean_and_standard_error(columns[nearest])
    of_pairs = (mean_and_standard_error(column) for column in columns[n_layers:])
    pair_moment, pair_error = max(of_pairs, key=lambda pair: pair[0])
    bare_wealth = max(log_wealth(column) for column in _exp(bare).T)
    layout = Layout(SIZES, ACTIONS)
    n_pairs = layout.n_states * layout.n_actions
    totals = layers.sum(axis=1)
    pair_count = int((pairs > math.log(n_pairs / DELTA)).any(axis=1).sum())
    sum_count = int((totals > n_layers * math.log(n_layers / DELTA)).sum())
    return {
        "moment": moment,
        "moment_error": error,
        "pair_moment": pair_moment,
        "pair_moment_error": pair_error,
        "largest_value": float(max(column.max() for column in columns)),
        "log_wealth": wealth,
        "needed": needed,
        "rejected": float(wealth >= needed),
        "bare_log_wealth": bare_wealth,
        "bare_rejected": float(bare_wealth >= needed),
        "pair_count": pair_count,
        "sum_count": sum_count,
        "pair_excess": float(exceeds_rate(pair_count, n_runs, DELTA)),
        "sum_excess": float(exceeds_rate(sum_count, n_runs, DELTA)),
        "largest_sum": float(totals.max()),
        "quantiles": np.quantile(layers[:, nearest], LEVELS).tolist(),
    }


def _name(settings: dict[str, float]) -> str:
    return f"({settings['log_scale']:g}, {settings['gamma_scale']:g})"


CLAIM = Claim(
    "implicit-exploration",
    Description(
        statement="implicit exploration",
        reference="Lemma 11 (lem:IX), Eq. (ellhat_bound_mid)",
        checked=(
            "E exp(sum of 2 gamma (l^ - (q/u) l)) <= 1 for every layer and every pair; all pairs "
            "below ln(|X||A|/delta) / (2 gamma), and the whole sum below L ln(L/delta), with "
            "probability 1 - delta each"
        ),
        instances=(
            "{n_runs} runs of {n_episodes} episodes of one random world "
            f"{shape_name(SIZES, ACTIONS)}, delta = {DELTA}, for each of (log term, gamma) x "
            f"{', '.join(_name(settings) for settings in SETTINGS)}"
        ),
        measured=(
            "largest moment of a layer {moments}, of a pair {pair_moments} (largest single value "
            "{largest:.3g}); runs over the bounds: {pair_count} (pairs), {sum_count} (sum) of "
            "{n_all_runs}"
        ),
        bound=f"1 for the moments; a share of {DELTA:g} for the runs over each bound",
        margin=(
            "a gambler against the claim is a factor e^{short:.1f} short of refuting it; on the "
            "same runs he refutes the estimator without gamma in {without} of {n_settings} settings"
        ),
        error_rate=(
            f"{len(SETTINGS) * ERROR_RATE:.1%} for all moments together (betting test, exact "
            f"whatever the tail), {2 * len(SETTINGS) * ERROR_RATE:.1%} for all shares (binomial)"
        ),
    ),
    quick=Effort(1500, 300),
    full=Effort(10_000, 1000),
    measure_at=measure,
    judge=judge,
    on_gpu=True,
)


def _exp(sums: Floats) -> Floats:
    return np.exp(np.minimum(sums, LARGEST_EXPONENT))


def _by_layer(layout: Layout, rows: Floats) -> Floats:
    return np.add.reduceat(rows, layout.layer_start[: layout.n_layers] * layout.n_actions)


def _intervals(found: list[dict[str, Any]], name: str) -> str:
    """Means with two standard errors, one for each setting."""
    return ", ".join(f"{f[name]:.3g} ± {2 * f[f'{name}_error']:.1g}" for f in found)


def _quantile_panel(found: list[dict[str, Any]]) -> Panel:
    series = [
        Series(_name(s), _name(s), np.array(f["quantiles"]), LEVELS)
        for s, f in zip(SETTINGS, found, strict=True)
    ]
    tail = np.linspace(0.0, math.log((len(SIZES) - 1) / DELTA), 60)
    bound = Series("bound", "Markov's bound for one layer", tail, 1.0 - np.exp(-tail))
    return Panel(
        "Sums of the estimates' excess, layer of the largest moment",
        "sum of 2 gamma (l^ - (q/u) l)",
        "share of runs below",
        (*series, bound),
        from_zero=True,
        note="In the long run no curve passes under Markov's bound.",
    )
