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

import math
from dataclasses import dataclass

import numpy as np

from advmdp.claims.chances import judged
from advmdp.claims.finding import Finding
from advmdp.claims.lab import Lab
from advmdp.claims.witness import watch
from advmdp.claims.worlds import MakeLearner, random_world, seeded, shape_name
from advmdp.kernels.witness import MISSED, Witness
from advmdp.layout import Layout
from advmdp.learners.uob_reps import UOBREPS, UOBREPSL1
from advmdp.reports.panels import Panel, Series
from advmdp.reports.statistics import PowerLaw, power_law

C1 = 4.0 * math.sqrt(2.0)
C2 = 4.0 * (2.0 * (1.0 + math.sqrt(17.0 / 3.0)) + 14.0 / 3.0)
"""From |P^ - P| <= 2 epsilon, the quadratic inequality of Lemma 8, and N - 1 >= N / 2."""
ACTIONS = 2
SMALL = 0.1
"""A factor on the log term with which runs of these sizes are still covered."""
SCALES = (1.0, SMALL)


@dataclass(frozen=True)
class Size:
    """Horizons on one shape, widths (1, n, n, 1) with one horizon, and two layers (1, n, 1)."""

    horizons: tuple[int, ...]
    widths: tuple[int, ...]
    width_horizon: int
    n_runs: int
    layers: tuple[int, ...] = (1, 3, 3, 1)
    short: tuple[int, ...] = (1, 3, 1)


QUICK = Size((1000, 4000, 16_000, 64_000), (2, 4, 8), 10_000, 3)
FULL = Size((10_000, 40_000, 160_000, 640_000, 2_560_000), (2, 4, 8, 16), 100_000, 10)


@dataclass(frozen=True)
class _Point:
    """One run."""

    total: float  # K
    trivial: float
    bound: float  # with the proof's constants; box set only
    leading: float  # L |X| sqrt(|A| T ln(T |X| |A| / delta))
    covered: bool


def measure(lab: Lab) -> Finding:
    """The claim at the lab's effort."""
    return seeded(lab, examine(QUICK if lab.quick else FULL, lab.rng("key lemma")))


def examine(
    size: Size,
    rng: np.random.Generator,
    make: MakeLearner = UOBREPS,
    make_l1: MakeLearner = UOBREPSL1,
) -> Finding:
    """Growth in T and in |X| for both sets, and the bound for the box set."""
    makers = {"box": make, "L1": make_l1}
    in_t, in_x, points = {}, {}, []
    for scale in SCALES:
        for name, maker in makers.items():
            grid = [
                [_run(size.layers, t, rng, maker, scale) for t in size.horizons]
                for _ in range(size.n_runs)
            ]
            wide = [
                [_run((1, n, n, 1), size.width_horizon, rng, maker, scale) for n in size.widths]
                for _ in range(size.n_runs)
            ]
            in_t[name, scale], in_x[name, scale] = grid, wide
            points += [p for row in [*grid, *wide] for p in row] if name == "box" else []
    points += [_run(size.short, size.horizons[-1], rng, make, 1.0) for _ in range(size.n_runs)]
    telling = [p for p in points if p.covered and p.bound < p.trivial]
    holds = all(p.total <= p.bound for p in telling)
    share = max((p.total / p.bound for p in telling), default=None)
    laws_t = {key: _law(np.array(size.horizons), grid) for key, grid in in_t.items()}
    n_states = np.array([2 * n + 2 for n in size.widths])
    laws_x = {key: _law(n_states, grid) for key, grid in in_x.items()}
    last = {key: _last_slope(size.horizons, grid) for key, grid in in_t.items()}
    constants = [
        float(np.mean([p.total / p.leading for p in c]))
        for c in zip(*in_t["box", 1.0], strict=True)
    ]
    return Finding(
        claim="key lemma",
        reference="Lemma 4 (lem:key_lemma)",
        checked=(
            "sum of |q^{P_t^x} - q_t| for the worst P_t^x of every set against the lemma with the "
            "constants of its proof; growth in T and in |X|, box set and L1 set"
        ),
        instances=(
            f"{size.n_runs} random worlds each: {shape_name(size.layers, ACTIONS)} with T = "
            f"{', '.join(f'{t:,}' for t in size.horizons)}; 1,n,n,1 x{ACTIONS} with n = "
            f"{', '.join(str(n) for n in size.widths)} and T = {size.width_horizon:,}; log term "
            f"x 1 and {SMALL}; {shape_name(size.short, ACTIONS)} with the last T and x 1"
        ),
        measured=(
            f"log term x 1: T^{_slope(laws_t['box', 1.0])}, last step T^{last['box', 1.0]:.2f} (L1 "
            f"T^{last['L1', 1.0]:.2f}), {constants[-1]:.2f} times L|X| sqrt(|A| T ln); log term x "
            f"{SMALL}: last step T^{last['box', SMALL]:.2f} (L1 T^{last['L1', SMALL]:.2f}), "
            f"|X|^{_slope(laws_x['box', SMALL])} (L1 |X|^{_slope(laws_x['L1', SMALL])})"
        ),
        bound=(
            f"T^0.5 and |X|^1 once the leading term rules; with constants it says something for "
            f"{len(telling)} of {len(points)} runs"
        ),
        margin=(
            "no run is long enough: the bound with constants exceeds the largest possible sum"
            if share is None
            else f"at most {share:.0%} of the bound with constants"
        ),
        verdict=judged(holds, can_fail=bool(telling)),
        panels=_panels(size, in_t, in_x),
        data={
            "telling_runs": len(telling),
            "largest_share": share,
            "constants_of_T": constants,
            "exponents_T": {_key(k): _numbers(law) for k, law in laws_t.items()},
            "last_exponents_T": {_key(k): value for k, value in last.items()},
            "exponents_X": {_key(k): _numbers(law) for k, law in laws_x.items()},
            "share_of_trivial": {
                _key(k): [
                    float(np.mean([p.total / p.trivial for p in c]))
                    for c in zip(*grid, strict=True)
                ]
                for k, grid in in_t.items()
            },
            "sums_X": {
                _key(k): [float(np.mean([p.total for p in c])) for c in zip(*grid, strict=True)]
                for k, grid in in_x.items()
            },
        },
    )


