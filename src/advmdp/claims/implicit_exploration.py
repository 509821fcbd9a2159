"""Lemma 11 (IX): estimates divided by u + gamma rarely add up to much more than they should.

The proof shows, for each layer k and alpha_t in [0, 2 gamma],  E exp(S_k) <= 1  with
S_k = sum_t sum_{x in X_k, a} alpha_t (l^_t - (q_t / u_t) l_t);  the tail bounds follow by Markov.
Both are measured: the moment for alpha = 2 gamma on a whole layer and on a single pair, and how
often the sums exceed the bounds at level delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from advmdp.batch import BatchRun
from advmdp.claims.chances import ERROR_RATE, judged, log_wealth, mean_and_error, too_many
from advmdp.claims.finding import Finding
from advmdp.claims.lab import Lab
from advmdp.claims.witness import watch_all
from advmdp.claims.worlds import MakeLearner, random_world, seeded, shape_name
from advmdp.layout import Floats, Layout
from advmdp.learners.uob_reps import UOBREPS
from advmdp.reports.figures.panels import Panel, Series

SIZES, ACTIONS, DELTA = (1, 2, 2, 1), 2, 0.1
SETTINGS = (
    {"log_scale": 1.0, "gamma_scale": 1.0},
    {"log_scale": 0.02, "gamma_scale": 1.0},
    {"log_scale": 0.02, "gamma_scale": 0.2},
)
"""The theorem's; u near q instead of far above it; and so little exploration that 2 gamma sums
stay small, where the moment is close to one and the test is sharpest."""


@dataclass(frozen=True)
class Size:
    n_runs: int
    n_episodes: int


QUICK, FULL = Size(1500, 300), Size(10_000, 1000)


@dataclass(frozen=True)
class _Sums:
    """2 gamma times the sums of every run: per layer, per pair, and per layer without gamma."""

    layers: Floats
    pairs: Floats
    bare: Floats


def measure(lab: Lab) -> Finding:
    """The claim at the lab's effort."""
    size = QUICK if lab.quick else FULL
    found = examine(size, lab.rng("implicit exploration"), on_card=lab.on_card)
    return seeded(lab, found, on_card=lab.on_card)


def examine(
    size: Size, rng: np.random.Generator, make: MakeLearner = UOBREPS, *, on_card: bool = False
) -> Finding:
    """Runs of one world; the moments are expectations over trajectories and coins."""
    mdp, losses, _ = random_world(SIZES, ACTIONS, rng)
    layout = mdp.layout
    found = []
    for settings in SETTINGS:
        gamma = make(layout, size.n_episodes, delta=DELTA, **settings).gamma
        runs = (
            BatchRun(mdp, losses, make(layout, size.n_episodes, delta=DELTA, **settings), seed)
            for seed in map(int, rng.integers(2**62, size=size.n_runs))
        )
        parts = []
        for notes in watch_all(runs, size.n_episodes, on_card=on_card):
            sums = [2.0 * gamma * rows for rows in (notes.excess, notes.bare)]
            parts.append((_by_layer(layout, sums[0]), sums[0], _by_layer(layout, sums[1])))
        found.append(_judge(layout, _Sums(*(np.array(p) for p in zip(*parts, strict=True)))))
    fails = any(f["rejected"] or f["pair_excess"] or f["sum_excess"] for f in found)
    without = int(sum(f["bare_rejected"] for f in found))
    fortune = max(f["log_wealth"] - f["needed"] for f in found)
    return Finding(
        claim="implicit exploration",
        reference="Lemma 11 (lem:IX), Eq. (ellhat_bound_mid)",
        checked=(
            "E exp(sum of 2 gamma (l^ - (q/u) l)) <= 1 for every layer and every pair; all pairs "
            "below ln(|X||A|/delta) / (2 gamma), and the whole sum below L ln(L/delta), with "
            "probability 1 - delta each"
        ),
        instances=(
            f"{size.n_runs} runs of {size.n_episodes} episodes of one random world "
            f"{shape_name(SIZES, ACTIONS)}, delta = {DELTA}, for each of (log term, gamma) x "
            f"{', '.join(_name(s) for s in SETTINGS)}"
        ),
        measured=(
            f"largest moment of a layer {_interval(found, 'moment')}, of a pair "
            f"{_interval(found, 'pair_moment')} (largest single value "
            f"{max(f['largest_value'] for f in found):.3g}); runs over the bounds: "
            f"{sum(f['pair_count'] for f in found)} (pairs), {sum(f['sum_count'] for f in found)} "
            f"(sum) of {len(SETTINGS) * size.n_runs}"
        ),
        bound=f"1 for the moments; a share of {DELTA:g} for the runs over each bound",
        margin=(
            f"a gambler against the claim is a factor e^{-fortune:.1f} short of refuting it; on "
            f"the same runs he refutes the estimator without gamma in {without} of {len(found)} "
            "settings"
        ),
        verdict=judged(not fails, can_fail=without > 0),
        error_rate=(
            f"{len(SETTINGS) * ERROR_RATE:.1%} for all moments together (betting test, exact "
            f"whatever the tail), {2 * len(SETTINGS) * ERROR_RATE:.1%} for all shares (binomial)"
        ),
        panels=(_panel(found),),
        data={_name(s): f for s, f in zip(SETTINGS, found, strict=True)},
    )


