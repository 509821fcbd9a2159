"""``python -m benchmarks.policy_figures [OUT.json]``: what policy optimisation costs, and buys.

Steady coin flips on worlds of growing width, UOB-REPS beside: microseconds an episode and regret
over the number of states.  And the deep sea, its transition unknown, with the dilated bonus and
without.  One process, five minutes; draws docs/figures/policy_optimisation.svg.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import advmdp as am
from benchmarks.machine import describe, source_stamp
from benchmarks.policy_optimisation import CONSTANTS

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "policy_figures.json"
FIGURE = FOLDER.parent / "docs" / "figures" / "policy_optimisation.svg"
WIDTHS = (2, 4, 8, 16, 32)  # of three layers, three actions
N_EPISODES = 20_000
SEEDS = (0, 1, 2, 3)
BEST, OTHER = 0.4, 0.6  # chances that a coin costs 1
DEPTH, DIVES = 10, 50_000
DILATED = CONSTANTS["dilated-bonus"]
Make = Callable[[am.Layout, int], Any]
LEARNERS: dict[str, Make] = {
    "uob-reps": lambda layout, n: am.UOBREPS(layout, n, **am.PRACTICAL["uob-reps"]),
    "dilated-bonus": lambda layout, n: am.DilatedBonus(layout, n, **DILATED),
    "pomd": lambda layout, n: am.POMD(layout, n, **CONSTANTS["pomd"]),
    "oppo": lambda layout, n: am.OPPO(layout, n, **CONSTANTS["oppo"]),
    "apo-mvp": lambda layout, n: am.APOMVP(layout, n, **CONSTANTS["apo-mvp"]),
}
DIVERS: dict[str, Make] = {
    "no bonus": lambda layout, n: am.DilatedBonus(layout, n, **{**DILATED, "bonus_scale": 0.0}),
    "dilated bonus": lambda layout, n: am.DilatedBonus(layout, n, **{**DILATED, "bonus_scale": 1}),
    "uob-reps": LEARNERS["uob-reps"],
}
COLOURS = {
    "uob-reps": "#D55E00",
    "dilated-bonus": "#0072B2",
    "dilated bonus": "#0072B2",
    "no bonus": "#999999",
    "pomd": "#009E73",
    "oppo": "#CC79A7",
    "apo-mvp": "#E69F00",
}


def coins(width: int, seed: int) -> tuple[am.LayeredMDP, am.losses.Stochastic]:
    """A random world in which one action of every state is cheaper."""
    mdp = am.families.random_mdp((1, width, width, width, 1), 3, seed=seed)
    cheap = np.random.default_rng(1_000 + seed).integers(0, 3, mdp.layout.n_rows // 3)
    means = np.where(np.arange(3) == cheap[:, None], BEST, OTHER).reshape(-1)
    return mdp, am.losses.Stochastic(means)


def cost_and_regret(name: str, width: int, seed: int) -> tuple[float, float]:
    """Microseconds of processor time an episode in the second half, and the regret of all."""
    mdp, losses = coins(width, seed)
    learner, half = LEARNERS[name](mdp.layout, N_EPISODES), N_EPISODES // 2
    first = am.play(mdp, losses, learner, half, seed=seed, checkpoints=[half])
    begin = time.process_time()
    second = am.play(mdp, losses, learner, half, seed=100 + seed, checkpoints=[half])
    spent = time.process_time() - begin
    return 1e6 * spent / half, float(first.regret[-1] + second.regret[-1])


def dive(name: str, seed: int) -> tuple[list[int], list[float]]:
    """Regret in the deep sea; the layout leaves every state of the next level possible."""
    sea = am.families.deep_sea(DEPTH)
    mdp = am.LayeredMDP(am.Layout(sea.layout.layer_sizes, 2), sea.transitions)
    losses = am.losses.Stochastic(sea.natural_loss)
    points = np.linspace(0, DIVES, 26, dtype=int)[1:].tolist()
    learner = DIVERS[name](mdp.layout, DIVES)
    run = am.play(mdp, losses, learner, DIVES, seed=seed, checkpoints=points)
    return points, list(map(float, run.regret))


def draw(found: dict[str, Any]) -> None:
    """Three panels: time, regret, and the deep sea."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    with mpl.rc_context({"svg.hashsalt": "advmdp", "font.size": 9}):
        figure, (left, middle, right) = plt.subplots(1, 3, figsize=(10, 3.3), layout="constrained")
        for axes, what in ((left, "microseconds"), (middle, "regret")):
            for name, rows in found[what].items():
                values = np.array(rows)
                style = {"color": COLOURS[name], "marker": "o", "ms": 3, "label": name}
                axes.plot(found["states"], values.mean(axis=1), **style)
                low, high = values.min(axis=1), values.max(axis=1)
                axes.fill_between(found["states"], low, high, color=COLOURS[name], alpha=0.15, lw=0)
            axes.set(xscale="log", yscale="log", xlabel="states")
            axes.set_xticks(found["states"], [str(n) for n in found["states"]])
            axes.minorticks_off()
        left.set_yticks([1, 10, 100], ["1", "10", "100"])
        middle.set_yticks([500, 1000, 2000, 5000], ["500", "1,000", "2,000", "5,000"])
        left.set_title("microseconds an episode", loc="left")
        left.legend(frameon=False, fontsize=8)
        middle.set_title(f"regret after {N_EPISODES:,} episodes", loc="left")
        for name, runs in found["deep sea"].items():
            values = np.array(runs)
            points = found["dives"]
            right.plot(points, values.mean(axis=0), color=COLOURS[name], label=name)
            right.fill_between(
                points, values.min(0), values.max(0), color=COLOURS[name], alpha=0.15, lw=0
            )
        right.set_title(f"regret in the deep sea, depth {DEPTH}", loc="left")
        right.set(xlabel="episodes", xlim=(0, DIVES), ylim=(0, None))
        right.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        right.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        right.legend(frameon=False, fontsize=8)
        for axes in (left, middle, right):
            axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(FIGURE, metadata={"Date": None})
        plt.close(figure)


def main() -> None:
    """Play all, and draw."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS
    found: dict[str, Any] = {"machine": describe(), "sources": source_stamp()}
    found["states"] = [3 * width + 2 for width in WIDTHS]
    for name in LEARNERS:
        cost_and_regret(name, 2, 0)  # compiles
        cost_and_regret(name, 14, 0)  # wide layers are another program
        pairs = np.array([[cost_and_regret(name, n, seed) for seed in SEEDS] for n in WIDTHS])
        found.setdefault("microseconds", {})[name] = pairs[:, :, 0].round(2).tolist()
        found.setdefault("regret", {})[name] = pairs[:, :, 1].round(1).tolist()
    for name in DIVERS:
        runs = [dive(name, seed) for seed in SEEDS]
        found["dives"] = runs[0][0]
        found.setdefault("deep sea", {})[name] = [np.round(run, 1).tolist() for _, run in runs]
    out.write_text(json.dumps(found, indent=1) + "\n")
    draw(found)


if __name__ == "__main__":
    main()
