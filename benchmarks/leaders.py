"""Regularisers beside the relative entropy: episodes in a second, and cold minima.

Times of the minimum are processor times, as in ``projections``.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.sparse import csr_matrix

import advmdp as am
from benchmarks.machine import calm, rotating
from benchmarks.report import AT_MOST, Figure, Grid, Section, number, seconds
from benchmarks.worlds import MIDDLE, SMALL, Shape, World, make_world, timed_stretch

COLUMNS = ("world", "learner", "after", "episodes/s", "time", "evaluations", "residual", "gap")
MINIMUM = ("method", "time", "own time", "ratio", "own ratio", "value - ours")
EAGER = {"log_barrier": 0.1}
BITING = {"log_barrier": 0.1, "log_scale": 0.01}
MIXTURE = {**BITING, "root_scale": 1.0, "adapt_scale": 0.0}
SETS = {"log_scale": 0.01}
COLD_TARGET = 500.0


@dataclass(frozen=True)
class Rate:
    """One line: where in which run the stretch lies, and what it has to reach."""

    shape: Shape
    name: str
    parameters: dict[str, float]
    warm_up: int
    n_episodes: int
    target: float | None = None
    most_evaluations: float | None = 4.0

    def learner(self, world: World, horizon: int) -> Any:
        """The learner as the catalogue makes it."""
        entry = am.LEARNERS[self.name]
        known = {"transitions": world.mdp.transitions} if entry.knows_transition else {}
        return entry.make(world.layout, n_episodes=horizon, **known, **self.parameters)


RATES = (
    Rate(SMALL, "tsallis-ftrl", EAGER, 10_000, 200_000, 60_000),
    Rate(SMALL, "log-barrier-ftrl", {}, 10_000, 200_000, 60_000),
    Rate(SMALL, "uob-ftrl", BITING, 10_000, 200_000, 60_000),
    Rate(SMALL, "optimistic-ftrl", MIXTURE, 10_000, 200_000, 60_000),
    Rate(MIDDLE, "tsallis-ftrl", EAGER, 5_000, 20_000, 10_000),
    Rate(MIDDLE, "uob-ftrl", BITING, 5_000, 20_000, 10_000),
    Rate(MIDDLE, "optimistic-ftrl", MIXTURE, 5_000, 20_000, 10_000),
    Rate(SMALL, "uob-log-barrier", SETS, 10_000, 50_000, most_evaluations=None),
    Rate(MIDDLE, "uob-log-barrier", SETS, 2_000, 3_000, 2_000, most_evaluations=None),
)


def measure(rate: Rate, *, quick: bool) -> tuple[tuple[str, ...], list[Figure]]:
    """Cells of one line, and its figures."""
    shrink = 10 if quick else 1
    warm_up, n_episodes = rate.warm_up // shrink, rate.n_episodes // shrink
    world = make_world(rate.shape)
    learner = rate.learner(world, warm_up + n_episodes)
    am.play(world.mdp, world.losses, learner, warm_up, seed=100, checkpoints=[1])
    timing, run = timed_stretch(world, learner, n_episodes)
    assert run.solver is not None
    each = timing.wall / n_episodes
    evaluations = run.solver.evaluations / run.solver.projections
    cells = (
        str(rate.shape),
        rate.name,
        f"{warm_up:,}",
        f"{'~' if timing.noisy else ''}{number(1 / each)}",
        seconds(each),
        f"{evaluations:.2f}",
        f"{run.solver.worst_residual:.0e}",
        f"{run.solver.worst_gap:.0e}",
    )
    what = f"{rate.name}, {rate.shape}"
    return cells, [
        Figure(what, 1 / each, "episodes/s", rate.target, noisy=timing.noisy),
        Figure(f"{what}, evaluations", evaluations, "a step", rate.most_evaluations, AT_MOST),
    ]


def conic(
    solver: str, world: World, cost: np.ndarray[Any, Any], w: float, b: float
) -> tuple[float, float]:
    """The value and the solver's own seconds; a variable for each pair, sparse flow equations."""
    layout = world.layout
    chance = np.array(world.mdp.flat)
    rows, successors = layout.entry_rows(), layout.entry_successors()
    shape = (layout.n_states, layout.n_rows)
    owners = np.repeat(np.arange(layout.n_states - 1), layout.n_actions)
    outflow = csr_matrix((np.ones(layout.n_rows), (owners, np.arange(layout.n_rows))), shape)
    flow = (outflow - csr_matrix((chance, (successors, rows)), shape))[:-1]
    q = cp.Variable(layout.n_rows)
    objective = cost @ q
    if w > 0.0:
        objective -= w * cp.sum(cp.sqrt(q))
    if b > 0.0:
        objective -= b * cp.sum(cp.log(q))
    start = np.zeros(layout.n_states - 1)
    start[0] = 1.0
    problem = cp.Problem(cp.Minimize(objective), [flow @ q == start])
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.solve(solver=solver)
    stats = problem.solver_stats
    own = stats.solve_time if stats.solve_time is not None else time.perf_counter() - begin
    return float(problem.value), float(own)


def cold(shape: Shape, *, quick: bool) -> tuple[Grid, Figure]:
    """One minimum from scratch, ours and theirs, for three regularisers."""
    world = make_world(shape)
    known = am.KnownTransition(world.layout, world.mdp.transitions)
    cost = 20.0 * np.random.default_rng(2).random(world.layout.n_rows)
    rows, ratios = [], []
    for name, w, b in (("Tsallis and barrier", 10.0, 0.1), ("barrier", 0.0, 1.0)):
        regulariser: Any = am.Tsallis(1.0 / w, log_barrier=b) if w > 0.0 else am.LogBarrier(b)
        ours: Callable[[], am.Minimum] = partial(am.minimise, cost, known, regulariser)
        value, base = ours().value, rotating([ours], 20 if quick else 200)[0].cpu
        rows.append((f"{name}: am.minimise", seconds(base), seconds(base), "1", "1", "0"))
        fastest = math.inf
        for solver in ("CLARABEL", "ECOS"):
            timing, (theirs, own) = calm(partial(conic, solver, world, cost, w, b))
            fastest = min(fastest, timing.cpu)
            ratio, own_ratio = number(timing.cpu / base), number(own / base)
            times = (seconds(timing.cpu), seconds(own), ratio, own_ratio)
            rows.append((f"{name}: {solver}", *times, f"{theirs - value:.0e}"))
        ratios.append(fastest / base)
    title = f"Minimum over a known transition at {shape}, cold"
    figure = Figure(f"{title}: fastest rival", min(ratios), "times ours", COLD_TARGET)
    return Grid(title, MINIMUM, rows, "A variable for each pair; default tolerances."), figure


def run(*, quick: bool) -> Section:
    """Warm steps inside a run, and a cold minimum."""
    section = Section()
    rows = []
    for rate in RATES:
        cells, figures = measure(rate, quick=quick)
        rows.append(cells)
        section.figures += figures
    section.grids.append(Grid("Follow the regularised leader", COLUMNS, rows))
    grid, figure = cold(MIDDLE, quick=quick)
    section.grids.append(grid)
    section.figures.append(figure)
    return section
