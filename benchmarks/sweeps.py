"""What a sweep costs beyond its episodes, and how fast a large store answers."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from advmdp.experiments.spec import RunSpec
from advmdp.experiments.sweep import SweepSpec
from advmdp.store import Store
from advmdp.store.outcome import Outcome
from benchmarks.report import AT_MOST, Figure, Grid, Section

N_RUNS, N_EPISODES, N_PROCESSES = 64, 20_000, 2
OVERHEAD_TARGET, LISTING_TARGET = 1.25, 2.0

SWEEP = f"""
n_episodes = {N_EPISODES}
replicates = {N_RUNS}
learner = "uob-reps"
mdp = {{name = "random", layer_sizes = [1, 3, 3, 1], n_actions = 2}}
losses = "stochastic"
"""

# The same episodes in the compiled loop alone: no checkpoint but the last, nothing stored.
BARE = """
import sys
from advmdp.experiments.build import build
from advmdp.experiments.sweep import SweepSpec
from advmdp.play import play
which, of = int(sys.argv[1]), int(sys.argv[2])
for spec in SweepSpec.from_toml(sys.stdin.read()).runs()[which::of]:
    mdp, losses, learner, seed, _ = build(spec)
    play(mdp, losses, learner, spec.n_episodes, seed, checkpoints=[spec.n_episodes])
"""


def bare_loops() -> float:
    """Wall time of two processes that play half of the runs each."""
    begin = time.perf_counter()
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", BARE, str(which), str(N_PROCESSES)],
            stdin=subprocess.PIPE,
            text=True,
        )
        for which in range(N_PROCESSES)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(SWEEP)
        process.stdin.close()
    assert not any(process.wait() for process in processes)
    return time.perf_counter() - begin


def sweep_command() -> float:
    """Wall time of ``advmdp sweep`` on a fresh store."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "sweep.toml"
        file.write_text(SWEEP)
        begin = time.perf_counter()
        _advmdp("sweep", file, "--store", f"{folder}/store", "--workers", N_PROCESSES)
        wall = time.perf_counter() - begin
        assert Store(f"{folder}/store").runs().height == N_RUNS
        return wall


def listing(n_runs: int) -> tuple[float, float]:
    """Wall time of ``advmdp ls`` on a store of many small runs, and of ``store.runs()``."""
    with tempfile.TemporaryDirectory() as folder:
        store = _large_store(Path(folder) / "store", n_runs)
        begin = time.perf_counter()
        assert store.runs().height == n_runs
        frame = time.perf_counter() - begin
        begin = time.perf_counter()
        _advmdp("ls", store.path)
        return time.perf_counter() - begin, frame


def _large_store(path: Path, n_runs: int) -> Store:
    """A store filled from one real run, as fast as a disk allows."""
    import os
    from unittest import mock

    from advmdp.experiments.build import build
    from advmdp.play import play
    from advmdp.store.outcome import outcome_of

    first = SweepSpec.from_toml(SWEEP).runs()[0].model_copy(update={"n_episodes": 100})
    mdp, losses, learner, seed, points = build(first)
    outcome: Outcome = outcome_of(
        play(mdp, losses, learner, first.n_episodes, seed, checkpoints=points[points <= 100])
    )
    store = Store(path, create=True)
    with mock.patch.object(os, "fsync"):  # the store need not outlast the benchmark
        for replicate in range(n_runs):
            spec: RunSpec = first.model_copy(update={"replicate": replicate})
            claim = store.lock(spec.identity())
            assert claim is not None
            store.finish(spec.identity(), claim, outcome, 0.1)
    return store


def _advmdp(*arguments: object) -> None:
    command = [sys.executable, "-m", "advmdp.cli", *map(str, arguments)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def run(*, quick: bool) -> Section:
    """The section: bare loops and sweeps in turn, whole processes each."""
    bare_loops()  # compile, fill file caches
    pairs = [(bare_loops(), sweep_command()) for _ in range(2 if quick else 5)]
    bare, swept = (min(times) for times in zip(*pairs, strict=True))
    n_listed = 1_000 if quick else 10_000
    listed, framed = listing(n_listed)
    rows = [
        ["two bare compiled loops", f"{bare:.2f} s"],
        ["advmdp sweep", f"{swept:.2f} s"],
        [f"advmdp ls, {n_listed:,} runs", f"{listed:.2f} s"],
        [f"store.runs(), {n_listed:,} runs", f"{framed:.2f} s"],
    ]
    title = f"{N_RUNS} runs of {N_EPISODES:,} episodes, 1,3,3,1 x2, {N_PROCESSES} processes"
    figures = [
        Figure("sweep against bare loops", swept / bare, "x", OVERHEAD_TARGET, AT_MOST),
        Figure(f"listing {n_listed:,} runs", listed, "s", LISTING_TARGET, AT_MOST),
    ]
    return Section([Grid(title, ["what", "best time"], rows, "whole processes")], figures)
