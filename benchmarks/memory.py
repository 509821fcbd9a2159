"""Memory of a learner and its world, in tables of triples."""

from __future__ import annotations

import gc
import tracemalloc

import advmdp as am
from benchmarks.report import AT_MOST, Figure, Grid, Section
from benchmarks.worlds import LARGE, World, make_world

EPISODES = 20
TARGET = 15.0


def run(*, quick: bool) -> Section:
    """The section; ``quick`` makes no difference, it takes seconds.

    ``tracemalloc`` counts every NumPy array exactly, also the pages that nothing has touched yet,
    and nothing of the interpreter or of compiled code.
    """
    _play(make_world(LARGE))  # compile first, so that only arrays are counted below
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        world = make_world(LARGE)
        world_held = tracemalloc.get_traced_memory()[0] - before
        learner = am.UOBREPS(world.layout, n_episodes=EPISODES)
        both_held = tracemalloc.get_traced_memory()[0] - before
        building_peak = tracemalloc.get_traced_memory()[1] - before
        tracemalloc.reset_peak()
        run_of_world = _play(world, learner)
        playing_peak = tracemalloc.get_traced_memory()[1] - before
        assert run_of_world.episodes[-1] == EPISODES
        gc.collect()
        after = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    table = 8 * world.layout.n_entries
    figures = [
        Figure("memory: the world", world_held / table, "tables"),
        Figure("memory: learner and world", both_held / table, "tables", TARGET, AT_MOST),
        Figure("memory: peak while building", building_peak / table, "tables"),
        Figure("memory: peak while playing", playing_peak / table, "tables", TARGET, AT_MOST),
        Figure("memory: held after playing", after / table, "tables"),
    ]
    grid = Grid(
        f"Memory at {LARGE}",
        ("what", "tables of triples", "MB"),
        [
            (
                figure.what.removeprefix("memory: "),
                f"{figure.value:.2f}",
                f"{figure.value * table / 1e6:.1f}",
            )
            for figure in figures
        ],
        f"one table is {world.layout.n_entries:,} float64; counted by tracemalloc",
    )
    return Section([grid], figures)


def _play(world: World, learner: am.UOBREPS | None = None) -> am.Run:
    learner = learner or am.UOBREPS(world.layout, n_episodes=EPISODES)
    return am.play(world.mdp, world.losses, learner, EPISODES)
