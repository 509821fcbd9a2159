"""Loops that several threads share: their turns in any order give the same bits.

On a GPU the threads of a run take turns of every loop over ``shared`` and meet afterwards.  Here
one thread takes them all, in a random order, along the branches that are for several threads.  A
turn that reads what another one writes would be noticed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import hashlib, importlib, pkgutil, random, sys
import numpy as np
import advmdp as am
import advmdp.kernels as kernels

from advmdp.steps import workspace

# As on a card, where no rows are in packs and no factors are kept.
workspace.LEAST_PACKED, workspace.MOST_KEPT = 10**9, 0
order = random.Random(7)
ALONE = ("expected_loss", "draw_trajectory")  # they ask other threads for numbers
together = sys.argv[1] == "together"


def shuffled(*arguments):
    turns = list(range(*arguments))
    order.shuffle(turns)
    return turns


def n_threads():
    return 1 if sys._getframe(1).f_code.co_name in ALONE else 4


n_exchanged = 0
for found in pkgutil.walk_packages(kernels.__path__, "advmdp.kernels."):
    module = importlib.import_module(found.name)
    for name, ours in (("shared", shuffled), ("n_threads", n_threads), ("MAY_SHARE", True)):
        if together and hasattr(module, name):
            setattr(module, name, ours)
            n_exchanged += 1
assert n_exchanged > 10 or not together

BITING = dict(log_scale=0.002, eta_scale=8.0)
CASES = {
    "box": (dict(layer_sizes=(1, 3, 3, 1)), "uob-reps", BITING, 120),
    "ball": (dict(layer_sizes=(1, 3, 3, 1)), "uob-reps-l1", BITING | dict(hint="last"), 60),
    "sparse": (dict(layer_sizes=(1, 4, 5, 4, 1), n_successors=3), "uob-reps", BITING, 50),
    "wide": (dict(layer_sizes=(1, 14, 3, 1)), "uob-reps", BITING, 12),
    "safe": (dict(layer_sizes=(1, 3, 3, 1)), "uob-reps", dict(log_scale=0.002, eta_scale=3e4), 30),
    "full": (dict(layer_sizes=(1, 3, 3, 1)), "uc-o-reps", dict(log_scale=0.01, hint=3), 40),
    "known": (dict(layer_sizes=(1, 3, 3, 1)), "o-reps", {}, 40),
}
world, name, parameters, n_episodes = CASES[sys.argv[2]]
mdp = am.families.random_mdp(n_actions=2, seed=3, **world)
if am.LEARNERS[name].knows_transition:
    parameters["transitions"] = mdp.transitions
learner = am.LEARNERS[name].make(mdp.layout, n_episodes=n_episodes, **parameters)
losses = am.losses.Stochastic(np.random.default_rng(3).random(mdp.layout.n_rows))
run = am.play(mdp, losses, learner, n_episodes, seed=5, checkpoints=range(1, n_episodes + 1))
from advmdp.evaluation.account import new_ledger
from advmdp.kernels.accounting import evaluation_point, ledger as ledgers

ledger, rng = new_ledger(mdp), np.random.default_rng(4)
ledger.total[:], ledger.estimated[:] = rng.random((2, mdp.layout.n_rows))
judged = evaluation_point.judge(mdp.layout.graph(), ledgers.World(mdp.flat, 0, 0), ledger)
state = b"".join(np.ascontiguousarray(a).tobytes() for a in learner.state().values())
state += np.array(judged).tobytes()
print(hashlib.sha256(run.regret.tobytes() + state).hexdigest(), run.solver.evaluations)
assert (run.solver.safe_paths > 0) == (sys.argv[2] == "safe")
"""


def bits(mode: str, case: str) -> str:
    """A run in plain Python, where what the kernels import can be exchanged."""
    source = str(Path(__import__("advmdp").__file__).parents[1])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": source}
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, mode, case]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("case", ["box", "ball", "sparse", "wide", "safe"])
def test_turns_of_shared_loops_in_any_order(case: str) -> None:
    alone, together = bits("alone", case), bits("together", case)
    assert alone == together
    assert int(alone.split()[1]) > 20  # projections that did something
