"""COMP-UOB and GREEDY: u_t is the maximum over the confidence set, and it bounds both measures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from advmdp.claims import oracles
from advmdp.claims.chances import judged
from advmdp.claims.finding import Finding
from advmdp.claims.lab import Lab
from advmdp.claims.witness import watch
from advmdp.claims.worlds import MakeLearner, seeded, shape_name, switching_world
from advmdp.kernels.accounting import witness as kernel
from advmdp.layout import Layout, Table
from advmdp.learners.uob_reps import UOBREPS
from advmdp.steps.confidence import BoxSet
from advmdp.steps.upper_occupancy import upper_occupancy

Bounds = Callable[[Any, BoxSet], Table]
SHAPES = (((1, 2, 1), 3), ((1, 3, 3, 1), 2), ((1, 2, 4, 3, 1), 2))
TOLERANCE = 1e-9  # of the linear programmes
ROUNDING = 1e-12


@dataclass(frozen=True)
class Size:
    """Linear programmes for each shape, and runs for each log scale."""

    n_programmes: int
    n_rows: int
    n_runs: int
    n_episodes: int


QUICK, FULL = Size(8, 200, 6, 4000), Size(100, 5000, 20, 100_000)
SCALES = (1.0, 0.05, 0.002)
"""Log terms: the printed one, one that bites, and one so small that P is lost."""


def measure(lab: Lab) -> Finding:
    """The claim at the lab's effort."""
    return seeded(lab, examine(QUICK if lab.quick else FULL, lab.rng("upper bounds")))


def examine(
    size: Size,
    rng: np.random.Generator,
    make: MakeLearner = UOBREPS,
    bounds: Bounds = upper_occupancy,
) -> Finding:
    """Linear programmes, then whole runs."""
    absent = oracles.missing("scipy")
    programme = 0.0 if absent else _against_programmes(size, rng, bounds)
    runs = _runs(size, rng, make)
    sound = (
        programme <= TOLERANCE and runs["iterate"] <= ROUNDING and runs["truth_covered"] <= ROUNDING
    )
    compared = absent or f"largest difference to the linear programmes {programme:.1e}"
    return Finding(
        claim="upper occupancy bounds",
        reference="Eqs. (UOB), (DP), algorithms COMP-UOB and GREEDY",
        checked=(
            "u against one linear programme for each state, GREEDY against one for each row "
            "(never visited rows included); q^_t <= u_t for every pair in every episode; "
            "q_t <= u_t in every episode whose set holds P"
        ),
        instances=(
            f"{size.n_programmes} random sets on each of "
            f"{', '.join(shape_name(*shape) for shape in SHAPES)}; {size.n_rows} single rows; "
            f"{size.n_runs} runs of {size.n_episodes} episodes on 1,4,4,1 x2 with the log term "
            f"x {', '.join(str(s) for s in SCALES)}"
        ),
        measured=(
            f"{compared}; largest q^_t - u_t {runs['iterate']:.1e}; largest q_t - u_t "
            f"{runs['truth_covered']:.1e} over {runs['covered']:.0f} covered episodes"
        ),
        bound=f"{TOLERANCE:.0e} (accuracy of the solver); {ROUNDING:.0e} (rounding)",
        margin=(
            f"without coverage ({runs['lost']:.0f} episodes) q_t exceeds u_t by up to "
            f"{runs['truth_lost']:.2f}: the comparison could have failed"
        ),
        verdict=judged(sound, can_fail=runs["truth_lost"] > ROUNDING),
        data={"programmes": None if absent else programme, **runs},
    )


def random_box(layout: Layout, rng: np.random.Generator) -> BoxSet:
    """The printed set of random counts, from never visited to well known."""
    visits = np.floor(2000.0 ** rng.random(layout.n_rows) - 1.0)
    start = layout.row_start
    triples = np.concatenate(
        [
            rng.multinomial(int(n), rng.dirichlet(np.ones(start[r + 1] - start[r])))
            for r, n in enumerate(visits)
        ]
    ).astype(np.float64)
    return BoxSet.from_counts(layout, visits, triples, log_term=float(rng.choice([0.1, 1.0, 5.0])))


def random_policy(layout: Layout, rng: np.random.Generator) -> Table:
    """A policy that may be nearly deterministic."""
    flat = rng.dirichlet(np.full(layout.n_actions, 0.5), layout.n_states - 1).ravel()
    return layout.pairs(flat)


def _against_programmes(size: Size, rng: np.random.Generator, bounds: Bounds) -> float:
    worst = 0.0
    for sizes, n_actions in SHAPES:
        layout = Layout(sizes, n_actions)
        for _ in range(size.n_programmes):
            box, policy = random_box(layout, rng), random_policy(layout, rng)
            flat = layout.flat_pairs(policy)
            exact = oracles.upper_occupancy(layout, flat, box)
            worst = max(worst, float(abs(layout.flat_pairs(bounds(policy, box)) - exact).max()))
    for _ in range(size.n_rows):
        worst = max(worst, _one_row(rng, bounds))
    return worst


def _one_row(rng: np.random.Generator, bounds: Bounds) -> float:
    """GREEDY alone: from x_0 one row leads to n states, which reach the target with chance f.

    The chances f are those of a known second step, so that u of the target is the maximum.
    """
    n = int(rng.integers(2, 9))
    layout = Layout((1, n, 2, 1), 1)
    first = random_box(Layout((1, n, 1), 1), rng)
    f = rng.random(n) * rng.integers(0, 2, n)  # ties at zero
    second = np.stack([f, 1.0 - f], axis=1)[:, None, :]
    last = np.ones((2, 1, 1))
    low, high = first.lower[0], first.upper[0]
    box = BoxSet(layout, [low, second, last], [high, second, last])
    ones = [np.ones((1, 1)), np.ones((n, 1)), np.ones((2, 1))]
    greedy = float(bounds(ones, box)[2][0, 0])
    return abs(greedy - oracles.best_row(f, low.ravel(), high.ravel()))


def _runs(size: Size, rng: np.random.Generator, make: MakeLearner) -> dict[str, float]:
    """The largest violations over runs, and how many episodes were covered."""
    found = {
        "iterate": -1.0,
        "truth_covered": -1.0,
        "truth_lost": -1.0,
        "covered": 0.0,
        "lost": 0.0,
    }
    for scale in SCALES:
        for _ in range(size.n_runs):
            mdp, losses, seed = switching_world((1, 4, 4, 1), 2, rng, period=100)
            learner = make(mdp.layout, size.n_episodes, log_scale=scale, eta_scale=4.0)
            notes = watch(mdp, losses, learner, size.n_episodes, seed).last
            lost = float(notes.counts[kernel.LOST_EPISODES])
            found["lost"] += lost
            found["covered"] += size.n_episodes - lost
            for name, place in (
                ("iterate", kernel.ITERATE_ABOVE),
                ("truth_covered", kernel.TRUTH_ABOVE),
                ("truth_lost", kernel.LOST_TRUTH_ABOVE),
            ):
                found[name] = max(found[name], float(notes.worst[place]))
    return found
