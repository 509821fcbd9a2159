"""Lemma 10 (aux): the sums of q_t / N and q_t / sqrt(N), with constants taken from its proof.

A pair's j-th visit falls in an epoch that began with at least j / 2 visits, so the visited terms
add up to at most 1 + 2 ln N and 1 + 2 sqrt(2 N) for each pair, in every run.  With Freedman's
inequality as the proof applies it, for all layers k with probability 1 - 2 delta,

    sum q / max(1, N)        <=  2 |X_k||A| (1 + 2 ln T) + 4 ln(L / delta)                =: B_k
    sum q / sqrt(max(1, N))  <=  |X_k||A| + 2 sqrt(2 |X_k||A| T) + B_k + ln(L / delta).

Both sums are at most T whatever happens: a bound above T says nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from advmdp.claims.chances import ERROR_RATE, judged, too_many
from advmdp.claims.finding import Finding
from advmdp.claims.lab import Lab
from advmdp.claims.witness import Watched, watch
from advmdp.claims.worlds import MakeLearner, seeded, shape_name, switching_world
from advmdp.evaluation.run import log_spaced
from advmdp.layout import Floats, Layout
from advmdp.learners.uob_reps import UOBREPS
from advmdp.reports.figures.panels import EPISODES, Panel, Series

DELTA = 0.05


@dataclass(frozen=True)
class Size:
    n_runs: int
    n_episodes: int
    layers: tuple[int, ...] = (1, 2, 4, 1)
    n_actions: int = 2


QUICK, FULL = Size(200, 3000), Size(2000, 20_000)


def measure(lab: Lab) -> Finding:
    """The claim at the lab's effort."""
    return seeded(lab, examine(QUICK if lab.quick else FULL, lab.rng("visit sums")))


def examine(size: Size, rng: np.random.Generator, make: MakeLearner = UOBREPS) -> Finding:
    """Both sums of every layer at the end of every run."""
    points = [int(t) for t in log_spaced(size.n_episodes, per_decade=4)]
    sums, over, certain = [], 0, -math.inf
    for _ in range(size.n_runs):
        mdp, losses, seed = switching_world(size.layers, size.n_actions, rng, period=100)
        learner = make(mdp.layout, size.n_episodes, delta=DELTA)
        watched = watch(
            mdp, losses, learner, size.n_episodes, seed, checkpoints=points, bounds=False
        )
        sums.append([(watched.notes[t].inverse, watched.notes[t].root) for t in points])
        over += bool((np.array(sums[-1][-1]) > bounds(mdp.layout, size.n_episodes)).any())
        certain = max(certain, _certain_share(mdp.layout, watched))
    table = np.array(sums)  # runs, checkpoints, which sum, layers
    layout = Layout(size.layers, size.n_actions)
    limits = bounds(layout, size.n_episodes)
    shares = table[:, -1].max(axis=0) / limits
    telling = limits < size.n_episodes
    holds = certain <= 1.0 and not too_many(over, size.n_runs, 2 * DELTA)
    growth = table[:, :, 0].mean(axis=0) / np.maximum(1.0, np.log(points))[:, None]
    return Finding(
        claim="visit sums",
        reference="Lemma 10 (lem:aux), Eqs. (aux1), (aux2)",
        checked=(
            "both sums in every layer against the bounds with the proof's constants; the visited "
            "terms against 1 + 2 ln N and 1 + 2 sqrt(2 N) for each pair, which is certain"
        ),
        instances=(
            f"{size.n_runs} runs of {size.n_episodes} episodes, each in a random world "
            f"{shape_name(size.layers, size.n_actions)} with switching losses, delta = {DELTA}; "
            f"{int(telling.sum())} of {telling.size} bounds are below the trivial one"
        ),
        measured=(
            f"largest share of its bound, layer by layer: sum q/N {_percent(shares[0])}, sum "
            f"q/sqrt(N) {_percent(shares[1])}; visited terms at most {certain:.0%} of what is "
            f"certain; {over} runs over a bound"
        ),
        bound=f"a share of 2 delta = {2 * DELTA:g} of the runs over a bound",
        margin=(
            "sum q/N is "
            + ", ".join(
                f"{constant:.2f}"
                for constant in growth[-1] / (np.array(size.layers[:-1]) * size.n_actions)
            )
            + " times |X_k||A| ln T in the layers"
        ),
        verdict=judged(holds, can_fail=bool(telling.any())),
        error_rate=f"{ERROR_RATE:.1%} (binomial test); none for the visited terms",
        panels=_panels(np.array(points, dtype=np.float64), table, layout),
        data={
            "shares": shares.tolist(),
            "certain_share": certain,
            "runs_over": over,
            "bounds": limits.tolist(),
            "means": table[:, -1].mean(axis=0).tolist(),
        },
    )


def bounds(layout: Layout, n_episodes: int) -> Floats:
    """Both bounds for each layer, shape (2, L)."""
    pairs = np.array(layout.layer_sizes[:-1]) * layout.n_actions
    doubt = math.log(layout.n_layers / DELTA)
    first = 2.0 * pairs * (1.0 + 2.0 * math.log(n_episodes)) + 4.0 * doubt
    second = pairs + 2.0 * np.sqrt(2.0 * pairs * n_episodes) + first + doubt
    return np.stack([first, second])


def _certain_share(layout: Layout, watched: Watched) -> float:
    """The visited terms as a share of what they can be at most, given the visits."""
    visits = np.maximum(1.0, layout.flat_pairs(watched.learner.visits))
    notes, layers = watched.last, layout.row_layer
    shares = [
        notes.seen_inverse / np.bincount(layers, weights=1.0 + 2.0 * np.log(visits)),
        notes.seen_root / np.bincount(layers, weights=1.0 + 2.0 * np.sqrt(2.0 * visits)),
    ]
    return float(np.max(shares))


def _percent(shares: Floats) -> str:
    return ", ".join(f"{share:.0%}" for share in shares)


def _panels(points: Floats, table: Floats, layout: Layout) -> tuple[Panel, ...]:
    panels = []
    for which, name in enumerate(("q / max(1, N)", "q / sqrt(max(1, N))")):
        series = []
        for k in range(layout.n_layers):
            limit = np.array([bounds(layout, int(t))[which, k] for t in points])
            shares = table[:, :, which, k] / limit
            series.append(
                Series(
                    f"layer {k}",
                    f"layer {k}",
                    points,
                    shares.mean(axis=0),
                    shares.min(axis=0),
                    shares.max(axis=0),
                )
            )
        panels.append(
            Panel(
                f"Sum of {name}, as a share of its bound",
                EPISODES,
                "share of the bound",
                tuple(series),
                x_log=True,
                note="Mean over runs; bands: the least and the largest.",
            )
        )
    return tuple(panels)
