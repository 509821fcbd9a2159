"""A choice that works and can cost much: one line on stderr, however many runs are made of it."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from advmdp.cli import main

SWEEP = """
n_episodes = [20, 30]
replicates = 2
losses = {name = "stochastic"}
mdp = {name = "random", layer_sizes = [1, 2, 1], n_actions = 2}
learner = [{name = "uob-reps", baseline = "undamped"}, {name = "uob-reps", baseline = "damped"}]
"""


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_sweep_warns_once(
    workers: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        code = main(["sweep", str(path), "--store", str(tmp_path / "store"), "--workers", workers])
    assert code == 0
    told = [line for line in capfd.readouterr().err.splitlines() if "undamped" in line]
    assert len(told) == 1
    assert told[0].startswith("warning: baseline='undamped': an action that was given up")
    assert told[0].endswith("use baseline='damped'")
