"""``python -m benchmarks.known_rows``: the regret that knowing single rows of the transition saves.

Every learner with a confidence set plays the same worlds with ever more rows known: none, a
quarter, a half, three quarters, all; and the rows that one would know in practice: deterministic
moves, and the draw of the start state.  Worlds are paired: level by level the same transition,
losses and random numbers, and the rows of a level contain those of the level before.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

import advmdp as am
from benchmarks.machine import describe, load, source_stamp

RESULTS = Path(__file__).parent / "known_rows.json"
N_EPISODES, N_WORLDS = 20_000, 8
SHARES = {"none": 0.0, "1/4": 0.25, "1/2": 0.5, "3/4": 0.75, "all": 1.0}


def random_layers(seed: int) -> am.LayeredMDP:
    """Dirichlet rows and mean losses uniform on [0, 1], drawn anew for every world."""
    mdp = am.families.random_mdp((1, 5, 5, 5, 5, 1), 3, seed)
    mean = np.random.default_rng([seed, 1]).random(mdp.layout.n_rows)
    return am.LayeredMDP(mdp.layout, mdp.flat, natural_loss=mean)


def grid(seed: int) -> am.LayeredMDP:
    """A slippery walk, on which only staying is certain."""
    return am.families.grid(3, 3, horizon=8, slip=0.3)


def river(seed: int) -> am.LayeredMDP:
    """Drifting is certain, swimming is not."""
    return am.families.river_swim(length=5, horizon=10)


def opening(seed: int) -> am.LayeredMDP:
    """Six places, three actions, five steps, from a start state that is drawn."""
    rng = np.random.default_rng(seed)
    step, start = rng.dirichlet(np.ones(6), (6, 3)), rng.dirichlet(np.ones(6))
    return am.time_expand(step, 5, start, loss=rng.random((6, 3)))


WORLDS: dict[str, Callable[[int], am.LayeredMDP]] = {
    "layers 1,5x4,1 x3": random_layers,
    "grid 3 x 3, 8 steps": grid,
    "river swim, 5 x 10": river,
    "drawn start, 6 places x 5": opening,
}
LEARNERS: dict[str, tuple[str, dict[str, float]]] = {
    "uob-reps": ("uob-reps", {}),
    "uob-reps, preset": ("uob-reps", am.PRACTICAL["uob-reps"]),
    "uc-o-reps": ("uc-o-reps", {}),
    "fpop": ("fpop", {}),
    "ucrl2": ("ucrl2", {}),
}


def levels(mdp: am.LayeredMDP, seed: int) -> dict[str, am.LayeredMDP]:
    """The same MDP with ever more rows known, and with those that are plain to see."""
    n_rows = mdp.layout.n_rows
    order = np.random.default_rng([seed, 2]).permutation(n_rows)
    found = {
        name: mdp.with_known_rows(order < round(share * n_rows)) for name, share in SHARES.items()
    }
    first = mdp.layout.pairs(np.zeros(n_rows))
    first[0][:] = mdp.opening
    certain = [np.maximum(a, b) for a, b in zip(mdp.deterministic_rows, first, strict=True)]
    found["plain"] = mdp.with_known_rows(certain)
    return found


def regrets(task: tuple[str, str, int]) -> dict[str, float]:
    """The final regret of one learner in one world at every level."""
    world, learner, seed = task
    mdp = WORLDS[world](seed)
    name, parameters = LEARNERS[learner]
    entry = am.LEARNERS[name]
    given: dict[str, Any] = {"n_episodes": N_EPISODES} if entry.has_horizon else {}
    losses, ends = am.losses.Stochastic(mdp.natural_loss), {}
    for level, told in levels(mdp, seed).items():
        made = entry.make(told.layout, **given, **parameters)
        run = am.play(told, losses, made, N_EPISODES, seed=seed, checkpoints=[N_EPISODES])
        ends[level] = float(run.regret[-1])
    return ends


def known_share(world: str) -> float:
    """The part of the rows that is plain to see, those of the last layer included."""
    told = levels(WORLDS[world](0), 0)["plain"].layout.known
    return 0.0 if told is None else float(told[0].mean())


def interval(values: list[float]) -> tuple[float, float]:
    """Mean and half the length of its 95% interval (Student)."""
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return float(np.mean(values)), float(student.ppf(0.975, len(values) - 1)) * error


def saved(ends: list[dict[str, float]], level: str) -> tuple[float, float]:
    """The share of the regret that a level saves, world by world."""
    return interval([1.0 - end[level] / end["none"] for end in ends])


def table(measured: dict[str, dict[str, list[dict[str, float]]]]) -> str:
    """In Markdown: the regret with nothing known, and the share of it that every level saves."""
    wanted = [level for level in (*SHARES, "plain") if level != "none"]
    lines = [
        f"| world | learner | regret, none known | {' | '.join(wanted)} |",
        f"|---|---|---:|{'---:|' * len(wanted)}",
    ]
    for world, learners in measured.items():
        for learner, ends in learners.items():
            mean, half = interval([end["none"] for end in ends])
            shares = (saved(ends, level) for level in wanted)
            cells = [f"{100 * share:.0f} ± {100 * error:.0f}%" for share, error in shares]
            lines.append(
                f"| {world} | {learner} | {mean:,.0f} ± {half:,.0f} | {' | '.join(cells)} |"
            )
    return "\n".join(lines)


def main() -> None:
    """Play everything, print the table, keep the figures."""
    begin = time.perf_counter()
    tasks = list(product(WORLDS, LEARNERS, range(N_WORLDS)))
    measured: dict[str, dict[str, list[dict[str, float]]]] = {
        world: {learner: [] for learner in LEARNERS} for world in WORLDS
    }
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for (world, learner, _), ends in zip(tasks, pool.map(regrets, tasks), strict=True):
            measured[world][learner].append(ends)
    print(table(measured))
    for world in WORLDS:
        print(f"{world}: {known_share(world):.0%} of the rows are plain to see")
    result = {
        "machine": describe(),
        "when": time.strftime("%Y-%m-%d %H:%M:%S"),
        "seconds": round(time.perf_counter() - begin, 1),
        "load": load(),
        "source": source_stamp(),
        "episodes": N_EPISODES,
        "plain": {world: known_share(world) for world in WORLDS},
        "regret": measured,
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
