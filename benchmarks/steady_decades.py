"""``python -m benchmarks.steady_decades [RUNS.jsonl]``: the last decade on steady coin flips.

The worlds, learners and coin flips of claim ``both-worlds``, many more of them, with presets.  One
line is appended for every run; what is there is not played again, so it can be stopped at any
time.  Beside the regret the pseudo-regret of the same runs is kept (``pseudo_regret_kernel``): were
losses the noise, it would have less.  Every T has a run of its own, or a prefix where that is the
same run.  ``python -m benchmarks.steady_decades judge`` writes steady_decades.json from the lines.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from advmdp import play
from advmdp.claims.playing.observed_runs import ObservedLearner
from advmdp.claims.playing.run_grids import SMALL_MDP
from advmdp.claims.regret.steady_and_worst import GAP, with_preset
from advmdp.evaluation.comparator import best_fixed_policy
from advmdp.experiments.build import build
from advmdp.experiments.spec import RunSpec
from benchmarks.machine import source_stamp
from benchmarks.pseudo_regret_kernel import MeanObserver

FOLDER = Path(__file__).parent
RUNS = FOLDER / "steady_decades.jsonl"
RESULTS = FOLDER / "steady_decades.json"
N_RESAMPLES = 10_000
DECADES = (10**4, 10**5, 10**6, 10**7)
N_WORLDS = 64
ANYTIME = ("tsallis-ftrl",)  # nothing in it depends on T: the runs for smaller T are prefixes
LEARNERS = with_preset("tsallis-ftrl", "log-barrier-ftrl")


def measure(name: str, replicate: int, n_episodes: int) -> dict[str, Any]:
    """One run: its regret and pseudo-regret after each decade."""
    coins = {"name": "stochastic", "means": "gap", "gap": GAP}
    points = [point for point in DECADES if point <= n_episodes]
    spec = RunSpec(
        learner=LEARNERS[name],
        mdp=SMALL_MDP,
        losses=coins,
        n_episodes=n_episodes,
        replicate=replicate,
        checkpoints=points,
    )
    mdp, losses, learner, seed, _ = build(spec)
    mean = mdp.layout.flat_pairs(losses.mean, "mean")
    observer = MeanObserver(mean, best_fixed_policy(mdp, mean).loss, np.zeros(1))
    found: dict[int, float] = {}

    def keep(episodes: int, _: object) -> None:
        if episodes in points:
            found[episodes] = float(observer.sums[0])

    run = play(
        mdp,
        losses,
        ObservedLearner(learner, observer),
        n_episodes,
        seed,
        checkpoints=points,
        compiled=True,
        keep=keep,
    )
    return {
        "learner": name,
        "replicate": replicate,
        "T": n_episodes,
        "points": points,
        "regret": [round(float(regret), 4) for regret in run.regret],
        "pseudo": [round(found[point], 4) for point in points],
        "sources": source_stamp(),
    }


def jobs() -> Iterator[tuple[str, int, int]]:
    """All runs, world by world."""
    for replicate in range(N_WORLDS):
        for name in LEARNERS:
            for n_episodes in DECADES[-1:] if name in ANYTIME else DECADES:
                yield name, replicate, n_episodes


def table_of(lines: list[dict[str, Any]], name: str, kind: str) -> np.ndarray[Any, Any]:
    """Worlds x decades, of the worlds that are complete."""
    worlds: dict[int, dict[int, float]] = {}
    for one in lines:
        if one["learner"] == name:
            found = worlds.setdefault(one["replicate"], {})
            if name in ANYTIME:
                found.update(zip(one["points"], one[kind], strict=True))
            else:
                found[one["T"]] = one[kind][-1]
    return np.array([[w[T] for T in DECADES] for w in worlds.values() if len(w) == len(DECADES)])


def last_exponent(means: np.ndarray[Any, Any]) -> float:
    """d ln(mean regret) / d ln T over the last decade."""
    return float(np.log10(means[-1] / means[-2]))


def fitted_exponent(means: np.ndarray[Any, Any]) -> float:
    """The same for the law  a + b ln T  through all decades, by least squares."""
    slope, level = np.polyfit(np.log10(DECADES), means, 1)
    return last_exponent(level + slope * np.log10(DECADES))


def added(means: np.ndarray[Any, Any]) -> float:
    """What the last decade adds over the mean of what the ones before added."""
    steps = np.diff(means)
    return float(steps[-1] / steps[:-1].mean())


def judge(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Means and, with bootstrap intervals over worlds, what they say about the growth."""
    rng = np.random.default_rng(0)
    found: dict[str, Any] = {}
    for name in LEARNERS:
        for kind in ("regret", "pseudo"):
            table = table_of(lines, name, kind)
            draws = table[rng.integers(0, len(table), (N_RESAMPLES, len(table)))].mean(axis=1)
            figures = {}
            for figure in (last_exponent, fitted_exponent, added):
                ends = np.percentile([figure(means) for means in draws], [2.5, 97.5])
                figures[figure.__name__] = [
                    round(v, 4) for v in (figure(table.mean(axis=0)), *ends)
                ]
            found[f"{name}, {kind}"] = {
                "worlds": len(table),
                "T": DECADES,
                "means": table.mean(axis=0).round(2).tolist(),
                **figures,
            }
    return found


def main() -> None:
    """Play what is missing, or judge."""
    if sys.argv[1:2] == ["judge"]:
        path = Path(sys.argv[2]) if len(sys.argv) > 2 else RUNS
        lines = list(map(json.loads, path.read_text().splitlines()))
        RESULTS.write_text(json.dumps(judge(lines), indent=1) + "\n")
        return
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    lines = path.read_text().splitlines() if path.exists() else []
    done = {(one["learner"], one["replicate"], one["T"]) for one in map(json.loads, lines)}
    for job in jobs():
        if job not in done:
            with path.open("a") as file:
                file.write(json.dumps(measure(*job)) + "\n")


if __name__ == "__main__":
    main()
