"""The price of an unknown horizon: regret in doubling rounds, beside a learner that was told T."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import advmdp as am
from benchmarks.report import AT_MOST, Figure, Grid, Section, number
from benchmarks.worlds import SMALL, World, make_world

HORIZONS = (1_000, 10_000, 100_000, 300_000)
WORLDS, QUICK_WORLDS = 4, 2
BOUND = math.sqrt(2.0) / (math.sqrt(2.0) - 1.0)  # what the rounds' bounds add up to
PARAMETERS: dict[str, dict[str, float]] = {"theory": {}, "preset": am.PRACTICAL["uob-reps"]}
COLUMNS = ("losses", "parameters", "episodes", "tuned for T", "doubling", "ratio", "no counts kept")


class Forgetful(am.UOBREPS):
    """Takes nothing along: what the counts are worth."""

    def _adopt(self, earlier: Any) -> None:
        pass


def worlds(count: int) -> dict[str, list[World]]:
    """Coin flips, and a table with adverse stretches."""
    coins = [make_world(SMALL, seed=seed) for seed in range(count)]
    tables = [
        np.random.default_rng([seed, 1]).random(w.layout.n_rows) for seed, w in enumerate(coins)
    ]
    majority = [
        World(world.mdp, am.losses.Majority.against(table, period=100))
        for world, table in zip(coins, tables, strict=True)
    ]
    return {"coin flips": coins, "majority": majority}


def regrets(world: World, horizons: tuple[int, ...], seed: int, given: dict[str, float]) -> Any:
    """Rows: tuned, doubling, doubling without counts; one column for every horizon."""
    tuned = [
        am.play(
            world.mdp, world.losses, am.UOBREPS(world.layout, n_episodes, **given), n_episodes, seed
        ).regret[-1]
        for n_episodes in horizons
    ]
    doubled = [
        am.play(
            world.mdp,
            world.losses,
            am.Doubling(make, world.layout, **given),
            horizons[-1],
            seed,
            checkpoints=horizons,
        ).regret
        for make in (am.UOBREPS, Forgetful)
    ]
    return np.array([tuned, *doubled])


def run(*, quick: bool) -> Section:
    """The section."""
    horizons = HORIZONS[:2] if quick else HORIZONS
    section, rows = Section(), []
    for losses, cases in worlds(QUICK_WORLDS if quick else WORLDS).items():
        for name, given in PARAMETERS.items():
            mean = np.mean([regrets(w, horizons, s, given) for s, w in enumerate(cases)], axis=0)
            for n_episodes, means in zip(horizons, mean.T.tolist(), strict=True):
                tuned, doubled, forgetful = means
                # early on the adverse stretches leave no regret to compare
                ratio = doubled / tuned if tuned > 0.0 else math.nan
                cells = [number(value) for value in (tuned, doubled, ratio, forgetful)]
                rows.append((losses, name, f"{n_episodes:,}", *cells))
                if tuned > 0.0:
                    what = f"doubling, {losses}, {name}, {n_episodes:,} episodes: regret"
                    section.figures.append(Figure(what, ratio, "x tuned", BOUND, AT_MOST))
    title = f"Unknown horizon, UOB-REPS at {SMALL}, mean regret over worlds"
    note = f"the rounds' bounds add up to {BOUND:.3f} times the tuned one's, and some logarithms"
    section.grids.append(Grid(title, COLUMNS, rows, note))
    return section
