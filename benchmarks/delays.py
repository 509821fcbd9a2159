"""``python -m benchmarks.delays``: what late feedback costs, and what its denominator is worth.

Constant delays d.  Losses are coin flips that are held for d + 1 episodes, the construction behind
the lower bound sqrt(T D): all that is learnt of a stretch comes when it is over.  The best action
of every state has a mean loss that is smaller by a gap; of several gaps the worst counts, learner
by learner, as everywhere in this package.  In worlds that turn, it is the other action that is
better in the first quarter of the episodes: a learner that has locked itself in by then is lost.
Draws docs/figures/delays.svg.
"""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import advmdp as am
from benchmarks.known_rows import interval
from benchmarks.machine import describe, source_stamp

FOLDER = Path(__file__).parent
RESULTS, FIGURE = FOLDER / "delays.json", FOLDER.parent / "docs" / "figures" / "delays.svg"
LAYERS, N_ACTIONS, N_EPISODES, N_WORLDS = (1, 3, 3, 1), 2, 20_000, 12
DELAYS = (0, 10, 100, 1_000)
GAPS = (0.05, 0.1, 0.2, 0.4, 0.8)
TURNS = {"steady": 0.0, "turning": 0.25}
"""The share of the episodes in which the better action is the other one."""
READINGS: dict[str, dict[str, str]] = {
    "delayed-uob-reps": {
        "max(u_j, u): adapted": "adapted",
        "u_j: of its own time": "own-time",
        "u: of today (a control)": "today",
        "wait, drop the rest (a control)": "wait",
    },
    "dapo": {
        "u_j over r_j: adapted": "adapted",
        "u_j: of its own time": "own-time",
        "u: of today (a control)": "today",
        "wait, drop the rest (a control)": "wait",
    },
}
TUNING: dict[str, dict[str, float]] = {
    "delayed-uob-reps": {"log_scale": 0.01, "eta_scale": 4.0, "gamma_scale": 1.0},
    "dapo": {"log_scale": 0.002, "eta_scale": 10.0, "gamma_scale": 0.001, "bonus_scale": 0.1},
}
"""That of dapo is what the docstring of DilatedBonus names."""
LEARNERS = {"delayed-uob-reps": am.DelayedUOBREPS, "dapo": am.DAPO}
Measured = dict[str, dict[str, dict[str, Any]]]
"""By reading and delay: the worst gap, and its regret."""
Task = tuple[str, str, str, int, float, int]