Key = tuple[str, float]
Grid = list[list[_Point]]


def _run(
    layers: tuple[int, ...],
    n_episodes: int,
    rng: np.random.Generator,
    make: MakeLearner,
    scale: float,
) -> _Point:
    mdp, losses, seed = random_world(layers, ACTIONS, rng)
    layout = mdp.layout
    learner = make(layout, n_episodes, delta=0.1, log_scale=scale)
    notes = watch(mdp, losses, learner, n_episodes, seed).last
    pairs = layout.n_states * ACTIONS
    log_term = math.log(n_episodes * pairs / 0.1)
    return _Point(
        total=float(notes.spread.sum()),
        trivial=float(n_episodes * sum(layout.layer_sizes[1:-1])),
        bound=bound(layout, scale * log_term, notes),
        leading=layout.n_layers * layout.n_states * math.sqrt(ACTIONS * n_episodes * log_term),
        covered=not notes.counts[MISSED],
    )


def bound(layout: Layout, log_term: float, notes: Witness) -> float:
    """The right side of the lemma with the constants of its proof; see docs/findings.md."""
    n, n_layers = layout.layer_sizes, layout.n_layers
    first, root = notes.inverse, notes.root
    total = 0.0
    for k in range(n_layers):
        for m in range(k):
            total += C1 * math.sqrt(n[m + 1] * log_term) * root[m]
            total += C2 * n[m + 1] * log_term * first[m]
            for h in range(m + 1, k):
                both = n[m + 1] * n[h + 1]
                mixed = C1**2 * log_term * math.sqrt(both * first[m] * first[h])
                mixed += (0.5 * C1**2 + C2) * log_term * both * first[m]
                mixed += 0.5 * C2 * log_term * n[h + 1] * first[h]
                total += n[k] * mixed
    return float(total)


def _law(x: np.ndarray[tuple[int], np.dtype[np.int64]], grid: Grid) -> PowerLaw | None:
    return power_law(x, [[p.total for p in row] for row in grid])


def _last_slope(horizons: tuple[int, ...], grid: Grid) -> float:
    """The exponent between the last two horizons: the growth has not settled before."""
    before, after = (float(np.mean([row[i].total for row in grid])) for i in (-2, -1))
    return math.log(after / before) / math.log(horizons[-1] / horizons[-2])


def _key(key: Key) -> str:
    return f"{key[0]}, log term x {key[1]:g}"


def _numbers(law: PowerLaw | None) -> list[float] | None:
    return None if law is None else [float(value) for value in law.exponent[:3]]


def _slope(law: PowerLaw | None) -> str:
    return "?" if law is None else f"{law.exponent.estimate:.2f}"


def _panels(size: Size, in_t: dict[Key, Grid], in_x: dict[Key, Grid]) -> tuple[Panel, ...]:
    wide = np.array([2.0 * n + 2.0 for n in size.widths])
    parts = (
        ("in T", "T (episodes)", np.array(size.horizons, dtype=np.float64), in_t),
        ("in |X|", "|X|", wide, in_x),
    )
    panels = []
    for title, x_label, x, grids in parts:
        series = []
        for key, grid in grids.items():
            mean = np.array(
                [np.mean([p.total for p in column]) for column in zip(*grid, strict=True)]
            )
            series.append(Series(_key(key), _key(key), x, mean))
            if key == ("box", 1.0):
                top = np.array(
                    [np.mean([p.trivial for p in column]) for column in zip(*grid, strict=True)]
                )
                series.append(Series("largest possible", "largest possible", x, top))
        note = "Means over worlds; the largest possible sum leaves every state open."
        panels.append(
            Panel(f"Open occupancy {title}", x_label, "K", tuple(series), True, True, note=note)
        )
    return tuple(panels)
