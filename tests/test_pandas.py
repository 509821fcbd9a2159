"""Frames of pandas hold what those of polars hold: runs, learners, environments and stores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import advmdp as am
from advmdp.evaluation.reward_run import EnvironmentRun
from advmdp.experiments.engines.inline import InlineEngine
from advmdp.experiments.runner import run_all
from advmdp.store import Store
from tests.experiments.sweeps import one_run
from tests.reference.contract import DENSE, made

LEARNER = made("uob-reps", DENSE)
RUN = am.play(DENSE, am.losses.Stochastic(np.full(DENSE.layout.n_rows, 0.5)), LEARNER, 20)


def assert_alike(frame: Any, polars: pl.DataFrame) -> None:
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == polars.columns
    assert len(frame) == polars.height > 0
    for name in polars.columns:
        ours, theirs = frame[name], polars[name]
        if theirs.dtype.is_numeric():
            expected = [np.nan if value is None else value for value in theirs.to_list()]
            assert ours.dtype.kind in "if"
            np.testing.assert_array_equal(ours, expected)
        else:
            assert ours.tolist() == theirs.to_list()


def test_runs_learners_and_environments() -> None:
    rewards = EnvironmentRun(np.array([0.0, 1.0, 0.5]), np.array([3, 1, 2]))
    for shown in (RUN, LEARNER, rewards):
        assert_alike(shown.to_frame("pandas"), shown.to_frame())
    assert_alike(LEARNER.to_frame("pandas", run=RUN), LEARNER.to_frame(run=RUN))


def test_stores(tmp_path: Path) -> None:
    made = Store(tmp_path / "store", create=True)
    assert run_all([one_run()], made, InlineEngine(made.path)).complete
    store = am.open_store(tmp_path / "store")
    assert_alike(store.runs("pandas"), store.runs())
    assert_alike(store.curves(library="pandas"), store.curves())
    with pytest.raises(am.InvalidInput, match="neither 'polars' nor 'pandas'"):
        store.runs("numpy")
