"""The runs of a store as polars frames, and the files that hold frames.

The columns, their order and their types are those of ``evaluation.schema``.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from advmdp.evaluation.rewards import in_rewards
from advmdp.evaluation.schema import IDENTITY, STEPS, Column, Level, columns, reward_columns
from advmdp.store.outcome import Curves
from advmdp.store.run_row import run_row

DTYPES: dict[type, pl.DataType] = {str: pl.String(), int: pl.Int64(), float: pl.Float64()}
RANGE = ("reward_low", "reward_high", STEPS)
"""What the conversion to rewards needs beside the losses and the number of episodes."""


def polars_schema(declared: Iterable[Column]) -> dict[str, pl.DataType]:
    """The names and polars types of columns."""
    return {column.name: DTYPES[column.dtype] for column in declared}


def runs_frame(manifests: Iterable[dict[str, Any]]) -> pl.DataFrame:
    """One row per run."""
    schema = polars_schema(columns(Level.RUN))
    rows = [tuple(run_row(manifest).values()) for manifest in manifests]
    return pl.DataFrame(rows, schema=schema, orient="row")


def curve_frame(run: str, curves: Curves) -> pl.DataFrame:
    """The curves of one run: one row per evaluation point, the run's id in every row."""
    n_rows = len(curves["episodes"])  # type: ignore[arg-type]
    nothing = [None] * n_rows
    given = {**curves, "run": [run] * n_rows}
    series = []
    for name, dtype in polars_schema(columns(Level.POINT, rewards=False)).items():
        values = given.get(name)
        series.append(pl.Series(name, nothing if values is None else values, dtype))
    return pl.DataFrame(series)


def curve_file(run: str, curves: Curves) -> bytes:
    """The curves of one run as a Parquet file."""
    buffer = io.BytesIO()
    curve_frame(run, curves).write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


def curves_frame(files: Iterable[Path], runs: pl.DataFrame) -> pl.DataFrame:
    """One row per run and evaluation point; with rewards where ``runs`` has a range for them.

    Files that were written before a column existed have nulls in it.
    """
    paths = [str(path.absolute()) for path in files]  # a relative "~" would be expanded
    schema = polars_schema(columns(Level.POINT, rewards=False))
    curves = (
        pl.read_parquet(paths, schema=schema, missing_columns="insert", glob=False)
        if paths
        else pl.DataFrame(schema=schema)
    )
    ranges = runs.select("run", *RANGE)
    with_range = curves.join(ranges, on="run", how="left", maintain_order="left")
    converted = {reward.name: reward_values(loss) for reward, loss in reward_columns(Level.POINT)}
    return with_range.with_columns(**converted).drop(RANGE)


def reward_values(loss: Column) -> pl.Expr:
    """A column in rewards, row by row; null without a range (the columns of ``RANGE``)."""
    low, high, steps = map(pl.col, RANGE)
    return in_rewards(loss.kind, pl.col(loss.name), pl.col("episodes") * steps, low, high)  # type: ignore[no-any-return]


def with_identity(curves: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    """Curves with the columns that identify their runs in every row, for export.

    The rows stay in the order of ``curves``.
    """
    joined = curves.join(runs.select(IDENTITY), on="run", how="inner", maintain_order="left")
    return joined.select(*IDENTITY, *(name for name in curves.columns if name not in IDENTITY))


def with_parameters(frame: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    """The frame with a column for every parameter of a spec, such as ``learner.eta_scale``.

    A parameter that a run leaves at its default is null; a list is written with commas.
    """
    parameters = {run: _parameters(spec) for run, spec in runs.select("run", "spec").iter_rows()}
    names = sorted({name for given in parameters.values() for name in given})
    columns = {name: [given.get(name) for given in parameters.values()] for name in names}
    series = [pl.Series("run", list(parameters), pl.String())]
    series += [pl.Series(name, *_as_one_type(values)) for name, values in columns.items()]
    return frame.join(pl.DataFrame(series), on="run", how="left", maintain_order="left")


def _parameters(spec: str) -> dict[str, Any]:
    """The parameters of a spec's parts; manifests may come from anywhere, and other things too."""
    parts = json.loads(spec)
    return {
        f"{part}.{key}": ",".join(map(str, value)) if isinstance(value, list) else value
        for part in ("learner", "mdp", "losses")
        if isinstance(parts.get(part), dict)
        for key, value in parts[part].items()
        if isinstance(value, bool | int | float | str | list)
    }


def _as_one_type(values: list[Any]) -> tuple[list[Any], pl.DataType]:
    """Numbers where all are, else text."""
    given = [value for value in values if value is not None]
    if all(type(value) is bool for value in given):
        return values, pl.Boolean()
    if all(type(value) is int and abs(value) < 2**63 for value in given):
        return values, pl.Int64()
    if all(type(value) in (int, float) for value in given):
        return [None if value is None else float(value) for value in values], pl.Float64()
    return [None if value is None else str(value) for value in values], pl.String()


def as_bytes(frame: pl.DataFrame, *, csv: bool) -> bytes:
    """The frame as a CSV or a Parquet file."""
    buffer = io.BytesIO()
    if csv:
        frame.write_csv(buffer)
    else:
        frame.write_parquet(buffer)
    return buffer.getvalue()
