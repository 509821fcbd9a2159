"""Frames of a store: the order of rows does not depend on how a join is carried out."""

from __future__ import annotations

import json

import polars as pl
import pytest

from advmdp.evaluation.schema import IDENTITY, Level, columns
from advmdp.store.frames import polars_schema, with_identity, with_parameters

N_POINTS = 5


def frames(n_curves: int, n_runs: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Curves in an order of their own, and more or fewer runs than there are rows in them."""
    names = [f"run {n_runs - 1 - i:04d}" for i in range(n_curves)]
    rows = [{"run": name, "episodes": 10**k} for name in names for k in range(N_POINTS)]
    curves = pl.DataFrame(rows, schema=polars_schema(columns(Level.POINT)))
    runs = pl.DataFrame(
        [{"run": f"run {i:04d}", "seed": i} for i in range(n_runs)],
        schema=polars_schema(columns(Level.RUN)),
    )
    return curves, runs


def test_every_parameter_has_a_column() -> None:
    """Numbers where all are, lists with commas, null at the default; others are left out."""
    specs = [
        {"learner": {"name": "a", "eta": 2, "on": True}, "mdp": {"n": 3, "sizes": [1, 2]}},
        {"learner": {"name": "b", "eta": 0.5}, "losses": {"p": 3, "q": {"deep": 1}}},
        {"learner": "strange", "losses": {"p": "text"}},
    ]
    names = ["r0", "r1", "r2"]
    runs = pl.DataFrame({"run": names, "spec": [json.dumps(spec) for spec in specs]})
    frame = with_parameters(pl.DataFrame({"run": ["r2", "r0", "r1", "r0"]}), runs)
    assert frame.to_dict(as_series=False) == {
        "run": ["r2", "r0", "r1", "r0"],
        "learner.eta": [None, 2.0, 0.5, 2.0],
        "learner.name": [None, "a", "b", "a"],
        "learner.on": [None, True, None, True],
        "losses.p": ["text", None, "3", None],
        "mdp.n": [None, 3, None, 3],
        "mdp.sizes": [None, "1,2", None, "1,2"],
    }
    assert frame["mdp.n"].dtype == pl.Int64()  # 3 in a table, not 3.0


@pytest.mark.parametrize(("n_curves", "n_runs"), [(10, 10), (300, 300), (10, 3000)])
def test_exported_rows_keep_the_order_of_the_curves(n_curves: int, n_runs: int) -> None:
    curves, runs = frames(n_curves, n_runs)
    exported = with_identity(curves, runs)
    assert exported.select("run", "episodes").rows() == curves.select("run", "episodes").rows()
    assert exported["seed"].to_list() == [int(name[4:]) for name in curves["run"]]
    assert exported.columns[: len(IDENTITY)] == list(IDENTITY)


def test_runs_without_curves_and_curves_without_runs_are_left_out() -> None:
    curves, runs = frames(10, 100)
    exported = with_identity(curves, runs.filter(pl.col("run") != curves["run"][0]))
    assert len(exported) == len(curves) - N_POINTS
