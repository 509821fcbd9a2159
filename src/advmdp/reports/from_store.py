"""Results from a store."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import polars as pl

from advmdp.evaluation.schema import DAMAGED, FINISHED, LEFT_OUT
from advmdp.reports.results import ONE_OF_A_KIND, Results

if TYPE_CHECKING:
    from advmdp.store import Store

log = logging.getLogger(__name__)


def results_from_store(store: Store, names: Sequence[str] | None = None) -> Results:
    """The runs of a store, or those named.

    Two kinds of finished runs appear in no figure: runs whose curve is damaged, and runs that
    differ from another one in their ``checkpoints`` alone (the one with the most of them is used).
    They stay in the list of runs, under a status of their own.

    >>> import tempfile
    >>> from advmdp.store import Store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results_from_store(Store(folder + "/results", create=True)).counts()
    {'finished': 0}
    """
    runs = store.runs()
    if names is not None:
        runs = runs.filter(pl.col("run").is_in(names))
    curves = store.curves(names)  # logs the damaged ones
    n_points = dict(curves["run"].value_counts().iter_rows())
    done = runs.filter(pl.col("status") == FINISHED)
    runs = _with_status(runs, set(done["run"]) - set(n_points), DAMAGED)
    runs = _with_status(runs, _superseded(runs, n_points), LEFT_OUT)
    return Results(runs, curves)


def _superseded(runs: pl.DataFrame, n_points: dict[str, int]) -> Iterator[str]:
    """Runs that equal another run except for fewer evaluation points."""
    done = runs.filter(pl.col("status") == FINISHED)
    alike = done.filter(pl.struct(ONE_OF_A_KIND).is_duplicated())
    for group in alike.partition_by(ONE_OF_A_KIND):
        specs = [{**json.loads(spec), "checkpoints": None} for spec in group["spec"]]
        if any(spec != specs[0] for spec in specs):
            continue  # they have equal labels but differ in more than the checkpoints
        kept, *others = sorted(group["run"], key=lambda run: (-n_points[run], run))
        for other in others:
            log.warning("%s: left out, %s differs in its checkpoints alone", other, kept)
            yield other


def _with_status(runs: pl.DataFrame, names: Iterable[str], status: str) -> pl.DataFrame:
    changed = pl.when(pl.col("run").is_in(list(names))).then(pl.lit(status))
    return runs.with_columns(status=changed.otherwise(pl.col("status")))