def held_coins(
    mdp: am.LayeredMDP, gap: float, delay: int, seed: int, turned: float
) -> am.losses.Switching:
    """Coins that are thrown anew every d + 1 episodes; the first share of them is turned."""
    rng = np.random.default_rng([seed, delay])
    n_rows = mdp.layout.n_rows
    mean = np.full((n_rows // N_ACTIONS, N_ACTIONS), 0.5 + gap / 2)
    mean[np.arange(len(mean)), rng.integers(N_ACTIONS, size=len(mean))] -= gap
    n_tables = -(-N_EPISODES // (delay + 1))
    means = np.tile(mean.ravel(), (n_tables, 1))
    means[: int(turned * n_tables)] = mean[:, ::-1].ravel()
    tables = (rng.random((n_tables, n_rows)) < means).astype(float)
    return am.losses.Switching([mdp.layout.pairs(table) for table in tables], delay + 1)


def regret(task: Task) -> float:
    """The final regret of one reading of a learner in one world."""
    world, name, reading, delay, gap, seed = task
    mdp = am.families.random_mdp(LAYERS, N_ACTIONS, seed=seed)
    total: dict[str, Any] = {"total_delay": delay * N_EPISODES, "late": READINGS[name][reading]}
    learner = LEARNERS[name](mdp.layout, N_EPISODES, **TUNING[name], **total)
    how: dict[str, Any] = {
        "seed": seed,
        "delays": am.delays.Constant(delay),
        "checkpoints": [N_EPISODES],
    }
    coins = held_coins(mdp, gap, delay, seed, TURNS[world])
    return float(am.play(mdp, coins, learner, N_EPISODES, **how).regret[-1])


def exponent(of_delays: dict[str, dict[str, Any]]) -> float:
    """The slope of ln(regret) over ln(T + D) between the two longest delays."""
    (d0, first), (d1, last) = list(of_delays.items())[-2:]
    return float(
        np.log(last["regret"][0] / first["regret"][0]) / np.log((1 + int(d1)) / (1 + int(d0)))
    )


def draw(measured: dict[str, dict[str, Measured]]) -> None:
    """Regret over T + D, and the slope one half."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "advmdp", "font.size": 10})
    shape, size = (len(TURNS), len(READINGS)), (10.4, 8.0)
    figure, axes = plt.subplots(
        *shape, figsize=size, layout="constrained", sharex=True, sharey=True
    )
    x = np.array([N_EPISODES * (1 + d) for d in DELAYS], dtype=float)
    colours = ("#0072B2", "#009E73", "#D55E00", "#777777")
    for ax, (world, name) in zip(axes.flat, product(TURNS, READINGS), strict=True):
        readings = measured[world][name]
        for colour, (reading, of_delays) in zip(colours, readings.items(), strict=True):
            means, halves = np.array([found["regret"] for found in of_delays.values()]).T
            ax.errorbar(x, means, halves, label=reading, color=colour, marker="o", capsize=3)
        first = next(iter(readings.values()))[str(DELAYS[0])]["regret"][0]
        ax.plot(x, first * np.sqrt(x / x[0]), color="black", lw=0.8, ls=":", label="slope 1/2")
        ax.set(xscale="log", yscale="log", title=f"{name}, {world} worlds")
        ax.set(xlabel="T + D" if world == "turning" else "")
        ax.set(ylabel="regret of the worst gap" if name == next(iter(READINGS)) else "")
    for ax in axes[0]:
        ax.legend(frameon=False, loc="lower right")
    figure.savefig(FIGURE, metadata={"Date": None})


def worst_of(ends: dict[Task, float], world: str, name: str) -> Measured:
    """The regret of each reading of a learner, in the worst gap of each delay."""
    found: Measured = {}
    for reading in READINGS[name]:
        found[reading] = {}
        for delay in DELAYS:
            of_gaps = {
                gap: interval([ends[world, name, reading, delay, gap, i] for i in range(N_WORLDS)])
                for gap in GAPS
            }
            worst = max(of_gaps, key=lambda gap: of_gaps[gap][0])
            found[reading][str(delay)] = {"gap": worst, "regret": of_gaps[worst]}
    return found


def tell(world: str, name: str, measured: Measured) -> None:
    """Print the rows of a learner."""
    for reading, of_delays in measured.items():
        ends = [found["regret"] for found in of_delays.values()]
        cells = " | ".join(f"{mean:,.0f} ± {half:,.0f}" for mean, half in ends)
        print(f"| {world}, {name} | {reading} | {cells} | {exponent(of_delays):.2f} |")


def main() -> None:
    """Play everything, print the table, keep the figures."""
    begin = time.perf_counter()
    tasks: list[Task] = [
        (world, name, reading, delay, gap, seed)
        for world, (name, readings) in product(TURNS, READINGS.items())
        for reading, delay, gap, seed in product(readings, DELAYS, GAPS, range(N_WORLDS))
    ]
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        ends = dict(zip(tasks, pool.map(regret, tasks, chunksize=8), strict=True))
    measured = {world: {name: worst_of(ends, world, name) for name in READINGS} for world in TURNS}
    for world, name in product(TURNS, READINGS):
        tell(world, name, measured[world][name])
    result = {
        "machine": describe(),
        "seconds": round(time.perf_counter() - begin, 1),
        "source": source_stamp(),
        "episodes": N_EPISODES,
        "exponent": {
            f"{world}, {name}": {
                reading: exponent(found) for reading, found in measured[world][name].items()
            }
            for world, name in product(TURNS, READINGS)
        },
        "regret": measured,
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    draw(measured)


if __name__ == "__main__":
    main()
