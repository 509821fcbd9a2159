"""What workers inherit, and when checkpoints are due."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

import advmdp as am
from advmdp.experiments.engines.inline import InlineEngine
from advmdp.experiments.engines.interface import CheckpointSchedule, EngineOptions
from advmdp.experiments.engines.local import LocalEngine
from advmdp.experiments.engines.single_run import play_run
from advmdp.experiments.engines.worker_process import THREAD_VARIABLES
from advmdp.store.checkpoints import Checkpoints
from tests.experiments.sweeps import one_run


def test_workers_have_one_thread_each_and_leave_ctrl_c_to_the_sweep(tmp_path: Path) -> None:
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    engine = LocalEngine(tmp_path, EngineOptions(workers=1))
    try:
        for name in THREAD_VARIABLES:
            assert engine._pool.submit(os.getenv, name).result() == "1"
        blocked = engine._pool.submit(signal.pthread_sigmask, signal.SIG_BLOCK, set()).result()
        assert {signal.SIGINT, signal.SIGTERM} <= blocked
    finally:
        engine.close()
    assert {name: os.environ.get(name) for name in THREAD_VARIABLES} == before
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, set())


@pytest.mark.parametrize("engine", [InlineEngine, LocalEngine])
def test_values_that_make_no_run_are_refused_before_anything(engine, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    playing = engine(tmp_path, EngineOptions(workers=1))
    try:
        with pytest.raises(am.InvalidInput, match=r"learner.delta: 2.0"):
            playing.check([one_run(learner={"name": "uob-reps", "delta": 2.0})])
    finally:
        playing.close()


class _Counting(Checkpoints):
    """Notes the episodes of every checkpoint."""

    written: list[int]

    def write(self, episodes, seconds, snapshot) -> None:  # type: ignore[no-untyped-def]
        super().write(episodes, seconds, snapshot)
        self.written.append(episodes)


@pytest.mark.parametrize(
    ("schedule", "fewest", "most"),
    [
        (CheckpointSchedule(seconds=1e9), 0, 0),
        (
            CheckpointSchedule(seconds=1e9, episodes=100),
            3,
            10,
        ),  # at the end of a slice, hence not all ten
        (CheckpointSchedule(seconds=0.0), 5, 1000),
    ],
)
def test_checkpoints_by_time_and_by_episodes(schedule, fewest, most, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    spec = one_run(n_episodes=1000)
    checkpoints = _Counting(tmp_path, spec.hash)
    checkpoints.written = []
    play_run(spec, checkpoints, schedule=schedule)
    written = checkpoints.written
    assert fewest <= len(written) <= most
    if schedule.episodes:
        gaps = [after - before for before, after in zip([0, *written], written, strict=False)]
        assert min(gaps) >= schedule.episodes
