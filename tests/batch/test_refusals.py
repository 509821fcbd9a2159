"""What a batch refuses: in one line, before anything is played."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest

import advmdp as am
from advmdp.batch import BatchRun, play_batch
from advmdp.batch.card import runs_that_fit
from advmdp.batch.columns import Block, by_run, cells
from advmdp.errors import NoGPU
from advmdp.kernels.runtime.storage import Choice, Lasting, Number, Private

MDP = am.families.random_mdp((1, 2, 1), 2, seed=0)
OTHER = am.families.random_mdp((1, 3, 1), 2, seed=0)
LOSSES = am.losses.Stochastic(np.full(MDP.layout.n_rows, 0.5))


class Stubborn:
    """A learner of the user's own: policy and update, no compiled loop."""

    layout = MDP.layout

    def policy(self) -> Any:
        return am.Uniform(MDP.layout).policy()

    def update(self, feedback: Any) -> None:
        pass


def uob(n_episodes: int = 10) -> am.UOBREPS:
    return am.UOBREPS(MDP.layout, n_episodes=n_episodes)


@pytest.mark.parametrize(
    ("batch", "n_episodes", "message"),
    [
        ([], 10, "no runs"),
        ([BatchRun(MDP, LOSSES, Stubborn())], 10, "run 0 has a learner without a compiled loop"),
        (
            [BatchRun(MDP, LOSSES, am.Doubling(am.UOBREPS, MDP.layout))],  # its rounds are Python
            10,
            r"run 0 has a learner without a compiled loop \(Doubling\)",
        ),
        (
            [BatchRun(MDP, LOSSES, uob()), BatchRun(OTHER, LOSSES, am.Uniform(OTHER.layout))],
            10,
            "run 1 has another layout",
        ),
        (
            [BatchRun(MDP, LOSSES, uob()), BatchRun(MDP, LOSSES, am.Uniform(MDP.layout))],
            10,
            "run 1 is Uniform, run 0 is UOBREPS",
        ),
        (
            [BatchRun(MDP, LOSSES, uob(5))],
            10,
            "run 0: 10 episodes, but the learner was made for n_episodes=5",
        ),
        ([BatchRun(MDP, LOSSES, uob())], 2**31, r"below 2\*\*31"),  # counted with 32 bits
    ],
)
def test_what_does_not_fit_is_named(batch: Any, n_episodes: int, message: str) -> None:
    with pytest.raises(am.InvalidInput, match=message) as caught:
        play_batch(batch, n_episodes)
    assert "\n" not in str(caught.value)


def test_columns_of_different_shapes_are_refused() -> None:
    with pytest.raises(am.InvalidInput, match=r"shape of program\.tables"):
        Block([_program(1), _program(2)], width=1)


class Root(NamedTuple):
    """A tree with one branch."""

    program: Any


def _program(n_tables: int) -> Root:
    tables = np.zeros((n_tables, MDP.layout.n_rows))
    return Root(am.losses.Replayed(tables).begin(MDP.layout, 0).program)


def test_too_little_memory_is_one_line() -> None:
    assert runs_that_fit(1000, 5, memory=3500) == 3
    assert runs_that_fit(1000, 2, memory=3500) == 2
    with pytest.raises(NoGPU, match=r"a run needs 1\.0 MiB and 0\.5 MiB are free") as caught:
        runs_that_fit(2**20, 5, memory=2**19)
    assert "\n" not in str(caught.value)


def test_no_gpu_is_one_line() -> None:
    """A machine whose cards are hidden has none; neither has one without a driver."""
    script = (
        "import sys, numpy as np, advmdp as am; from advmdp.batch import BatchRun, play_batch\n"
        "mdp = am.families.random_mdp((1, 2, 1), 2, seed=0)\n"
        "losses = am.losses.Stochastic(np.full(mdp.layout.n_rows, 0.5))\n"
        "try:\n"
        "    play_batch([BatchRun(mdp, losses, am.Uniform(mdp.layout))], 5)\n"
        "except am.AdvMDPError as problem:\n"
        "    print(problem); sys.exit(2)\n"
    )
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": "-1", "NUMBA_ENABLE_CUDASIM": "0"}
    result = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 2, result.stderr
    assert result.stdout.startswith("GPU: no CUDA device can be used")
    assert result.stdout.count("\n") == 1
    assert result.stderr == ""


class Leaves(NamedTuple):
    """One leaf of every kind."""

    table: Lasting[Any]
    small: Lasting[Any]
    n_actions: Choice[int]
    rate: Number[float]


def test_columns_come_back_as_they_went_in() -> None:
    rng = np.random.default_rng(0)
    trees = [
        Leaves(rng.random((2, 3)), rng.integers(0, 9, 5).astype(np.uint8), 4, float(i))
        for i in range(7)
    ]
    block = Block(trees, width=4)
    columns = block.plan.columns()
    assert "n_actions" not in columns, "what all runs agree on belongs to the code"
    tiles = block.own(1, 7)
    assert len(tiles) == 2
    for name in ("table", "small", "rate"):
        found = by_run(cells(tiles, columns[name]), columns[name], 6)
        assert np.array_equal(found, [getattr(tree, name) for tree in trees[1:]])


class WorkSpace(NamedTuple):
    """A column of the run's own, and work space of a thread."""

    table: Lasting[Any]
    near: Private[Any]


def test_work_space_is_there_for_every_thread() -> None:
    rng = np.random.default_rng(0)
    trees = [WorkSpace(rng.random(3), rng.random(5)) for _ in range(4)]
    block = Block(trees, width=2, threads=8)
    columns = block.plan.columns()
    tiles = block.own(0, 4)
    assert [columns[name].private for name in ("table", "near")] == [False, True]
    assert cells(tiles, columns["table"]).shape == (2, 3, 2)
    places = cells(tiles, columns["near"])  # (tile, entry, thread)
    assert places.shape == (2, 5, 16)
    for run, tree in enumerate(trees):
        mine = places[run // 2, :, 8 * (run % 2) : 8 * (run % 2 + 1)]
        assert np.array_equal(mine, np.tile(tree.near[:, None], 8))
    ends = [c.offset + c.size * c.stride * 8 for c in columns.values()]
    assert max(ends) <= block.plan.tile_bytes
