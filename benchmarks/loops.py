"""What Python costs around the kernels: ``policy()``, and checkpoints at every episode."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial

import numpy as np

import advmdp as am
from benchmarks.machine import best_of, rotating
from benchmarks.report import AT_MOST, Figure, Grid, Section, seconds
from benchmarks.worlds import LARGE, MIDDLE, SMALL, Shape, World, make_world

HUNDRED = Shape((1, 33, 33, 32, 1), 4)  # a hundred states
POLICY_TARGET = 3e-6  # seconds
CALLS = 20_000
SLOWDOWN_TARGET = 1.2
LOOKED_AT = (
    (SMALL, 50_000, True, SLOWDOWN_TARGET),
    (MIDDLE, 4_000, True, SLOWDOWN_TARGET),
    (LARGE, 100, True, None),
    (SMALL, 5_000, False, SLOWDOWN_TARGET),
)


def slowdown(world: World, n_episodes: int, *, compiled: bool, rounds: int) -> tuple[float, float]:
    """Processor seconds of an episode: looked at once at the end, and after every episode."""
    learner = am.UOBREPS(world.layout, n_episodes)

    def stretch(points: list[int]) -> None:
        fresh = copy.deepcopy(learner, {id(learner.layout): learner.layout})
        am.play(world.mdp, world.losses, fresh, n_episodes, checkpoints=points, compiled=compiled)

    every = np.arange(1, n_episodes + 1).tolist()
    runs: list[Callable[[], object]] = [partial(stretch, [n_episodes]), partial(stretch, every)]
    rotating(runs, 1)  # compiles
    once, always = rotating(runs, rounds)
    return once.cpu / n_episodes, always.cpu / n_episodes


def looked_at(section: Section, *, quick: bool) -> Grid:
    """The same run with one checkpoint and with one at every episode, in turns."""
    rows = []
    for shape, n_episodes, compiled, target in LOOKED_AT:
        shorter = max(n_episodes // (10 if quick else 1), 20)
        times = slowdown(make_world(shape), shorter, compiled=compiled, rounds=3 if quick else 7)
        loop = "compiled" if compiled else "protocol"
        ratio = times[1] / times[0]
        rows.append((str(shape), loop, *map(seconds, times), f"{ratio:.2f}"))
        what = f"a checkpoint at every episode, {shape}, {loop}"
        section.figures.append(Figure(what, ratio, "times as long", target, AT_MOST))
    columns = ("world", "loop", "one checkpoint", "at every episode", "ratio")
    note = "time of an episode; the best fixed policy of the losses so far is found at each"
    return Grid("Checkpoints", columns, rows, note)


def methods(section: Section) -> Grid:
    """``policy()`` of layouts of several sizes."""
    rows = []
    for shape, target in ((SMALL, None), (HUNDRED, POLICY_TARGET), (LARGE, None)):
        learner = am.UOBREPS(make_world(shape).layout, 100)

        def ask(learner: am.UOBREPS = learner) -> None:
            for _ in range(CALLS):
                learner.policy()

        timing = best_of(ask)
        each = timing.cpu / CALLS
        rows.append((str(shape), f"{learner.layout.n_states:,}", seconds(each)))
        what = f"policy(), {shape}"
        section.figures.append(Figure(what, each, "s", target, AT_MOST, timing.noisy))
    return Grid("policy()", ("world", "states", "a call"), rows, "a new table in every call")


def run(*, quick: bool) -> Section:
    """Both tables."""
    section = Section()
    section.grids = [looked_at(section, quick=quick), methods(section)]
    return section
