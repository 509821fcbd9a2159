"""``python -m benchmarks.aggregate``: the price of seeing only the sum of an episode's losses.

The same world with ever more layers: coins of 0.4 and 0.6, the better action drawn for every state.
Regret against bandit feedback with the same regulariser or bonus, known and unknown transition; the
price of the sum is their ratio.  Draws docs/figures/aggregate.svg.
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

import advmdp as am
from benchmarks.known_rows import interval
from benchmarks.machine import describe, source_stamp

FOLDER = Path(__file__).parent
RESULTS, FIGURE = FOLDER / "aggregate.json", FOLDER.parent / "docs" / "figures" / "aggregate.svg"
DEPTHS, N_EPISODES, N_WORLDS = (1, 2, 3, 4, 6, 8), 20_000, 8
SMALL: dict[str, float] = {"log_barrier": 0.1}
SETS: dict[str, float] = {**SMALL, "log_scale": 0.01}
BONUS: dict[str, float] = {"gamma_scale": 0.001, "bonus_scale": 0.1}
Make = Callable[[am.LayeredMDP], Any]


def rate(mdp: am.LayeredMDP) -> float:
    """Ten times the rate of policy optimisation, without its cap of 1 / (24 L^3)."""
    layout = mdp.layout
    pairs = layout.n_states * layout.n_actions
    return 10.0 / math.sqrt(pairs * layout.n_layers * N_EPISODES)


def policies(make: Callable[..., Any], *transitions: str, **scale: float) -> Make:
    """Policy optimisation with the constants of its docstring."""
    return lambda m: make(
        *(m.layout, *(getattr(m, name) for name in transitions), N_EPISODES),
        **{**BONUS, **scale, "eta": rate(m)},
    )


LEARNERS: dict[str, Make] = {
    "tsallis-ftrl": lambda m: am.TsallisFTRL(m.layout, m.transitions, N_EPISODES, **SMALL),
    "tsallis-ftrl-aggregate": lambda m: am.AggregateTsallisFTRL(
        m.layout, m.transitions, N_EPISODES, **SMALL
    ),
    "uob-ftrl": lambda m: am.UOBFTRL(m.layout, N_EPISODES, **SETS),
    "uob-ftrl-aggregate": lambda m: am.AggregateUOBFTRL(m.layout, N_EPISODES, **SETS),
    "dilated-bonus, all rows known": policies(am.DilatedBonus),
    "dilated-bonus-aggregate-known": policies(am.KnownAggregateDilatedBonus, "transitions"),
    "dilated-bonus": policies(am.DilatedBonus, log_scale=0.002),
    "dilated-bonus-aggregate": policies(am.AggregateDilatedBonus, log_scale=0.002),
}
"""One that sees its path, and then its twin that sees the sum."""


def regret(task: tuple[str, int, int]) -> float:
    """The final regret of one learner in one world."""
    name, depth, seed = task
    mdp = am.families.random_mdp((1, *(3,) * (depth - 1), 1), 2, seed=seed)
    if name.endswith("all rows known"):
        mdp = mdp.with_known_rows(np.ones(mdp.layout.n_rows, dtype=bool))
    rng = np.random.default_rng([seed, depth])
    mean = np.full((mdp.layout.n_rows // 2, 2), 0.6)
    mean[np.arange(len(mean)), rng.integers(2, size=len(mean))] = 0.4
    losses = am.losses.Stochastic(mean.ravel())
    points = {"seed": seed, "checkpoints": [N_EPISODES]}
    return float(am.play(mdp, losses, LEARNERS[name](mdp), N_EPISODES, **points).regret[-1])


def draw(measured: dict[str, dict[str, tuple[float, float]]]) -> None:
    """Regret over the number of layers."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "advmdp", "font.size": 10})
    figure, ax = plt.subplots(figsize=(7.2, 5.0), layout="constrained")
    colours = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
    for (colour, line), (name, found) in zip(
        product(colours, ("-", "--")), measured.items(), strict=True
    ):
        means, halves = np.array(list(found.values())).T
        ax.errorbar(DEPTHS, means, halves, label=name, color=colour, ls=line, marker="o", capsize=3)
    ax.set(yscale="log", xlabel="L, layers", ylabel=f"regret after {N_EPISODES:,} episodes")
    ax.legend(frameon=False)
    figure.savefig(FIGURE, metadata={"Date": None})


def main() -> None:
    """Play everything, print the table, keep the figures."""
    begin = time.perf_counter()
    tasks = list(product(LEARNERS, DEPTHS, range(N_WORLDS)))
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        ends = dict(zip(tasks, pool.map(regret, tasks, chunksize=4), strict=True))
    measured = {
        name: {
            str(depth): interval([ends[name, depth, seed] for seed in range(N_WORLDS)])
            for depth in DEPTHS
        }
        for name in LEARNERS
    }
    for name, found in measured.items():
        cells = (f"{mean:,.0f} ± {half:,.0f}" for mean, half in found.values())
        print(f"| `{name}` | {' | '.join(cells)} |")
    price = {
        summed: {depth: measured[summed][depth][0] / found[0] for depth, found in seen.items()}
        for summed, seen in zip(list(LEARNERS)[1::2], list(measured.values())[::2], strict=True)
    }
    for name, ratios in price.items():
        print(f"| price: `{name}` | {' | '.join(f'{ratio:.1f}' for ratio in ratios.values())} |")
    result = {
        "machine": describe(),
        "seconds": round(time.perf_counter() - begin, 1),
        "source": source_stamp(),
        "episodes": N_EPISODES,
        "regret": measured,
        "price": price,
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    draw(measured)


if __name__ == "__main__":
    main()
