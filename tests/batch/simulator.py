"""Runs a script with numba's CUDA simulator, which executes GPU kernels in Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

COMMON = '''
import numpy as np
import advmdp as am
from advmdp.batch import BatchRun, RefusedRuns, play_batch

from advmdp.steps import workspace

# The runs on the CPU take the same way as those on a card: no packs, no kept factors.
workspace.LEAST_PACKED, workspace.MOST_KEPT = 10**9, 0
SHAPE = (1, 2, 3, 1)
MDPS = [am.families.random_mdp(SHAPE, 2, seed=i) for i in range(2)]
LAYOUT = MDPS[0].layout
TABLES = [np.random.default_rng(i).random(LAYOUT.n_rows) for i in range(3)]


def make(name, n_episodes, mdp, **parameters):
    entry = am.LEARNERS[name]
    if entry.knows_transition:
        parameters["transitions"] = mdp.transitions
    if entry.has_horizon:
        parameters["n_episodes"] = n_episodes
    return entry.make(mdp.layout, **parameters)


def assert_same(run, other, safe_paths=0):
    """Equal up to the rounding of sums; what is counted is equal."""
    for name in ("episodes", "realised_loss", "epoch", "epoch_starts"):
        assert np.array_equal(getattr(run, name), getattr(other, name)), name
    for name in ("regret", "expected_loss", "best_loss", "mean_width"):
        if getattr(other, name) is not None:
            close = dict(rtol=1e-10, atol=1e-10)
            assert np.allclose(getattr(run, name), getattr(other, name), **close), name
    assert [t.tolist() for t in run.best.policy] == [t.tolist() for t in other.best.policy]
    assert (run.decomposition is None) == (other.decomposition is None)
    if other.decomposition is not None:
        for term in ("error", "bias1", "reg", "bias2"):
            ours, theirs = getattr(run.decomposition, term), getattr(other.decomposition, term)
            assert np.allclose(ours, theirs, rtol=1e-9, atol=1e-9), term
    assert (run.solver is None) == (other.solver is None)
    if other.solver is not None:
        assert run.solver.projections == other.solver.projections
        assert run.solver.safe_paths == safe_paths
        assert run.solver.worst_residual <= 1e-10
        assert run.solver.worst_gap <= 1e-13
'''


def simulate(script: str, *arguments: str, simulator: bool = True) -> str:
    """What the script prints; it fails the test when it fails."""
    environment = dict(os.environ)
    environment.pop("NUMBA_ENABLE_CUDASIM", None)
    if simulator:
        environment["NUMBA_ENABLE_CUDASIM"] = "1"
    environment["PYTHONPATH"] = os.pathsep.join(
        [str(Path(__import__("advmdp").__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    )
    command = [sys.executable, "-W", "error::RuntimeWarning", "-c", COMMON + script, *arguments]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout
