"""Results from a store."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import polars as pl

from advmdp.reports.results import CELL, FINISHED, REPLICATE, Results

if TYPE_CHECKING:
    from advmdp.store import Store

DAMAGED, LEFT_OUT = "damaged", "left out"
log = logging.getLogger(__name__)


def results_of(store: Store, names: Sequence[str] | None = None) -> Results:
    """The runs of a store, or those named; some that are finished are in no figure.

    These are runs whose curve is damaged, and all but one of those that differ in their checkpoints
    alone: the one with the most of them stays.  The others keep their place in the list of runs,
    under a status of their own.

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
    n_points = dict(curves["run"].value_counts().iter_rows())
    done = runs.filter(pl.col("status") == FINISHED)
    runs = _with_status(runs, set(done["run"]) - set(n_points), DAMAGED)
    runs = _with_status(runs, _played_again(runs, n_points), LEFT_OUT)
    return Results(runs, curves)


def _played_again(runs: pl.DataFrame, n_points: dict[str, int]) -> Iterator[str]:
    """Runs that another run makes needless: the same but for fewer checkpoints."""
    done = runs.filter(pl.col("status") == FINISHED)
    alike = done.filter(pl.struct(*CELL, "learner", *REPLICATE).is_duplicated())
    for group in alike.partition_by(*CELL, "learner", *REPLICATE):
        specs = [{**json.loads(spec), "checkpoints": None} for spec in group["spec"]]
        if any(spec != specs[0] for spec in specs):
            continue  # they differ in more, only their labels do not
        kept, *others = sorted(group["run"], key=lambda run: (-n_points[run], run))
        for other in others:
            log.warning("%s: left out, %s differs in its checkpoints alone", other, kept)
            yield other


def _with_status(runs: pl.DataFrame, names: Iterable[str], status: str) -> pl.DataFrame:
    told = pl.when(pl.col("run").is_in(list(names))).then(pl.lit(status))
    return runs.with_columns(status=told.otherwise(pl.col("status")))
