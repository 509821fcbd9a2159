"""Where data lives is declared on the fields of the kernels' records, and the declarations hold."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.batch.columns import Block
from advmdp.batch.runs import BatchRun, casts
from advmdp.kernels.runtime.storage import Storage, leaves
from tests.reference.contract import COMPILED, DENSE, losses_of, made

ALONE = Storage.ALONE
every_learner = pytest.mark.parametrize("name", COMPILED)


@every_learner
def test_every_leaf_of_everything_that_is_played_is_declared(name: str) -> None:
    losses = am.losses.Stochastic(losses_of(DENSE, 0))
    run = BatchRun(DENSE, losses, made(name, DENSE))
    [cast] = casts([run], 40)
    parts = {"graph": cast.graph, "world": cast.world, "program": cast.program}
    parts |= {"ledger": cast.ledger, "state": cast.state[0]}
    for part, record in parts.items():
        for field, value, storage in leaves(record):
            is_array = isinstance(value, np.ndarray)
            assert storage is not None, f"{part}.{field}"
            of_numbers = (Storage.CHOICE, Storage.SWITCH, Storage.NUMBER)
            assert (storage not in of_numbers) == is_array, f"{part}.{field}"


def test_a_block_follows_the_declarations() -> None:
    losses = am.losses.Stochastic(losses_of(DENSE, 0))
    runs = [BatchRun(DENSE, losses, made("uob-reps", DENSE), seed=i) for i in range(4)]
    found = Block(casts(runs, 40), width=2, threads=16)
    columns = found.plan.columns()
    private = {name for name, column in columns.items() if column.private}
    assert private == {
        "state.0.step.solver.dual.held.near",
        "state.0.reach.keys",
        "state.0.reach.row_order",
    }
    common = {name for name, column in columns.items() if column.common}
    assert {"world.transitions", "program.tables", "state.0.visits.counter"} <= common
    assert "state.0.rows.lower" not in common | private
    of_a_core = [field for field, _, kind in leaves(casts(runs, 40)[0].state[0]) if kind is ALONE]
    assert "step.solver.disturbance.rows" in of_a_core
    assert {columns[f"state.0.{field}"].shape for field in of_a_core} == {(0,)}
    assert "state.0.settings.estimator" not in columns  # a choice, compiled in
    assert columns["state.0.step.solver.dual.held.near"].stride == 32
    assert columns["state.0.rows.lower"].stride == 2


def races(case: str, *also: str) -> set[str]:
    """Arrays of one run with races, from a script in plain Python."""
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(Path(am.__file__).parents[1]), str(root)])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    script = str(Path(__file__).with_name("races.py"))
    command: list[Any] = [sys.executable, "-W", "ignore", script, case, *also]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return set(result.stdout.split())


@pytest.mark.parametrize("case", ["box", "ball", "sparse", "full"])
def test_no_turn_of_a_shared_loop_touches_what_another_one_writes(case: str) -> None:
    assert races(case) == set()


@pytest.mark.parametrize("field", ["near", "keys", "row_order"])
def test_a_private_array_that_is_shared_is_a_race(field: str) -> None:
    assert {name.rsplit(".", 1)[-1] for name in races("sparse", field)} == {field}
