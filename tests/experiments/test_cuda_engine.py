"""A sweep on a GPU, by numba's simulator: the results of the CPU, up to rounding."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from advmdp.store import Store
from tests.experiments.sweeps import finished_command, play_here, runs_of

SWEEP = """
n_episodes = [7, 9]
replicates = 2
losses = "majority"
mdp = {name = "random", layer_sizes = [1, 2, 1], n_actions = 2}
learner = ["uob-reps", "exp3-ix"]
rewards = {low = -2, high = 3}
"""


def test_a_sweep_in_batches(tmp_path: Path) -> None:
    file, path = tmp_path / "sweep.toml", tmp_path / "store"
    file.write_text(SWEEP)
    command = ["sweep", file, "--store", path, "--engine", "cuda"]
    simulator = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    code, output, errors = finished_command(*command, env=simulator)
    assert code == 0, errors
    assert "[8/8]" in output
    here = Store(tmp_path / "here", create=True)
    play_here(here, runs_of(SWEEP))
    ours, theirs = Store(path).curves(), here.curves()
    assert ours["run"].to_list() == theirs["run"].to_list()
    assert ours["realised_loss"].to_list() == theirs["realised_loss"].to_list()  # the same draws
    for name in ("regret", "expected_loss", "best_loss", "error", "reg", "expected_reward"):
        mine, other = (frame[name].drop_nulls().to_numpy() for frame in (ours, theirs))
        np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-9)
    earned = [store.runs()["realised_reward"].to_list() for store in (Store(path), here)]
    assert earned[0] == earned[1]
    manifest = next(Store(path).manifests())
    assert manifest["figures"]["played_on"] == "numba's CUDA simulator"
    assert not list(path.glob("work/.batch-*"))


def test_no_gpu_is_said_in_one_line_and_nothing_is_created(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
    environment["CUDA_VISIBLE_DEVICES"] = ""  # also on a machine that has one
    code, _, errors = finished_command(
        *("compare", "uniform", "--episodes", 10, "--engine", "cuda", "--store", tmp_path / "s"),
        env=environment,
    )
    assert code == 2
    assert errors.startswith("error: GPU: ")
    assert errors.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
