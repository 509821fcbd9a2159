"""The schema of results against what derives from it: files, frames, exports and reports."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import fields
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import advmdp as am
from advmdp.cli import main
from advmdp.evaluation import schema
from advmdp.evaluation.account import Decomposition, SolverStatistics
from advmdp.evaluation.schema import Column, Kind, Level
from advmdp.experiments.build import build
from advmdp.experiments.spec import RunSpec
from advmdp.reports.cells import cells_of
from advmdp.reports.from_runs import LabelledRun, results_from_runs
from advmdp.reports.from_store import results_from_store
from advmdp.reports.html.report_page import report_page
from advmdp.store import Store
from advmdp.store.identity import Identity
from tests.experiments.sweeps import one_run, play_here

# What is on disk and in exported files, as other programs read it: it must not change.
STORED = "run episodes regret expected_loss realised_loss best_loss error bias1 reg bias2 epoch"
STORED += " mean_width regret_bound"
REWARDS = "reward_regret expected_reward realised_reward best_reward"
EXPORTED = "run learner mdp losses n_episodes seed replicate reward_low reward_high reward_unit "
EXPORTED += f"{STORED.removeprefix('run ')} {REWARDS}"
EXPORTED_RUNS = (
    "run hash status learner mdp losses n_episodes seed replicate episodes regret expected_loss "
    "realised_loss best_loss regret_bound reward_low reward_high reward_unit reward_steps "
    f"{REWARDS} seconds "
    "episodes_per_second sittings projections safe_paths worst_residual worst_gap started finished "
    "version machine reason spec"
)
TERMS = ("error", "bias1", "reg", "bias2")
DTYPES = {str: pl.String, int: pl.Int64, float: pl.Float64}
EUR = {"low": -3.0, "high": 5.0, "unit": "EUR"}
SPECS = [one_run(rewards=EUR), one_run(learner="uniform", rewards=EUR), one_run(learner="uniform")]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    store = Store(tmp_path_factory.mktemp("schema") / "store", create=True)
    play_here(store, SPECS)
    return store


def played(spec: RunSpec) -> am.Run:
    """The run of a spec, without a store."""
    parts = build(spec)
    return am.play(
        parts.mdp,
        parts.losses,
        parts.learner,
        spec.n_episodes,
        parts.seed,
        checkpoints=parts.evaluation_points,
    )


def exported(store: Store, folder: Path, *options: str) -> pl.DataFrame:
    path = folder / "exported.csv"
    assert main(["export", str(path), "--csv", "--store", str(store.path), *options]) == 0
    return pl.read_csv(path, infer_schema_length=None)


# ---------------------------------------------------------------------- the declarations


def test_names_are_unique_and_roles_are_declared() -> None:
    names = [column.name for column in schema.COLUMNS]
    assert len(names) == len(set(names))
    of_runs = {column.name for column in schema.columns(Level.RUN)}
    of_points = {column.name for column in schema.columns(Level.POINT)}
    for role in (schema.CELL, schema.REPLICATE, schema.IDENTITY, (schema.STEPS,)):
        assert set(role) <= of_runs
    assert set(schema.KEYS) <= of_runs & of_points
    assert set(Identity._fields) <= of_runs


def test_sources_are_attributes_of_a_run() -> None:
    run = played(SPECS[0])
    for column in schema.COLUMNS:
        if column.source is not None:
            assert column.source.rpartition(".")[2] == column.name  # nothing is stored renamed
            assert schema.value_of(run, column) is attrgetter(column.source)(run)
    uniform = played(SPECS[1])
    assert all(schema.value_of(uniform, term) is None for term in schema.term_columns())
    assert [term.name for term in schema.term_columns()] == [f.name for f in fields(Decomposition)]
    statistics = {field.name: field.type for field in fields(SolverStatistics)}
    for column in schema.solver_columns():
        assert statistics[column.name] == column.dtype.__name__


def test_every_reward_column_repeats_a_loss_on_the_same_levels() -> None:
    for level in Level:
        for reward, loss in schema.reward_columns(level):
            assert loss in schema.loss_columns(level)
            assert reward.level == loss.level
            assert reward.kind is Kind.PLAIN
    repeated = {loss for _, loss in schema.reward_columns(Level.POINT)}
    assert repeated == set(schema.loss_columns(Level.POINT)) - set(schema.term_columns())


# ---------------------------------------------------------------------- the store


def test_files_have_the_declared_columns(store: Store) -> None:
    declared = schema.columns(Level.POINT, rewards=False)
    assert [column.name for column in declared] == STORED.split()
    for path in store.path.glob("runs/*/curves.parquet"):
        file = pl.read_parquet_schema(path)
        assert file == {column.name: DTYPES[column.dtype]() for column in declared}


def test_frames_have_the_declared_columns(store: Store) -> None:
    for level, frame in ((Level.RUN, store.runs()), (Level.POINT, store.curves())):
        declared = {column.name: DTYPES[column.dtype]() for column in schema.columns(level)}
        assert list(declared) == frame.columns
        assert frame.schema == declared


@pytest.mark.parametrize("number", range(len(SPECS)))
def test_frames_hold_what_the_run_holds(number: int, store: Store) -> None:
    spec = SPECS[number]
    run = played(spec)
    row = store.runs().row(by_predicate=pl.col("run") == spec.id, named=True)
    curve = store.curves([spec.id])
    for column in schema.COLUMNS:
        if column.source is None:
            continue
        value = schema.value_of(run, column)
        if Level.POINT in column.level:
            expected = [None] * len(run.episodes) if value is None else value.tolist()
            assert curve[column.name].to_list() == expected, column.name
            value = None if value is None else value[-1]
        if Level.RUN in column.level:
            assert row[column.name] == value, column.name


@pytest.mark.parametrize("number", range(len(SPECS)))
def test_rewards_by_hand(number: int, store: Store) -> None:
    """An episode of three steps earns 3 high - (high - low) loss, a regret is scaled alone."""
    curve, run = store.curves([SPECS[number].id]), played(SPECS[number])
    row = store.runs().row(by_predicate=pl.col("run") == SPECS[number].id, named=True)
    if SPECS[number].rewards is None:
        assert curve.select(REWARDS.split()).null_count().row(0) == (len(curve),) * 4
        assert [row[name] for name in REWARDS.split()] == [None] * 4
        return
    by_hand = {"reward_regret": 8.0 * run.regret}
    for name in ("expected", "realised", "best"):
        by_hand[f"{name}_reward"] = 15.0 * run.episodes - 8.0 * getattr(run, f"{name}_loss")
    for name, values in by_hand.items():
        np.testing.assert_allclose(curve[name], values, rtol=1e-14, atol=1e-11)
        assert row[name] == curve[name][-1]  # the manifest and the curves agree to the bit


# ---------------------------------------------------------------------- exports and reports


def test_exports_have_the_declared_columns(store: Store, tmp_path: Path, capsys: Any) -> None:
    curves, runs = exported(store, tmp_path), exported(store, tmp_path, "--runs")
    parameters = [name for name in curves.columns if "." in name]  # after all others
    assert {"learner.name", "mdp.layer_sizes"} <= set(parameters)
    assert curves.columns == [*EXPORTED.split(), *parameters]
    assert runs.columns == [*EXPORTED_RUNS.split(), *parameters]
    for name in STORED.split()[1:]:
        assert curves[name].to_list() == store.curves()[name].to_list()  # every digit is there
    capsys.readouterr()
    assert main(["ls", str(store.path), "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows == store.runs().to_dicts()
    assert all(list(row) == EXPORTED_RUNS.split() for row in rows)


def test_reports_have_the_declared_columns(store: Store) -> None:
    results = results_from_store(store)
    assert results.runs.columns == [c.name for c in schema.columns(Level.RUN, rewards=False)]
    assert results.curves.columns == STORED.split()
    quantities = {c.quantity for c in schema.columns(Level.POINT)} - set(schema.KEYS)
    quantities -= set(REWARDS.split())
    for cell in cells_of(results):
        for group in cell.groups:
            terms = {"uob-reps": set(), "uniform": {*TERMS, "epoch", "mean_width"}}
            uncertified = {"regret_bound"}  # neither of the two has it
            assert set(group.curves) == quantities - terms[group.learner] - uncertified
            frame = store.curves(group.runs["run"])
            for reward, loss in schema.reward_columns(Level.POINT):
                shown = frame[reward.name if cell.units.in_rewards else loss.name].to_numpy()
                np.testing.assert_array_equal(group.curves[loss.quantity], [shown])
                np.testing.assert_array_equal(group.runs[loss.quantity], shown[-1:])


def test_runs_in_memory_and_in_a_store_give_the_same_results(store: Store) -> None:
    spec = SPECS[0]
    labelled = LabelledRun(
        "uob-reps", played(spec), rewards=am.Rewards(-3.0, 5.0), unit="EUR", steps=3
    )
    (ours,) = cells_of(results_from_runs([labelled]))[0].groups
    (theirs,) = cells_of(results_from_store(store, [spec.id]))[0].groups
    assert ours.curves.keys() == theirs.curves.keys()
    for quantity, values in ours.curves.items():
        np.testing.assert_array_equal(values, theirs.curves[quantity])
    for column in schema.columns(Level.RUN, rewards=False):
        if column.source is not None or column.name in (*schema.UNITS, schema.STEPS):
            assert ours.runs[column.name].to_list() == theirs.runs[column.name].to_list()


# ---------------------------------------------------------------------- a new column


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Three more columns: a loss, the same in rewards, and a figure of the run alone."""
    both = Level.RUN | Level.POINT
    more = (
        Column(
            "made_up_loss", float, both, "realised_loss", Kind.TOTAL_LOSS, in_units="made_up",
            optional=True,
        ),
        Column("made_up_reward", float, both, reward_of="made_up_loss"),
        Column("made_up_figure", float, Level.RUN, "best.loss", optional=True),
    )  # fmt: skip
    monkeypatch.setattr(schema, "COLUMNS", (*schema.COLUMNS, *more))
    return


