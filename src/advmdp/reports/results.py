"""What a report is made from: a frame of runs and a frame of their curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from advmdp.errors import InvalidInput
from advmdp.evaluation.schema import (
    CELL,
    FINISHED,
    REPLICATE,
    STEPS,
    UNITS,
    Column,
    Level,
    columns,
    loss_columns,
)
from advmdp.store.frames import DTYPES

ONE_OF_A_KIND = (*CELL, "learner", *REPLICATE)
"""No two finished runs of a report agree in all of these."""


def run_columns() -> tuple[Column, ...]:
    """The columns of the runs; those in rewards are not needed, reports convert the losses."""
    return columns(Level.RUN, rewards=False)


def curve_columns() -> tuple[Column, ...]:
    """The columns of the curves."""
    return columns(Level.POINT, rewards=False)


@dataclass(frozen=True)
class Results:
    """Runs and curves, validated; a run is one row of ``runs`` and many rows of ``curves``.

    Parameters
    ----------
    runs
        One row per run, with the columns ``run_columns()``, of which optional ones may be missing;
        other columns are ignored.
    curves
        One row per run and evaluation point, with the columns ``curve_columns()``.

    >>> Results(pl.DataFrame({"run": ["a"]}), pl.DataFrame({"run": ["a"]}))
    Traceback (most recent call last):
    ...
    advmdp.errors.InvalidInput: runs: column 'hash' is missing
    """

    runs: pl.DataFrame
    curves: pl.DataFrame

    def __post_init__(self) -> None:
        runs = _with_columns(self.runs, run_columns(), "runs")
        curves = _with_columns(self.curves, curve_columns(), "curves")
        object.__setattr__(self, "runs", runs)
        object.__setattr__(self, "curves", curves)
        done = self.finished
        _reject(runs.filter(runs["run"].is_duplicated()), "runs", "is listed twice")
        without_curve = done.filter(~done["run"].is_in(curves["run"].unique().to_list()))
        _reject(without_curve, "curves", "is finished but has no curve")
        of_done = curves.filter(curves["run"].is_in(done["run"].to_list()))
        needed = [column for column in loss_columns(Level.RUN) if not column.optional]
        numbers = [pl.col(column.name).is_finite() for column in needed]
        for name, frame in (("runs", done), ("curves", of_done)):
            broken = frame.filter(~pl.all_horizontal(numbers).fill_null(False))
            _reject(broken, name, "has a loss or a regret that is not a finite number")
        _reject(done.filter(~_has_no_or_one_range()), "runs", RANGE)
        _reject(
            done.filter(pl.struct(ONE_OF_A_KIND).is_duplicated()).sort(ONE_OF_A_KIND),
            "runs",
            "is not the only finished run of its learner, cell, seed and replicate; "
            "give one of them another label or leave it out",
        )

    @property
    def finished(self) -> pl.DataFrame:
        """The runs that enter statistics."""
        return self.runs.filter(pl.col("status") == FINISHED)

    @property
    def learners(self) -> list[str]:
        """The labels of all learners, sorted: the position determines the colour in figures."""
        return sorted(self.runs["learner"].unique().to_list())

    def counts(self) -> dict[str, int]:
        """The number of runs by status, the finished ones first.

        >>> from advmdp.store.frames import polars_schema
        >>> schemas = map(polars_schema, (run_columns(), curve_columns()))
        >>> Results(*(pl.DataFrame(schema=schema) for schema in schemas)).counts()
        {'finished': 0}
        """
        counted = dict(self.runs["status"].value_counts().sort("status").iter_rows())
        return {FINISHED: counted.pop(FINISHED, 0), **counted}


def _with_columns(frame: pl.DataFrame, declared: Sequence[Column], name: str) -> pl.DataFrame:
    """The declared columns of a frame, in their order and with their types."""
    if not isinstance(frame, pl.DataFrame):
        raise InvalidInput(f"{name}: {type(frame).__name__} is not a polars DataFrame")
    kept = []
    for column in declared:
        dtype = DTYPES[column.dtype]
        if column.optional and column.name not in frame.columns:
            frame = frame.with_columns(pl.lit(None, dtype).alias(column.name))
        if column.name not in frame.columns:
            raise InvalidInput(f"{name}: column '{column.name}' is missing")
        try:
            kept.append(frame[column.name].cast(dtype))
        except pl.exceptions.PolarsError:
            held = frame[column.name].dtype
            raise InvalidInput(
                f"{name}: column '{column.name}' holds {held}, expected {dtype}"
            ) from None
    return pl.DataFrame(kept)


RANGE = "needs reward_low < reward_high, reward_unit and reward_steps, or none of the four"


def _has_no_or_one_range() -> pl.Expr:
    low, high = pl.col("reward_low"), pl.col("reward_high")
    none = pl.all_horizontal(pl.col(name).is_null() for name in (*UNITS, STEPS))
    one = (low < high) & (high - low).is_finite() & (pl.col(STEPS) >= 1)
    return none | (one & pl.col("reward_unit").is_not_null()).fill_null(False)


def _reject(rows: pl.DataFrame, name: str, why: str) -> None:
    """Raise an error that names the first of these rows, if there is one."""
    if len(rows):
        raise InvalidInput(f"{name}: run '{rows['run'][0]}' {why}")
