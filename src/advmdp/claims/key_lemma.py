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
from typing import Any

import numpy as np

from advmdp.claims.bounds import upper_bound
from advmdp.claims.chances import judged
from advmdp.claims.finding import Finding
from advmdp.claims.lab import Lab
from advmdp.claims.witness import watch
from advmdp.claims.worlds import MakeLearner, random_world, seeded, shape_name
from advmdp.kernels.accounting.witness import MISSED, Witness
from advmdp.layout import Floats, Layout
from advmdp.learners.tuning import width_log_term
from advmdp.learners.uob_reps import UOBREPS, UOBREPSL1
from advmdp.reports.figures.panels import Panel, Series
from advmdp.reports.statistics import power_law

C1 = 4.0 * math.sqrt(2.0)
C2 = 4.0 * (2.0 * (1.0 + math.sqrt(17.0 / 3.0)) + 14.0 / 3.0)
"""From |P^ - P| <= 2 epsilon, the quadratic inequality of Lemma 8, and N - 1 >= N / 2."""
ACTIONS, DELTA = 2, 0.1
LEADING = "L|X| sqrt(|A| T ln(T|X||A|/delta))"
SMALL = 0.1
"""A factor on the log term with which runs of these sizes are still covered."""


@dataclass(frozen=True)
class Size:
    """Horizons on one shape, widths (1, n, n, 1) with one horizon, and two layers (1, n, 1)."""

    horizons: tuple[int, ...]
    widths: tuple[int, ...]
    width_horizon: int
    n_runs: int
    layers: tuple[int, ...] = (1, 3, 3, 1)
    short: tuple[int, ...] = (1, 3, 1)


QUICK = Size((1000, 4000, 16_000, 64_000), (2, 4, 8), 50_000, 2)
FULL = Size((10_000, 40_000, 160_000, 640_000), (2, 4, 8, 16), 100_000, 6)


@dataclass(frozen=True)
class _Point:
    """One run."""

    total: float  # K
    trivial: float
    bound: float  # with the proof's constants; box set only
    leading: float  # L |X| sqrt(|A| T ln(T |X| |A| / delta))
    covered: bool


@dataclass(frozen=True)
class _Sweep:
    """Runs along one axis: a row for each world, a column for each place on the axis."""

    x: Floats
    points: list[list[_Point]]

    def column_means(self, name: str) -> Floats:
        table = [[float(getattr(point, name)) for point in row] for row in self.points]
        means: Floats = np.array(table).mean(axis=0)
        return means

    @property
    def last_slope(self) -> float:
        """The exponent between the last two places: before, the growth has not settled."""
        rise = np.diff(np.log(self.column_means("total")))
        return float(rise[-1] / np.diff(np.log(self.x))[-1])


def measure(lab: Lab) -> Finding:
    """The claim at the lab's effort."""
    return seeded(lab, examine(QUICK if lab.quick else FULL, lab.rng("key lemma")))


