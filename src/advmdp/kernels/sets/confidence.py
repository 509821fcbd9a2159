"""Confidence sets that follow the counters: new bounds when an epoch opens, and the way back.

Only rows whose counters were used in the epoch that ends can have new bounds, so only those are
rebuilt.  What an episode overwrites is kept in ``old`` until the episode is settled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.graph import Floats, Graph
from ..model.row_status import is_known
from ..model.visits import CHANGED, OPENS, Counts, Visits, forget_list, take_counts, undo_record
from ..runtime.indices import int64
from ..runtime.targets import kernel, leaf
from .interface import copy_row, make_row_known, rebuild_row


@kernel
def make_rows_known(graph: Graph, known: NDArray[np.bool_], transition: Floats, rows: Any) -> None:
    """Make every row r with ``known[r]`` known."""
    for r in range(known.shape[0]):
        if known[r]:
            make_row_known(graph, r, transition, rows)


@leaf
def has_new_bounds(visits: Visits, rows: Any, r: int) -> bool:
    """Whether the counter of row r was used in this epoch, and the row is not known anyway."""
    return visits.marked[int64(visits.counter[r])] != 0 and not is_known(rows, r)


@kernel
def renew_bounds(graph: Graph, visits: Visits, rows: Any, old: Any, log_term: float) -> None:
    """New bounds for the rows whose counters were used; the old ones are kept."""
    for r in range(visits.counter.shape[0]):
        if has_new_bounds(visits, rows, r):
            copy_row(graph, r, rows, old)
            rebuild_row(graph, r, visits, log_term, rows)


@kernel
def restore_bounds(graph: Graph, visits: Visits, rows: Any, old: Any) -> None:
    """Take back ``renew_bounds``."""
    for r in range(visits.counter.shape[0]):
        if has_new_bounds(visits, rows, r):
            copy_row(graph, r, old, rows)


@kernel
def open_epoch(graph: Graph, visits: Visits, rows: Any, old: Any, log_term: float) -> None:
    """Freeze the counters used in the epoch that ends, and rebuild the sets of their rows."""
    for i in range(visits.clock[CHANGED]):
        c = visits.changed[i]
        visits.old_opened[c] = visits.opened[c]
        visits.opened[c] = visits.pairs[c]
    renew_bounds(graph, visits, rows, old, log_term)


@kernel
def undo_counts(
    graph: Graph, visits: Visits, rows: Any, old: Any, states: Counts, path: Counts
) -> None:
    """Take back the counts of an episode that was not settled, and the epoch that it opened."""
    if visits.clock[OPENS] == 1:
        restore_bounds(graph, visits, rows, old)
        for i in range(visits.clock[CHANGED]):
            visits.opened[visits.changed[i]] = visits.old_opened[visits.changed[i]]
    undo_record(graph, visits, states, path)


@kernel
def adopt_counts(
    graph: Graph, visits: Visits, rows: Any, old: Any, earlier: Visits, log_term: float
) -> None:
    """Begin with the counts of an earlier learner: the first epoch has the set that they give."""
    take_counts(visits, earlier)
    open_epoch(graph, visits, rows, old, log_term)
    forget_list(visits)
