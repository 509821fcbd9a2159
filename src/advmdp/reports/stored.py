"""Results from a store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import polars as pl

from advmdp.reports.results import FINISHED, Results

if TYPE_CHECKING:
    from advmdp.store import Store

DAMAGED = "damaged"


def results_of(store: Store, names: Sequence[str] | None = None) -> Results:
    """The runs of a store, or those named; no figure has one whose curve is damaged.

    It keeps its place in the list of runs, under a status of its own.

    >>> import tempfile
    >>> from advmdp.store import Store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results_of(Store(folder + "/results", create=True)).counts()
    {'finished': 0}
    """
    runs = store.runs()
    if names is not None:
        runs = runs.filter(pl.col("run").is_in(names))
    curves = store.curves(names)  # says in the log what it leaves out
    done = runs.filter(pl.col("status") == FINISHED)
    runs = _with_status(runs, done.join(curves, on="run", how="anti")["run"], DAMAGED)
    return Results(runs, curves)


def _with_status(runs: pl.DataFrame, names: Iterable[str], status: str) -> pl.DataFrame:
    told = pl.when(pl.col("run").is_in(list(names))).then(pl.lit(status))
    return runs.with_columns(status=told.otherwise(pl.col("status")))