def examine(
    size: Size,
    rng: np.random.Generator,
    make: MakeLearner = UOBREPS,
    make_l1: MakeLearner = UOBREPSL1,
) -> Finding:
    """Growth in T and in |X| for both sets, in the same worlds, and the bound for the box set."""
    seeds = rng.integers(2**31, size=size.n_runs)
    makers = {"box": make, "L1": make_l1}
    in_t = {
        (name, scale): _Sweep(
            np.array(size.horizons, dtype=np.float64),
            [[_run(size.layers, t, s, maker, scale) for t in size.horizons] for s in seeds],
        )
        for scale in (1.0, SMALL)
        for name, maker in makers.items()
    }
    shapes = [(1, n, n, 1) for n in size.widths]
    in_x = {
        (name, SMALL): _Sweep(
            np.array([sum(shape) for shape in shapes], dtype=np.float64),
            [[_run(shape, size.width_horizon, s, maker, SMALL) for shape in shapes] for s in seeds],
        )
        for name, maker in makers.items()
    }
    boxes = [in_t["box", 1.0], in_t["box", SMALL], in_x["box", SMALL]]
    points = [point for sweep in boxes for row in sweep.points for point in row]
    points += [_run(size.short, size.horizons[-1], s, make, 1.0) for s in seeds]
    telling = [p for p in points if p.covered and p.bound < p.trivial]
    share = max((p.total / p.bound for p in telling), default=None)
    last = in_t["box", 1.0].points[0][-1]
    t_slopes = {key: sweep.last_slope for key, sweep in in_t.items()}
    x_slopes = {key: sweep.last_slope for key, sweep in in_x.items()}
    return Finding(
        claim="key lemma",
        reference="Lemma 4 (lem:key_lemma)",
        checked=(
            "sum of |q^{P_t^x} - q_t| for the worst P_t^x of every set against the lemma with the "
            "constants of its proof; growth in T and in |X|, box set and L1 set"
        ),
        instances=(
            f"{size.n_runs} random worlds each: {shape_name(size.layers, ACTIONS)} with T = "
            f"{', '.join(f'{t:,}' for t in size.horizons)} and the log term x 1 and {SMALL}; "
            f"1,n,n,1 x{ACTIONS} with n = {', '.join(str(n) for n in size.widths)}, T = "
            f"{size.width_horizon:,} and x {SMALL}; {shape_name(size.short, ACTIONS)} with the "
            "last T and x 1"
        ),
        measured=(
            f"at the last step K grows like T^{t_slopes['box', 1.0]:.2f} (x {SMALL}: "
            f"T^{t_slopes['box', SMALL]:.2f}) and |X|^{x_slopes['box', SMALL]:.2f}; with the L1 "
            f"set like T^{t_slopes['L1', 1.0]:.2f} (T^{t_slopes['L1', SMALL]:.2f}) and "
            f"|X|^{x_slopes['L1', SMALL]:.2f}; K is {last.total / last.leading:.2f} times "
            + LEADING
        ),
        bound=(
            "T^0.5 and |X|^1 when the leading term rules; with constants the bound is below the "
            f"largest possible sum in {len(telling)} of {len(points)} runs"
        ),
        margin=(
            "no run is long enough: the bound with constants exceeds the largest possible sum"
            if share is None
            else f"at most {share:.0%} of the bound with constants in those runs"
        ),
        verdict=judged(all(p.total <= p.bound for p in telling), can_fail=bool(telling)),
        panels=(
            _panel("in T", "T (episodes)", in_t),
            _panel("in |X|", "|X|", in_x),
        ),
        data={
            "telling_runs": len(telling),
            "largest_share": share,
            "in_T": {_name(key): _figures(sweep) for key, sweep in in_t.items()},
            "in_X": {_name(key): _figures(sweep) for key, sweep in in_x.items()},
        },
    )


def _run(
    layers: tuple[int, ...], n_episodes: int, seed: int, make: MakeLearner, scale: float
) -> _Point:
    mdp, losses, run_seed = random_world(layers, ACTIONS, np.random.default_rng(seed))
    layout = mdp.layout
    learner = make(layout, n_episodes, delta=DELTA, log_scale=scale)
    notes = watch(mdp, losses, learner, n_episodes, run_seed).last
    log_term = width_log_term(layout, n_episodes, DELTA)
    return _Point(
        total=float(notes.spread.sum()),
        trivial=float(n_episodes * sum(layout.layer_sizes[1:-1])),
        bound=bound(layout, scale * log_term, notes),
        leading=upper_bound(layout, n_episodes, DELTA),
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


Sweeps = dict[tuple[str, float], _Sweep]


def _name(key: tuple[str, float]) -> str:
    return f"{key[0]}, log term x {key[1]:g}"


def _figures(sweep: _Sweep) -> dict[str, Any]:
    totals = [[point.total for point in row] for row in sweep.points]
    law = power_law(sweep.x, totals)
    return {
        "x": sweep.x.tolist(),
        "K": sweep.column_means("total").tolist(),
        "largest_possible": sweep.column_means("trivial").tolist(),
        "leading_term": sweep.column_means("leading").tolist(),
        "exponent": None if law is None else law.exponent.estimate,
        "last_exponent": sweep.last_slope,
    }


def _panel(title: str, x_label: str, sweeps: Sweeps) -> Panel:
    series = [
        Series(_name(key), _name(key), sweep.x, sweep.column_means("total"))
        for key, sweep in sweeps.items()
    ]
    any_sweep = next(iter(sweeps.values()))
    limits = {"trivial": ("upper bound", "largest possible"), "leading": ("bound", LEADING)}
    for name, (key, label) in limits.items():
        series.append(Series(key, label, any_sweep.x, any_sweep.column_means(name)))
    note = "Means over worlds; the largest possible sum leaves every state open."
    return Panel(f"Open occupancy {title}", x_label, "K", tuple(series), True, True, note=note)
