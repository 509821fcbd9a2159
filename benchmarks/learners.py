"""Every learner of the catalogue on one world: compiled episodes in a second, and its regret."""

from __future__ import annotations

from typing import Any

import advmdp as am
from benchmarks.report import Figure, Grid, Section, number
from benchmarks.worlds import MIDDLE, World, make_world

N_EPISODES = 20_000
WITH_PROJECTION, WITHOUT, IN_PYTHON = 8_000, 30_000, 1_000  # episodes per second to reach
OF_ITS_OWN = {"ada-ftrl": 50_000, "ada-o-reps": 8_000}  # which have a target of their own


def make(name: str, world: World, n_episodes: int) -> Any:
    """A learner by its name, with the parameters of the theory."""
    entry = am.LEARNERS[name]
    arguments: dict[str, Any] = {"n_episodes": n_episodes} if entry.has_horizon else {}
    if entry.knows_transition:
        arguments["transitions"] = world.mdp.transitions
    return entry.make(world.layout, **arguments)


def best_run(name: str, world: World, n_episodes: int) -> am.Run:
    """The quickest of three runs, after one that compiles."""
    am.play(world.mdp, world.losses, make(name, world, 3), 3)
    runs = [
        am.play(world.mdp, world.losses, make(name, world, n_episodes), n_episodes, seed=1)
        for _ in range(3)
    ]
    return min(runs, key=lambda run: run.seconds)


def run(*, quick: bool) -> Section:
    """One line for each learner."""
    n_episodes = N_EPISODES // 10 if quick else N_EPISODES
    world = make_world(MIDDLE)
    section, rows = Section(), []
    for name, entry in am.LEARNERS.items():
        played = best_run(name, world, n_episodes)
        rate = n_episodes / played.seconds
        projects = played.solver is not None
        rows.append((name, entry.setting, number(rate), number(float(played.regret[-1]))))
        target = WITH_PROJECTION if projects else WITHOUT if played.compiled else IN_PYTHON
        target = OF_ITS_OWN.get(name, target)
        section.figures.append(Figure(f"{name}, {MIDDLE}", rate, "episodes/s", target))
    title = f"All learners, {MIDDLE}, {n_episodes:,} episodes from the first"
    columns = ("learner", "setting", "episodes/s", "regret")
    section.grids.append(Grid(title, columns, rows, "theory parameters, same world and seed"))
    return section
