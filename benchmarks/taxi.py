"""Taxi from Gymnasium, unrolled over thirty steps: time of an episode, and memory."""

from __future__ import annotations

import tracemalloc

import gymnasium

import advmdp as am
from benchmarks.report import AT_MOST, Figure, Grid, Section, seconds
from benchmarks.worlds import World, timed_stretch

HORIZON = 30
RUN = 10_000  # the episodes that the learner is made for
TIME_TARGET = 0.2  # seconds an episode
MEMORY_TARGET = 2.0  # GB
SETTINGS: dict[str, dict[str, float]] = {"theory": {}, "preset": am.PRACTICAL["uob-reps"]}


def run(*, quick: bool) -> Section:
    """Both settings of UOB-REPS, and the peak of all arrays of world and learner."""
    env = gymnasium.make("Taxi-v4")
    section, rows = Section(), []
    tracemalloc.start()
    try:
        world = taxi(env)
        learner = am.UOBREPS(world.layout, RUN)
        am.play(world.mdp, world.losses, learner, 5, checkpoints=[5])
        peak = tracemalloc.get_traced_memory()[1] / 1e9
    finally:
        tracemalloc.stop()
    for name, parameters in SETTINGS.items():
        learner = am.UOBREPS(world.layout, RUN, **parameters)
        warm_up, n_episodes = (20, 10) if quick else (200, 40)
        am.play(world.mdp, world.losses, learner, warm_up, checkpoints=[warm_up])
        timing, played = timed_stretch(world, learner, n_episodes)
        assert played.solver is not None
        each = timing.wall / n_episodes
        rows.append(
            (
                name,
                f"{warm_up:,}",
                f"{learner.mean_width:.3f}",
                f"{'~' if timing.noisy else ''}{seconds(each)}",
                f"{played.solver.evaluations / n_episodes:.1f}",
                f"{played.solver.products / n_episodes:.1f}",
                f"{played.solver.worst_gap:.1e}",
            )
        )
        target = TIME_TARGET if name == "theory" else None
        what = f"Taxi at horizon {HORIZON}, {name}"
        figure = Figure(what, each, "s an episode", target, AT_MOST, timing.noisy)
        section.figures.append(figure)
    what = f"Taxi at horizon {HORIZON}: arrays of world and learner"
    section.figures.append(Figure(what, peak, "GB", MEMORY_TARGET, AT_MOST))
    columns = ("parameters", "after", "mean width", "episode", "evaluations", "products", "gap")
    layout = world.layout
    note = (
        f"{layout.n_states:,} states, {layout.n_actions} actions, {layout.n_entries:,} declared "
        f"triples, 300 first states behind an opening layer; arrays at their peak {peak:.2f} GB"
    )
    section.grids.append(Grid("Taxi from Gymnasium", columns, rows, note))
    return section


def taxi(env: gymnasium.Env[int, int]) -> World:
    """The table of the environment, with its own rewards as losses in every episode."""
    game = am.gym.from_gymnasium(env, HORIZON)
    assert game.mdp.natural_loss is not None
    return World(game.mdp, am.losses.Switching([game.mdp.natural_loss], period=1))
