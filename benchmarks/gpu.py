"""``python -m benchmarks.gpu [OUT.json]``: batches on a real GPU, their speed and their answers.

Speed: episodes in a second over all runs, after a warm-up, at three sizes of MDP.  Answers: the
same runs by ``advmdp.play`` on the CPU.

Importance-weighted learners amplify rounding: the less likely an action, the larger its estimated
loss, the less likely it gets.  A difference of one unit in the last place grows exponentially
until, some thousand episodes later, one draw falls on the other side of a boundary and the
trajectories part.  That is a property of the learners, not of the GPU, so the comparison has a
control: the CPU against itself, with the first policy nudged by one unit in the last place.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import advmdp as am
from advmdp.batch import BatchRun, card_name, play_batch, why_no_gpu
from advmdp.batch.columns import Block
from advmdp.batch.playing import MANY
from advmdp.batch.runs import casts
from benchmarks.machine import describe, source_stamp
from benchmarks.worlds import MIDDLE, SMALL, Shape

RESULTS = Path(__file__).parent / "gpu.json"
FIVES = Shape((1, *[5] * 4, 1), 3)
HORIZON = 1_000_000
RUNS, EPISODES = 32, 10_000  # of the comparison
LEARNERS: dict[str, dict[str, float]] = {
    "uob-reps": {},
    "o-reps": {},
    "uc-o-reps": {},
    "exp3-ix": {},
    "uob-reps-l1": {},
    "bandit-uc-o-reps": {},
    "fpop": {},
}


@dataclass(frozen=True)
class Rate:
    """One line of the speed table."""

    shape: Shape
    n_runs: int
    log_scale: float
    warm_up: int
    target: float | None = None


FULL = 132 * 32 * 32  # runs that an H200 holds at a time with 64 registers for a thread
RATES = (
    Rate(SMALL, FULL, 1.0, 1_000, 4e7),
    Rate(SMALL, FULL, 0.01, 3_000),
    Rate(FIVES, FULL, 1.0, 500, 1e7),
    Rate(FIVES, FULL // 2, 0.01, 1_000),
    Rate(MIDDLE, FULL // 2, 1.0, 200, 3e6),
    Rate(MIDDLE, FULL // 2, 0.01, 400),
)


def speed(rate: Rate) -> dict[str, Any]:
    """Episodes in a second, and what the projections cost."""
    from advmdp.batch.programs import programs_for
    from advmdp.batch.wave import Wave

    mdp = am.families.random_mdp(rate.shape.sizes, rate.shape.n_actions, seed=0)
    losses = am.losses.Stochastic(np.random.default_rng(1).random(mdp.layout.n_rows))
    learner = am.UOBREPS(mdp.layout, HORIZON, log_scale=rate.log_scale)
    runs = [BatchRun(mdp, losses, learner, seed) for seed in range(rate.n_runs)]
    block = Block(casts(runs, HORIZON), 32)
    wave = Wave(block, programs_for(block.plan, "play_mirror", MANY), 0, rate.n_runs)
    wave.play(2)  # compiles
    begin = time.perf_counter()
    wave.play(rate.warm_up)
    each = (time.perf_counter() - begin) / (rate.warm_up - 2)
    n_episodes = max(10, int(1.5 / each))
    before = wave.column("ledger.counts").sum(axis=0)
    begin = time.perf_counter()
    wave.play(rate.warm_up + n_episodes)
    seconds = time.perf_counter() - begin
    effort = wave.column("ledger.counts").sum(axis=0) - before
    return {
        "world": str(rate.shape),
        "runs": rate.n_runs,
        "log_scale": rate.log_scale,
        "after": rate.warm_up,
        "episodes_per_second": rate.n_runs * n_episodes / seconds,
        "target": rate.target,
        "evaluations_per_projection": float(effort[1] / effort[4]),
        "safe_paths": int(effort[3]),
        "bytes_per_run": block.bytes_per_run,
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


def nudge(learner: Any) -> None:
    """One unit in the last place of the first policy."""
    state = learner._state
    policy = state.policy if hasattr(state, "policy") else state.measure.policy
    policy[0] = np.nextafter(policy[0], 1.0)
    if hasattr(state, "score"):
        state.score[0] = 2.0**-52


def compare(name: str) -> dict[str, Any]:
    """GPU against CPU, and CPU against a nudged CPU, at 1,000 and at all episodes."""
    shape, parameters = SMALL, LEARNERS[name]
    mdps = [am.families.random_mdp(shape.sizes, shape.n_actions, seed=i) for i in range(4)]
    rng = np.random.default_rng(5)
    losses = [am.losses.Stochastic(rng.random(mdps[0].layout.n_rows)) for _ in range(3)]
    points = [100, *range(500, EPISODES + 1, 500)]

    def make(i: int) -> Any:
        entry = am.LEARNERS[name]
        known = {"transitions": mdps[i % 4].transitions} if entry.knows_transition else {}
        return entry.make(mdps[0].layout, n_episodes=EPISODES, **known, **parameters)

    def on_cpu(i: int, *, nudged: bool) -> am.Run:
        learner = make(i)
        if nudged:
            nudge(learner)
        world = (mdps[i % 4], losses[i % 3])
        return am.play(*world, learner, EPISODES, seed=i, checkpoints=points)

    batch = [BatchRun(mdps[i % 4], losses[i % 3], make(i), seed=i) for i in range(RUNS)]
    gpu = play_batch(batch, EPISODES, checkpoints=points)
    cpu = [on_cpu(0, nudged=False)]  # compiles
    with ThreadPoolExecutor() as pool:
        cpu += list(pool.map(lambda i: on_cpu(i, nudged=False), range(1, RUNS)))
        nudged = list(pool.map(lambda i: on_cpu(i, nudged=True), range(RUNS)))
    return {
        "learner": name,
        "world": str(shape),
        "runs": RUNS,
        "episodes": EPISODES,
        "gpu against cpu": agreement(gpu, cpu),
        "cpu nudged against cpu": agreement(nudged, cpu),
    }


def agreement(runs: list[am.Run], others: list[am.Run]) -> dict[str, Any]:
    """Which runs kept their trajectories, until when, and how far the figures are apart."""
    parted = []
    apart: dict[str, list[float]] = {"expected_loss": [0.0], "regret": [0.0]}
    early: dict[str, list[float]] = {"expected_loss": [0.0], "regret": [0.0]}
    for run, other in zip(runs, others, strict=True):
        differ = np.flatnonzero(run.realised_loss != other.realised_loss)
        if len(differ):
            parted.append(int(run.episodes[differ[0]]))
        for name in apart:
            ours, theirs = getattr(run, name), getattr(other, name)
            relative = np.abs(ours - theirs) / np.abs(theirs)
            early[name].append(float(relative[run.episodes == 500][0]))
            if not len(differ):
                apart[name].append(float(relative[-1]))
    return {
        "same trajectories to the end": len(runs) - len(parted),
        "parted before episode": sorted(parted),
        "relative difference, those, at the end": {k: max(v) for k, v in apart.items()},
        "relative difference, all, after 500": {k: max(v) for k, v in early.items()},
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
    steps: list[tuple[str, Any]] = [("speed", lambda rate=rate: speed(rate)) for rate in RATES]
    steps += [("batch", lambda n=n: whole_batch(n, 100_000_000 // n)) for n in (1_000, 10_000)]
    steps += [("answers", lambda name=name: compare(name)) for name in LEARNERS]
    for section, step in steps:
        row = step()
        print(section, row, flush=True)
        found.setdefault(section, []).append(row)
        out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
