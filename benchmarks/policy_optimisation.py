"""Policy optimisation: episodes in a second, and nanoseconds a triple up to millions of them.

Times are processor times, as in ``projections``: one thread, which other processes may interrupt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import advmdp as am
from benchmarks.report import AT_MOST, Figure, Grid, Section, number, seconds
from benchmarks.worlds import MIDDLE, SMALL, Shape, World, make_world, timed_stretch

COLUMNS = ("world", "learner", "after", "episodes/s", "time")
GROWTH = ("world", "triples", "learner", "time", "a triple")
CONSTANTS: dict[str, dict[str, float]] = {
    "dilated-bonus": {
        "eta_scale": 10.0,
        "gamma_scale": 0.001,
        "bonus_scale": 0.1,
        "log_scale": 0.002,
    },
    "pomd": {"eta_scale": 30.0, "gamma_scale": 0.003, "log_scale": 0.002},
    "apo-mvp": {"bonus_scale": 0.01},
    "oppo": {"bonus_scale": 0.01},
}
TARGETS = {SMALL: 100_000.0, MIDDLE: 15_000.0}
SMALL_EPISODES, MIDDLE_EPISODES = 200_000, 20_000
FOUR_MILLION = Shape((1, 1000, 1000, 1), 4)
GROWING = (Shape((1, 100, 100, 1), 4), Shape((1, 316, 316, 1), 4), FOUR_MILLION)
DEEP = Shape((1, *[100] * 40, 1), 10)
MOST_GROWTH = 2.0  # of the time of a triple over the last factor of ten, beyond all caches


@dataclass(frozen=True)
class Stretch:
    """One line: a learner with its constants in a world, and how much of it is timed."""

    shape: Shape
    name: str
    n_episodes: int

    def seconds_an_episode(self, world: World) -> tuple[float, bool]:
        """The fastest of several repetitions, after as many episodes to warm up; noisy or not."""
        make, horizon = am.LEARNERS[self.name].make, 2 * self.n_episodes
        learner: Any = make(world.layout, n_episodes=horizon, **CONSTANTS[self.name])
        am.play(world.mdp, world.losses, learner, self.n_episodes, seed=100, checkpoints=[1])
        timing, _ = timed_stretch(world, learner, self.n_episodes)
        return timing.cpu / self.n_episodes, timing.noisy


def rates(*, quick: bool) -> tuple[Grid, list[Figure]]:
    """Every learner in two worlds."""
    rows, figures = [], []
    for shape, n_episodes in ((SMALL, SMALL_EPISODES), (MIDDLE, MIDDLE_EPISODES)):
        world = make_world(shape)
        for name in CONSTANTS:
            stretch = Stretch(shape, name, n_episodes // (10 if quick else 1))
            each, noisy = stretch.seconds_an_episode(world)
            speed = f"{'~' if noisy else ''}{number(1 / each)}"
            rows.append((str(shape), name, f"{stretch.n_episodes:,}", speed, seconds(each)))
            what = f"{name}, {shape}"
            figures.append(Figure(what, 1 / each, "episodes/s", TARGETS[shape], noisy=noisy))
    return Grid("Policy optimisation", COLUMNS, rows), figures


def growth(*, quick: bool) -> tuple[Grid, list[Figure]]:
    """Two layers that grow; and forty of them, where bounds for all states are left out."""
    rows, figures = [], []
    shapes = GROWING[:2] if quick else (*GROWING, DEEP)
    of_triple: dict[str, list[float]] = {name: [] for name in CONSTANTS}
    for shape in shapes:
        world = make_world(shape)
        triples = world.layout.n_entries
        for name in CONSTANTS:
            if shape == DEEP and name == "dilated-bonus":
                continue  # 4,000 states, two passes each: 13 s an episode
            each, _ = Stretch(shape, name, max(3, 1_000_000 // triples)).seconds_an_episode(world)
            if shape in GROWING[-2:]:
                of_triple[name].append(each / triples)
            cells = (str(shape), f"{triples:,}", name, seconds(each), seconds(each / triples))
            rows.append(cells)
    for name, times in of_triple.items():
        what = f"{name}, time of a triple, growth"
        figures.append(Figure(what, times[-1] / times[0], "times", MOST_GROWTH, AT_MOST))
    return Grid("Policy optimisation, growth", GROWTH, rows), figures


def run(*, quick: bool) -> Section:
    """Speeds and growth."""
    grids, figures = [], []
    for part in (rates, growth):
        grid, found = part(quick=quick)
        grids.append(grid)
        figures += found
    return Section(grids, figures)