@pytest.mark.usefixtures("made_up")
def test_a_new_column_reaches_files_frames_exports_and_reports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(tmp_path / "store", create=True)
    play_here(store, SPECS[:1])
    run = played(SPECS[0])
    (path,) = store.path.glob("runs/*/curves.parquet")
    assert pl.read_parquet(path)["made_up_loss"].to_list() == run.realised_loss.tolist()
    curves, runs = exported(store, tmp_path), exported(store, tmp_path, "--runs")
    for frame in (store.curves(), curves):
        assert frame["made_up_loss"].to_list() == run.realised_loss.tolist()
        assert frame["made_up_reward"].to_list() == frame["realised_reward"].to_list()
    for frame in (store.runs(), runs):
        assert frame["made_up_loss"].to_list() == [run.realised_loss[-1]]
        assert frame["made_up_reward"].to_list() == frame["realised_reward"].to_list()
        assert frame["made_up_figure"].to_list() == [run.best.loss]
    capsys.readouterr()
    assert main(["show", SPECS[0].id, "--store", str(store.path), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)["figures"]
    assert figures["made_up_figure"] == run.best.loss
    assert figures["rewards"]["made_up_reward"] == figures["rewards"]["realised_reward"]
    results = results_from_store(store)
    (group,) = cells_of(results)[0].groups
    np.testing.assert_array_equal(group.curves["made_up"], group.curves["realised"])
    assert report_page(results)
    memory = LabelledRun("a", run, rewards=am.Rewards(-3.0, 5.0), steps=3)
    (group,) = cells_of(results_from_runs([memory]))[0].groups
    np.testing.assert_array_equal(group.curves["made_up"], group.curves["realised"])


@pytest.mark.usefixtures("made_up")
def test_runs_from_before_a_new_column_have_nulls_in_it(tmp_path: Path) -> None:
    before = Path(__file__).parent / "before_rewards" / "store"
    store = Store(shutil.copytree(before, tmp_path / "store"))
    names = ["made_up_loss", "made_up_reward"]
    assert store.curves()["regret"].null_count() == 0
    assert store.curves().select(names).null_count().row(0) == (store.curves().height,) * 2
    assert store.runs().select(*names, "made_up_figure").null_count().row(0) == (8, 8, 8)
    assert "made_up" not in cells_of(results_from_store(store))[0].groups[0].curves
    assert report_page(results_from_store(store))
