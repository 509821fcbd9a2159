"""Small sweeps for the tests, in this process and as real commands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from advmdp.experiments.engines.inline import InlineEngine
from advmdp.experiments.runner import Summary, run_all
from advmdp.experiments.spec import RunSpec
from advmdp.experiments.sweep import SweepSpec
from advmdp.store import Store

SWEEP = """
n_episodes = [{n_episodes}]
replicates = {replicates}
losses = "majority"
mdp = {{name = "random", layer_sizes = [1, 3, 3, 1], n_actions = 2}}
learner = ["uob-reps", "exp3-ix"]
checkpoints = 4
"""


def sweep_text(n_episodes: int = 500, replicates: int = 2) -> str:
    """Two learners against turning losses."""
    return SWEEP.format(n_episodes=n_episodes, replicates=replicates)


def runs_of(text: str) -> list[RunSpec]:
    """The runs of a sweep."""
    return SweepSpec.from_toml(text).runs()


def one_run(**changes: Any) -> RunSpec:
    """A spec that is played in no time."""
    fields: dict[str, Any] = {
        "learner": "uob-reps",
        "mdp": {"name": "random", "layer_sizes": [1, 3, 3, 1], "n_actions": 2},
        "losses": "majority",
        "n_episodes": 300,
    }
    return RunSpec(**(fields | changes))


def play_here(store: Store, runs: list[RunSpec]) -> Summary:
    """All runs, one after the other, in this process."""
    return run_all(runs, store, InlineEngine(store.path))


def curve_bytes(store: Store) -> dict[str, bytes]:
    """The Parquet files of the finished runs."""
    return {p.parent.name: p.read_bytes() for p in store.path.glob("runs/*/curves.parquet")}


def command(*arguments: Any, **options: Any) -> subprocess.Popen[str]:
    """A real ``advmdp`` command, started in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "advmdp.cli", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **options,
    )


def finished_command(*arguments: Any, **options: Any) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command that was left to its end."""
    process = command(*arguments, **options)
    output, errors = process.communicate(timeout=300)
    return process.returncode, output, errors


def sweep_command(file: Path, store: Path, *more: Any) -> list[Any]:
    """``advmdp sweep`` with checkpoints every few milliseconds."""
    return ["sweep", file, "--store", store, "--workers", 2, "--save-seconds", 0.02, *more]
