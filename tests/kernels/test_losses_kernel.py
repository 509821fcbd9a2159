"""The loss programme against its formulas, written once more in NumPy."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from advmdp.kernels.model.losses import (
    CYCLE,
    DRIFT,
    MAJORITY,
    MARKED,
    LossProgram,
    fill_losses,
    flip_coins,
    is_marked,
    observe_path,
)
from advmdp.kernels.runtime.random_numbers import LOSSES, uniform_four, words_at
from advmdp.layout import Floats

N_ROWS = 11  # not a multiple of four: the last group of coins is cut short


def program(kind: int, n_tables: int = 2, **changes: object) -> LossProgram:
    base = LossProgram(
        kind=kind,
        tables=np.random.default_rng(5).random((n_tables, N_ROWS)),
        period=6,
        turn=4,
        noisy=0,
        marks=np.array([2, 3, 7, 40]),
        strength=0.0,
        memory=0.0,
        pressure=np.zeros(N_ROWS),
        stands_for=np.zeros(0, dtype=np.int64),
    )
    return base._replace(**changes)  # type: ignore[arg-type]


def losses(process: LossProgram, episode: int, seeds: tuple[int, int] = (1, 2)) -> Floats:
    out = np.full(N_ROWS, np.nan)
    fill_losses(process, *seeds, episode, out)
    return out


@pytest.mark.parametrize("episode", [0, 3, 4, 5, 6, 11, 17, 18, 2**33 + 1])
def test_tables_follow_the_schedule(episode: int) -> None:
    cycle, majority = program(CYCLE, 3), program(MAJORITY)
    assert np.array_equal(losses(cycle, episode), cycle.tables[(episode // 6) % 3])
    expected = majority.tables[0 if episode % 6 < 4 else 1]
    assert np.array_equal(losses(majority, episode), expected)


def test_drift_is_the_smooth_wave() -> None:
    process = program(DRIFT, period=10)
    start, end = process.tables
    for episode in range(25):
        w = 1.0 - abs(1.0 - 2.0 * (episode % 10) / 10)
        expected = start + (3 * w**2 - 2 * w**3) * (end - start)
        assert np.allclose(losses(process, episode), expected, rtol=0, atol=1e-15)
    assert np.allclose(losses(process, 5), end, rtol=0, atol=1e-15)


def test_drift_never_leaves_the_unit_interval() -> None:
    corners = np.array([[0.0, 1.0, 1.0, 0.1] * 2 + [0.3, 0.0, 1.0], [1.0] * 8 + [0.0] * 3])
    process = program(DRIFT, tables=corners, period=7919)
    for episode in range(0, 7919, 11):
        values = losses(process, episode)
        assert values.min() >= 0.0
        assert values.max() <= 1.0


def test_marked_episodes_are_found() -> None:
    process = program(MARKED)
    for episode in range(45):
        marked = episode in (2, 3, 7, 40)
        assert is_marked(process.marks, episode) == marked
        assert np.array_equal(losses(process, episode), process.tables[int(marked)])
    assert not is_marked(np.zeros(0, dtype=np.int64), 0)


def test_every_row_gets_its_own_coin() -> None:
    process = program(CYCLE, 1, noisy=1)
    for episode in (0, 1, 2**32 + 5):
        coins = np.array([uniform_four(1, 2, LOSSES, episode, g) for g in range(3)]).ravel()
        expected = (coins[:N_ROWS] < process.tables[0]).astype(float)
        assert np.array_equal(losses(process, episode), expected)


def test_coins_have_the_right_means() -> None:
    """Each of 11 rows within 6 standard deviations; a false alarm has probability below 1e-7."""
    process = program(CYCLE, 1, noisy=1)
    mean = process.tables[0]
    mean[:2] = 0.0, 1.0
    n = 5000
    total = sum(losses(process, t) for t in range(n))
    assert np.all(np.abs(total - n * mean) <= 6.0 * np.sqrt(n * mean * (1.0 - mean)))


def test_pressure_follows_its_recursion_and_raises_the_losses() -> None:
    process = program(CYCLE, 1, strength=0.5, memory=0.75)
    rng = np.random.default_rng(0)
    pressure = np.zeros(N_ROWS)
    for episode in range(30):
        expected = np.minimum(process.tables[0] + 0.5 * pressure, 1.0)
        assert np.allclose(losses(process, episode), expected, rtol=0, atol=1e-14)
        rows = rng.choice(N_ROWS, size=3, replace=False)
        observe_path(process, rows)
        played = np.isin(np.arange(N_ROWS), rows)
        pressure = 0.75 * pressure + 0.25 * played
    assert pressure.max() > 0.5


def test_an_oblivious_programme_ignores_what_was_played() -> None:
    process = program(CYCLE, 2)
    observe_path(process, np.arange(3))
    assert not process.pressure.any()


EPISODES = """
import importlib
import sys
import numpy as np
from numba import cuda
from advmdp.kernels.runtime.targets import CUDA_PACKAGE, load_cuda_kernels
from advmdp.layout import Layout

on_device = sys.argv[1] == "device"
if on_device:
    load_cuda_kernels()
package = CUDA_PACKAGE if on_device else "advmdp.kernels"
losses = importlib.import_module(package + ".model.losses")
trajectory = importlib.import_module(package + ".model.trajectory")
graph = Layout((1, 2, 2, 1), 2).graph()

def episodes(tables, marks, pressure, stands_for, policy, transitions, out, states, rows):
    program = losses.LossProgram(2, tables, 5, 0, 1, marks, 0.5, 0.5, pressure, stands_for)
    for t in range(3):
        losses.fill_losses(program, 7, 2**32 - 1, t, out)
        trajectory.draw_trajectory(graph, policy, transitions, 7, 2**32 - 1, t, states, rows)
        losses.observe_path(program, rows)

tables = np.linspace(0, 1, 20).reshape(2, 10)
pressure, out = np.zeros(10), np.zeros(10)
states, rows = np.zeros(4, dtype=np.int64), np.zeros(3, dtype=np.int64)
policy, transitions = np.full(10, 0.5), np.array([0.5] * 12 + [1.0] * 4)
run = cuda.jit(episodes)[1, 1] if on_device else episodes
none = np.zeros(0, dtype=np.int64)
run(tables, none, pressure, none, policy, transitions, out, states, rows)
print(out.tolist(), pressure.tolist(), states.tolist(), rows.tolist())
"""


def test_simulated_cuda_plays_the_same_episodes() -> None:
    printed = []
    for machine, simulator in (("host", "0"), ("device", "1")):
        done = subprocess.run(
            [sys.executable, "-W", "error::RuntimeWarning", "-c", EPISODES, machine],
            env={**os.environ, "NUMBA_ENABLE_CUDASIM": simulator},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout)
    assert printed[0] == printed[1]
    assert "1.0" in printed[0]


@pytest.mark.parametrize("n_rows", [1, 31, 32, 64, 77])
@pytest.mark.parametrize("seed", [(3, 4), (2**32 - 1, 2**31)])
@pytest.mark.parametrize("episode", [0, 12, 2**40 + 5])
def test_coins_in_lanes_are_those_of_their_counters(
    seed: tuple[int, int], episode: int, n_rows: int
) -> None:
    mean = np.random.default_rng(n_rows).random(n_rows)
    values = mean.copy()
    flip_coins(*seed, episode, values)
    for r in range(n_rows):
        u = words_at.py_func(*seed, LOSSES, episode, r // 4)[r % 4] * 2.0**-32
        assert values[r] == float(u < mean[r])
