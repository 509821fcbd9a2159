"""``python -m benchmarks.steady_decades WHAT [RUNS.jsonl]``: the last decade on steady coin flips.

The worlds, learners and coin flips of claim ``both-worlds``, hundreds of them, with presets.  One
line is appended for every run; what is there is not played again, so it can be stopped at any
time.  Every T has a run of its own, or a prefix where that is the same run.  WHAT is

* ``play [LEARNER]``: a run on each core, twelve minutes on 16 of them; beside the regret the
  pseudo-regret of the same runs is kept (``pseudo_regret_kernel``): were losses the noise, it would
  have less;
* ``farther``: one decade more of the learner whose runs need no horizon, in some of the worlds;
* ``judge``: write steady_decades.json from the lines.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
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
N_WORLDS = 224
ANYTIME = "tsallis-ftrl"  # nothing in it depends on T: the runs for smaller T are prefixes
FARTHEST, N_FARTHEST = 10**8, 24  # of that one
LEARNERS = with_preset(ANYTIME, "log-barrier-ftrl")
Job = tuple[str, int, int]  # learner, replicate, T


def points_of(n_episodes: int) -> list[int]:
    """Where the regret of a run is noted."""
    return [point for point in (*DECADES, FARTHEST) if point <= n_episodes]


def measure(job: Job) -> dict[str, Any]:
    """One run: its regret and pseudo-regret after each decade."""
    name, replicate, n_episodes = job
    points = points_of(n_episodes)
    spec = RunSpec(
        learner=LEARNERS[name],
        mdp=SMALL_MDP,
        losses={"name": "stochastic", "means": "gap", "gap": GAP},
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
        "regret": [round(float(value), 4) for value in run.regret],
        "pseudo": [round(found[point], 4) for point in points],
        "sources": source_stamp(),
    }


def jobs_of(name: str) -> list[Job]:
    """All runs of a learner, the longest first."""
    horizons = DECADES[-1:] if name == ANYTIME else DECADES[::-1]
    return [(name, world, horizon) for horizon in horizons for world in range(N_WORLDS)]


def table_of(
    lines: list[dict[str, Any]], name: str, kind: str, decades: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    """Worlds x decades, of the worlds that are complete; one run has all decades of a world if it
    can, since another version of the kernels plays other episodes."""
    worlds: dict[int, dict[int, float]] = {}
    for one in lines:
        if one["learner"] == name and kind in one:
            found = worlds.setdefault(one["replicate"], {})
            if name != ANYTIME:
                found[one["T"]] = one[kind][-1]
            elif one["T"] == decades[-1]:
                found.update(zip(one["points"], one[kind], strict=True))
    return np.array([[w[T] for T in decades] for w in worlds.values() if w.keys() >= {*decades}])


def last_exponent(means: np.ndarray[Any, Any]) -> float:
    """d ln(mean regret) / d ln T over the last decade."""
    return float(np.log10(means[-1] / means[-2]))


def fitted_exponent(means: np.ndarray[Any, Any]) -> float:
    """The same for the law  a + b ln T  through all decades, by least squares."""
    decades = np.arange(len(means)) + np.log10(DECADES[0])
    slope, level = np.polyfit(decades, means, 1)
    return last_exponent(level + slope * decades)


def added(means: np.ndarray[Any, Any]) -> float:
    """What the last decade adds over the mean of what the ones before added."""
    steps = np.diff(means)
    return float(steps[-1] / steps[:-1].mean())


def figures_of(table: np.ndarray[Any, Any], rng: np.random.Generator) -> dict[str, Any]:
    """What the means of worlds x decades say about the growth, with bootstrap intervals."""
    draws = table[rng.integers(0, len(table), (N_RESAMPLES, len(table)))].mean(axis=1)
    figures = {}
    for figure in (last_exponent, fitted_exponent, added):
        ends = np.percentile([figure(means) for means in draws], [2.5, 97.5])
        figures[figure.__name__] = [round(v, 4) for v in (figure(table.mean(axis=0)), *ends)]
    return figures


def judge(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Means and growth of every learner, and of one of them a decade farther."""
    rng = np.random.default_rng(0)
    found: dict[str, Any] = {}
    cases = [(name, DECADES) for name in LEARNERS] + [(ANYTIME, (*DECADES, FARTHEST))]
    for name, decades in cases:
        for kind in ("regret", "pseudo"):
            table = table_of(lines, name, kind, decades)
            if len(table) == 0:
                continue
            found[f"{name}, {kind}, T to {decades[-1]:,}"] = {
                "worlds": len(table),
                "T": decades,
                "means": table.mean(axis=0).round(2).tolist(),
                **figures_of(table, rng),
            }
    return found


def lines_of(path: Path) -> list[dict[str, Any]]:
    """What was measured so far."""
    return list(map(json.loads, path.read_text().splitlines())) if path.exists() else []


def play_on_cores(path: Path, measure: Callable[[Any], dict[str, Any]], jobs: list[Any]) -> None:
    """A run on each core; its line is appended as soon as it ends."""
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for one in as_completed([pool.submit(measure, job) for job in jobs]):
            with path.open("a") as file:
                file.write(json.dumps(one.result()) + "\n")


def main() -> None:
    """Play what is missing, or judge."""
    what = sys.argv[1] if len(sys.argv) > 1 else "play"
    names = [name for name in sys.argv[2:] if name in LEARNERS] or list(LEARNERS)
    path = Path(next((one for one in sys.argv[2:] if one not in LEARNERS), RUNS))
    lines = lines_of(path)
    if what == "judge":
        RESULTS.write_text(json.dumps(judge(lines), indent=1) + "\n")
        return
    done = {(one["learner"], one["replicate"], one["T"]) for one in lines}
    jobs = [job for name in names for job in jobs_of(name)]
    if what == "farther":
        jobs = [(ANYTIME, world, FARTHEST) for world in range(N_FARTHEST)]
    play_on_cores(path, measure, [job for job in jobs if job not in done])


if __name__ == "__main__":
    main()