def _judge(layout: Layout, sums: _Sums) -> dict[str, Any]:
    """Moments with standard errors, the betting test of all of them, and the two tails."""
    n_runs, n_layers = sums.layers.shape
    columns = [*_exp(sums.layers).T, *_exp(sums.pairs).T]
    wealth = max(log_wealth(c) for c in columns)
    needed = math.log(len(columns) / ERROR_RATE)
    nearest = int(np.argmax([column.mean() for column in columns[:n_layers]]))
    layer = mean_and_error(columns[nearest])
    pair = max((mean_and_error(c) for c in columns[n_layers:]), key=lambda pair: pair[0])
    bare = max(log_wealth(c) for c in _exp(sums.bare).T)
    pairs = layout.n_states * layout.n_actions
    pair_count = int((sums.pairs > math.log(pairs / DELTA)).any(axis=1).sum())
    sum_count = int((sums.layers.sum(axis=1) > n_layers * math.log(n_layers / DELTA)).sum())
    return {
        "moment": layer[0],
        "moment_error": layer[1],
        "pair_moment": pair[0],
        "pair_moment_error": pair[1],
        "largest_value": float(max(column.max() for column in columns)),
        "log_wealth": wealth,
        "needed": needed,
        "rejected": float(wealth >= needed),
        "bare_log_wealth": bare,
        "bare_rejected": float(bare >= needed),
        "pair_count": pair_count,
        "sum_count": sum_count,
        "pair_excess": float(too_many(pair_count, n_runs, DELTA)),
        "sum_excess": float(too_many(sum_count, n_runs, DELTA)),
        "largest_sum": float(sums.layers.sum(axis=1).max()),
        "quantiles": np.quantile(sums.layers[:, nearest], _LEVELS).tolist(),
    }


def _exp(sums: Floats) -> Floats:
    """e^sum, kept finite: e^600 refutes as well as infinity."""
    return np.exp(np.minimum(sums, 600.0))


_LEVELS = np.linspace(0.01, 0.99, 50)


def _by_layer(layout: Layout, rows: Floats) -> Floats:
    return np.add.reduceat(rows, layout.layer_start[: layout.n_layers] * layout.n_actions)


def _interval(found: list[dict[str, Any]], name: str) -> str:
    """Means with two standard errors, one for each setting."""
    return ", ".join(f"{f[name]:.3g} ± {2 * f[f'{name}_error']:.1g}" for f in found)


def _name(settings: dict[str, float]) -> str:
    return f"({settings['log_scale']:g}, {settings['gamma_scale']:g})"


def _panel(found: list[dict[str, Any]]) -> Panel:
    series = [
        Series(_name(s), _name(s), np.array(f["quantiles"]), _LEVELS)
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
