"""What a report is made from: a frame of runs and a frame of their curves."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from advmdp.errors import InvalidInput

FINISHED = "finished"
UNITS: dict[str, pl.DataType] = {
    "reward_low": pl.Float64(),
    "reward_high": pl.Float64(),
    "reward_unit": pl.String(),
}
STEPS: dict[str, pl.DataType] = {"reward_steps": pl.Int64()}
"""Steps of an episode that earn a reward."""
CELL = ("mdp", "losses", "n_episodes", *UNITS)
REPLICATE = ("seed", "replicate")
LOSSES = ("regret", "expected_loss", "realised_loss", "best_loss")
TERMS = ("error", "bias1", "reg", "bias2")

OPTIONAL: dict[str, pl.DataType] = {**UNITS, **STEPS}
"""Columns of runs whose losses stand for rewards; null, or left out, for the others."""
RUN_COLUMNS: dict[str, pl.DataType] = {
    "run": pl.String(),
    "hash": pl.String(),
    "status": pl.String(),
    "learner": pl.String(),
    "mdp": pl.String(),
    "losses": pl.String(),
    "n_episodes": pl.Int64(),
    "seed": pl.Int64(),
    "replicate": pl.Int64(),
    "spec": pl.String(),
    "episodes": pl.Int64(),
    **{name: pl.Float64() for name in LOSSES},
    "seconds": pl.Float64(),
    "episodes_per_second": pl.Float64(),
    "projections": pl.Int64(),
    "safe_paths": pl.Int64(),
    "worst_residual": pl.Float64(),
    "worst_gap": pl.Float64(),
    "started": pl.String(),
    "version": pl.String(),
    "machine": pl.String(),
    **OPTIONAL,
}
CURVE_COLUMNS: dict[str, pl.DataType] = {
    "run": pl.String(),
    "episodes": pl.Int64(),
    **{name: pl.Float64() for name in (*LOSSES, *TERMS)},
    "epoch": pl.Int64(),
    "mean_width": pl.Float64(),
}


@dataclass(frozen=True)
class Results:
    """Runs and curves, checked once; a run is one row of ``runs`` and many of ``curves``.

    Parameters
    ----------
    runs
        One row per run, with the columns of ``RUN_COLUMNS`` (those of ``OPTIONAL`` may be left
        out); others are ignored.
    curves
        One row per run and checkpoint, with the columns of ``CURVE_COLUMNS``.

    >>> Results(pl.DataFrame({"run": ["a"]}), pl.DataFrame({"run": ["a"]}))
    Traceback (most recent call last):
    ...
    advmdp.errors.InvalidInput: runs: column 'hash' is missing
    """

    runs: pl.DataFrame
    curves: pl.DataFrame

    def __post_init__(self) -> None:
        runs = _with_columns(self.runs, RUN_COLUMNS, "runs")
        curves = _with_columns(self.curves, CURVE_COLUMNS, "curves")
        object.__setattr__(self, "runs", runs)
        object.__setattr__(self, "curves", curves)
        done = self.finished
        _refuse_rows(runs.filter(runs["run"].is_duplicated()), "runs", "is listed twice")
        _refuse_rows(
            done.join(curves, on="run", how="anti"), "curves", "is finished but has no curve"
        )
        for name, frame in (("runs", done), ("curves", curves.join(done, on="run", how="semi"))):
            numbers = pl.all_horizontal(pl.col(column).is_finite() for column in LOSSES)
            broken = frame.filter(~numbers.fill_null(False))
            _refuse_rows(broken, name, "has a loss or a regret that is not a finite number")
        _refuse_rows(done.filter(~_has_no_or_one_range()), "runs", RANGE)
        again = done.filter(pl.struct(*CELL, "learner", *REPLICATE).is_duplicated())
        _refuse_rows(
            again.sort(*CELL, "learner", *REPLICATE),
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
        """Every learner's label, sorted: the position fixes a colour in all figures."""
        return sorted(self.runs["learner"].unique().to_list())

    def counts(self) -> dict[str, int]:
        """Runs by status, the finished ones first.

        >>> empty = Results(pl.DataFrame(schema=RUN_COLUMNS), pl.DataFrame(schema=CURVE_COLUMNS))
        >>> empty.counts()
        {'finished': 0}
        """
        counted = dict(self.runs["status"].value_counts().sort("status").iter_rows())
        return {FINISHED: counted.pop(FINISHED, 0), **counted}


def _with_columns(frame: pl.DataFrame, columns: dict[str, pl.DataType], name: str) -> pl.DataFrame:
    """The frame's known columns in one order and of one type each."""
    if not isinstance(frame, pl.DataFrame):
        raise InvalidInput(f"{name}: {type(frame).__name__} is not a polars DataFrame")
    kept = []
    for column, kind in columns.items():
        if column in OPTIONAL and column not in frame.columns:
            frame = frame.with_columns(pl.lit(None, kind).alias(column))
        if column not in frame.columns:
            raise InvalidInput(f"{name}: column '{column}' is missing")
        try:
            kept.append(frame[column].cast(kind))
        except pl.exceptions.PolarsError:
            raise InvalidInput(
                f"{name}: column '{column}' holds {frame[column].dtype}, expected {kind}"
            ) from None
    return pl.DataFrame(kept)


RANGE = "needs reward_low < reward_high, reward_unit and reward_steps, or none of the four"


def _has_no_or_one_range() -> pl.Expr:
    low, high = pl.col("reward_low"), pl.col("reward_high")
    none = pl.all_horizontal(pl.col(column).is_null() for column in OPTIONAL)
    one = (low < high) & (high - low).is_finite() & (pl.col("reward_steps") >= 1)
    return none | (one & pl.col("reward_unit").is_not_null()).fill_null(False)


def _refuse_rows(rows: pl.DataFrame, name: str, why: str) -> None:
    if len(rows):
        raise InvalidInput(f"{name}: run '{rows['run'][0]}' {why}")
