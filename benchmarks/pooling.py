"""What counting over all time steps together does to the sets and to the regret."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import advmdp as am
from benchmarks.report import AT_MOST, Figure, Grid, Section, number

N_EPISODES, SEEDS = 20_000, 4
TARGET = 1.0  # pooled regret over the other: knowing more must not cost


def random_places(*, pooled: bool) -> am.LayeredMDP:
    """Eight places, three actions, dynamics and mean losses drawn once."""
    rng = np.random.default_rng(0)
    step = rng.dirichlet(np.ones(8), (8, 3))
    return am.time_expand(step, 12, loss=rng.random((8, 3)), pooled=pooled)


def river(*, pooled: bool) -> am.LayeredMDP:
    """River swim with six places over twenty steps."""
    return am.families.river_swim(6, 20, pooled=pooled)


def walk(*, pooled: bool) -> am.LayeredMDP:
    """A slippery grid of three by three over eight steps."""
    return am.families.grid(3, 3, 8, slip=0.3, pooled=pooled)


WORLDS: dict[str, Callable[..., am.LayeredMDP]] = {
    "random, 8 places x 12": random_places,
    "river swim, 6 x 20": river,
    "grid 3 x 3, 8 steps": walk,
}
SETTINGS: dict[str, dict[str, float]] = {"theory": {}, "preset": am.PRACTICAL["uob-reps"]}


def measured(
    make: Callable[..., am.LayeredMDP], parameters: dict[str, float], *, pooled: bool, quick: bool
) -> tuple[float, float, float]:
    """Mean regret over seeds with its standard error, and the mean width at the end."""
    mdp, n_episodes = make(pooled=pooled), N_EPISODES // (10 if quick else 1)
    assert mdp.natural_loss is not None
    losses = am.losses.Stochastic(mdp.natural_loss)
    regrets, widths = [], []
    for seed in range(SEEDS):
        learner = am.UOBREPS(mdp.layout, n_episodes, **parameters)
        played = am.play(mdp, losses, learner, n_episodes, seed=seed, checkpoints=[n_episodes])
        regrets.append(float(played.regret[-1]))
        widths.append(learner.mean_width)
    error = float(np.std(regrets, ddof=1)) / SEEDS**0.5
    return float(np.mean(regrets)), error, float(np.mean(widths))


def run(*, quick: bool) -> Section:
    """Every world under both settings, with counters of its own for each step and without."""
    section, rows = Section(), []
    for world, make in WORLDS.items():
        for setting, parameters in SETTINGS.items():
            alone, spread, width = measured(make, parameters, pooled=False, quick=quick)
            pooled, less, narrow = measured(make, parameters, pooled=True, quick=quick)
            ratio = pooled / alone
            rows.append(
                (
                    f"{world}, {setting}",
                    f"{width:.3f}",
                    f"{narrow:.3f}",
                    f"{number(alone)} ± {number(spread)}",
                    f"{number(pooled)} ± {number(less)}",
                    f"{ratio:.3f}",
                )
            )
            what = f"pooled counts, regret against separate ones: {world}, {setting}"
            target = None if parameters else TARGET  # presets carry no guarantee
            section.figures.append(Figure(what, ratio, "times", target, AT_MOST))
    columns = ("world", "width", "pooled", "regret", "pooled", "ratio")
    note = f"UOB-REPS, {SEEDS} seeds, coin flips with the natural loss, mean width at the end"
    section.grids.append(Grid("Counts pooled over time steps", columns, rows, note))
    return section
