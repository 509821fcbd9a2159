"""``python -m benchmarks.gpu [OUT.json]``: batches on a real GPU, their speed and their answers.

Speed: episodes in a second over all runs, after a warm-up and over a quarter as many episodes, at
three sizes of MDP; the time of one episode when there are few runs; and ``play_batch`` as a whole.
Answers: see ``gpu_answers``.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import advmdp as am
from advmdp.batch import BatchRun, card_name, play_batch, why_no_gpu
from advmdp.batch.columns import Block
from advmdp.batch.playing import MANY, WARP, shape_of
from advmdp.batch.runs import casts
from benchmarks.gpu_answers import LEARNERS, compare, safe_path
from benchmarks.machine import describe, source_stamp
from benchmarks.worlds import MIDDLE, SMALL, Shape

RESULTS = Path(__file__).parent / "gpu.json"
FIVES = Shape((1, *[5] * 4, 1), 3)
HORIZON = 1_000_000
WORKERS = 6
FEW = (1, 132, 528, 1_000, 2_000, 4_000, 8_000, 16_000)  # runs


@dataclass(frozen=True)
class Rate:
    """One line of the speed table."""

    shape: Shape
    n_runs: int
    log_scale: float
    warm_up: int
    target: float | None = None
    learner: str = "uob-reps"


EAGER = {"log_barrier": 0.1}  # of tsallis-ftrl: theory's is uniform play at this horizon


FULL = 132 * 32 * 32  # runs that an H200 holds at a time with 64 registers for a thread
RATES = (
    Rate(SMALL, FULL, 1.0, 1_000, 4e7),
    Rate(SMALL, FULL, 0.01, 3_000),
    Rate(FIVES, FULL, 1.0, 500, 1e7),
    Rate(FIVES, FULL // 2, 0.01, 1_000),
    Rate(MIDDLE, FULL // 2, 1.0, 200, 3e6),
    Rate(MIDDLE, FULL // 2, 0.01, 400),
    Rate(SMALL, FULL, 1.0, 1_000, 3e7, "tsallis-ftrl"),
    Rate(MIDDLE, FULL // 2, 1.0, 200, 1e6, "tsallis-ftrl"),
    Rate(SMALL, FULL, 0.01, 1_000, None, "uob-ftrl"),
)


def learner_of(rate: Rate, mdp: am.LayeredMDP) -> Any:
    """The learner of a line, with theory's parameters unless it says otherwise."""
    if rate.learner == "tsallis-ftrl":
        return am.TsallisFTRL(mdp.layout, mdp.transitions, HORIZON, **EAGER)
    if rate.learner == "uob-ftrl":
        return am.UOBFTRL(mdp.layout, HORIZON, log_scale=rate.log_scale, **EAGER)
    return am.UOBREPS(mdp.layout, HORIZON, log_scale=rate.log_scale)


def speed(rate: Rate, width: int | None = None) -> dict[str, Any]:
    """Episodes in a second, and what the projections cost."""
    from advmdp.batch.programs import programs_for
    from advmdp.batch.wave import Wave

    mdp = am.families.random_mdp(rate.shape.sizes, rate.shape.n_actions, seed=0)
    losses = am.losses.Stochastic(np.random.default_rng(1).random(mdp.layout.n_rows))
    learner = learner_of(rate, mdp)
    runs = [BatchRun(mdp, losses, learner, seed) for seed in range(rate.n_runs)]
    width, threads = shape_of(runs, width)
    block = Block(casts(runs, HORIZON), width, threads)
    programs = programs_for(block.plan, MANY if width == WARP else None)
    wave = Wave(block, programs, 0, rate.n_runs)
    begin = time.perf_counter()
    wave.play(2)
    compiled = time.perf_counter() - begin
    wave.play(rate.warm_up)
    n_episodes = rate.warm_up // 4
    before = wave.column("ledger.counts").sum(axis=0)
    begin = time.perf_counter()
    wave.play(rate.warm_up + n_episodes)
    seconds = time.perf_counter() - begin
    effort = wave.column("ledger.counts").sum(axis=0) - before
    return {
        "world": str(rate.shape),
        "learner": rate.learner,
        "runs": rate.n_runs,
        "runs_in_a_warp": width,
        "threads_of_a_run": threads,
        "log_scale": rate.log_scale,
        "after": rate.warm_up,
        "over": n_episodes,
        "episodes_per_second": rate.n_runs * n_episodes / seconds,
        "target": rate.target,
        "microseconds_per_episode_of_a_run": 1e6 * seconds / n_episodes,
        "evaluations_per_projection": float(effort[1] / effort[4]),
        "safe_paths": int(effort[3]),
        "bytes_per_run": block.bytes_per_run,
        "seconds_to_compile": compiled,
    }


def whole_batch(n_runs: int, n_episodes: int) -> dict[str, Any]:
    """``play_batch`` from the first line to the last, with its default checkpoints."""
    mdp = am.families.random_mdp(SMALL.sizes, SMALL.n_actions, seed=0)
    losses = am.losses.Stochastic(np.random.default_rng(1).random(mdp.layout.n_rows))
    learner = am.UOBREPS(mdp.layout, HORIZON)
    batch = [BatchRun(mdp, losses, learner, seed) for seed in range(n_runs)]
    play_batch(batch, 10)  # compiles
    begin = time.perf_counter()
    runs = play_batch(batch, n_episodes)
    seconds = time.perf_counter() - begin
    worst = max(run.solver.worst_residual for run in runs if run.solver)
    return {
        "world": str(SMALL),
        "runs": n_runs,
        "episodes": n_episodes,
        "seconds": seconds,
        "episodes_per_second": n_runs * n_episodes / seconds,
        "worst_residual": worst,
    }


def card() -> dict[str, Any]:
    """The card and what drives it."""
    import numba_cuda
    from numba import cuda

    total = cuda.current_context().get_memory_info()[1]
    return {
        "card": card_name(),
        "processors": int(cuda.get_current_device().MULTIPROCESSOR_COUNT),
        "memory": int(total),
        "cuda": ".".join(map(str, cuda.runtime.get_version())),
        "numba_cuda": numba_cuda.__version__,
    }


def main() -> None:
    """Everything; the file is written anew after every step."""
    reason = why_no_gpu()
    if reason is not None:
        print(reason, file=sys.stderr)
        sys.exit(2)
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS
    found: dict[str, Any] = {"machine": describe() | card(), "sources": source_stamp()}

    def keep(section: str, row: dict[str, Any]) -> None:
        print(section, row, flush=True)
        found.setdefault(section, []).append(row)
        out.write_text(json.dumps(found, indent=1) + "\n")

    for rate in RATES:
        keep("speed", speed(rate))
    for n_runs in FEW:
        keep("few runs", speed(Rate(SMALL, n_runs, 1.0, 10_000)))
    for shape, warm_up in ((SMALL, 50_000), (FIVES, 2_000), (MIDDLE, 1_000)):
        keep("few runs", speed(Rate(shape, 1_000, 1.0, warm_up)))
    for n_runs, n_episodes in ((1_000, 1_000_000), (10_000, 10_000)):
        keep("batch", whole_batch(n_runs, n_episodes))
    for width in (1, 8):
        keep("safe path", safe_path(width))
    # Most of the time goes into compiling, so the learners are compared side by side.
    with ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn")) as pool:
        for row in pool.map(compare, LEARNERS):
            keep("answers", row)


if __name__ == "__main__":
    main()
