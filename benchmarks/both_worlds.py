"""``python -m benchmarks.both_worlds [OUT.json]``: ten million episodes of steady coin flips.

Every learner is tuned for the last episode, or for none; its regret is read on the way.  Sixteen
MDPs, one process for each core: six minutes on 16 cores.  Draws docs/figures/both_worlds.svg.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import advmdp as am
from benchmarks.machine import describe, source_stamp

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "both_worlds.json"
FIGURE = FOLDER.parent / "docs" / "figures" / "both_worlds.svg"
N_EPISODES = 10**7
POINTS = (10**3, 10**4, 10**5, 3 * 10**5, 10**6, 3 * 10**6, 10**7)
LAST_DECADE = (POINTS.index(10**6), POINTS.index(10**7))
N_MDPS = 16
BEST, OTHER = 0.4, 0.6  # chances that a coin costs 1
NUDGE = {"uob-ftrl": 3, "uob-reps preset": -3}  # points, of labels that would touch
SMALL_CONSTANTS = {"log_barrier": 0.1, "log_scale": 0.01}
LEARNERS: dict[str, Callable[[am.LayeredMDP], Any]] = {
    "tsallis-ftrl": lambda m: am.TsallisFTRL(m.layout, m.transitions, N_EPISODES, log_barrier=0.1),
    "log-barrier-ftrl": lambda m: am.LogBarrierFTRL(m.layout, m.transitions, N_EPISODES),
    "o-reps-bandit": lambda m: am.OREPSBandit(m.layout, m.transitions, N_EPISODES),
    "uob-ftrl": lambda m: am.UOBFTRL(m.layout, N_EPISODES, **SMALL_CONSTANTS),
    "optimistic-ftrl": lambda m: am.OptimisticFTRL(
        m.layout, N_EPISODES, root_scale=1.0, adapt_scale=0.0, **SMALL_CONSTANTS
    ),
    "uob-reps preset": lambda m: am.UOBREPS(m.layout, N_EPISODES, **am.PRACTICAL["uob-reps"]),
}


def regret(job: tuple[str, int, int]) -> list[float]:
    """The regret of a learner on an MDP, at every point up to a number of episodes."""
    name, seed, n_episodes = job
    mdp = am.families.random_mdp((1, 3, 3, 1), 2, seed=seed)
    cheap = np.random.default_rng(1_000 + seed).integers(0, 2, mdp.layout.n_rows // 2)
    means = np.where(np.arange(2) == cheap[:, None], BEST, OTHER).reshape(-1)
    run = am.play(
        mdp,
        am.losses.Stochastic(means),
        LEARNERS[name](mdp),
        n_episodes,
        seed=seed,
        checkpoints=[point for point in POINTS if point <= n_episodes],
    )
    return list(map(float, run.regret))


def exponent(regrets: np.ndarray[Any, Any]) -> tuple[float, float, float]:
    """d ln(mean regret) / d ln T over the last decade, with a bootstrap interval over MDPs."""
    first, last = LAST_DECADE

    def slope(rows: np.ndarray[Any, Any]) -> float:
        return float(np.log10(rows[:, last].mean() / rows[:, first].mean()))

    rng = np.random.default_rng(0)
    draws = [slope(regrets[rng.integers(0, len(regrets), len(regrets))]) for _ in range(4_000)]
    low, high = np.percentile(draws, [2.5, 97.5])
    return slope(regrets), float(low), float(high)


def draw(found: dict[str, Any]) -> None:
    """Mean regret over episodes, with the range over MDPs."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    import matplotlib.ticker

    colours = ["#0072B2", "#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#D55E00"]
    with mpl.rc_context({"svg.hashsalt": "advmdp", "font.size": 9}):
        figure, axes = plt.subplots(figsize=(6.6, 4.0), layout="constrained")
        for (name, rows), colour in zip(found["regret"].items(), colours, strict=True):
            values = np.array(rows)
            tuned = "reps" in name  # for the last episode: on the way its slope says nothing
            dashes = "--" if tuned else "-"
            axes.plot(POINTS, values.mean(axis=0), dashes, color=colour, marker="o", ms=3)
            axes.fill_between(POINTS, values.min(0), values.max(0), color=colour, alpha=0.15, lw=0)
            slope = found["exponent of the last decade"][name][0]
            axes.annotate(
                f"{name}, rates for 10^7" if tuned else f"{name}  T^{slope:.2f}",
                (POINTS[-1], values[:, -1].mean()),
                xytext=(6, NUDGE.get(name, 0)),
                textcoords="offset points",
                va="center",
                color=colour,
            )
        axes.set(xscale="log", yscale="log", xlabel="episodes", ylabel="regret")
        axes.set_xlim(POINTS[0], 2e10)
        axes.set_xticks([10.0**k for k in range(3, 8)])
        axes.xaxis.set_minor_locator(mpl.ticker.NullLocator())
        axes.spines.bottom.set_bounds(POINTS[0], POINTS[-1])
        axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(FIGURE, metadata={"Date": None})
        plt.close(figure)


def main() -> None:
    """Play all, and draw."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS
    processes = os.cpu_count() or 1
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        list(pool.map(regret, [(name, 0, POINTS[0]) for name in LEARNERS]))  # compiles
        jobs = [(name, seed, N_EPISODES) for name in LEARNERS for seed in range(N_MDPS)]
        rows = list(pool.map(regret, jobs))
    table = np.array(rows).reshape(len(LEARNERS), N_MDPS, len(POINTS))
    found = {
        "machine": describe(),
        "sources": source_stamp(),
        "points": POINTS,
        "regret": {name: table[i].round(3).tolist() for i, name in enumerate(LEARNERS)},
        "exponent of the last decade": {
            name: exponent(table[i]) for i, name in enumerate(LEARNERS)
        },
    }
    out.write_text(json.dumps(found, indent=1) + "\n")
    draw(found)


if __name__ == "__main__":
    main()
