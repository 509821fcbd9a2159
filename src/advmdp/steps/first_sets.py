"""Sets and counters before the first episode."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np

from advmdp.errors import InvalidInput
from advmdp.kernels.model.row_status import BOUND, FREE
from advmdp.kernels.model.visits import Visits
from advmdp.kernels.sets.ball import BallRows
from advmdp.kernels.sets.box.rows import BoxRows
from advmdp.kernels.sets.confidence import make_rows_known
from advmdp.layout import Layout

MOST_VISITS = 2**31  # successors are counted in 32 bits


def free_boxes(layout: Layout, least_occupancy: float = 0.0) -> BoxRows:
    """Every transition function, as boxes [0, 1]; rows that the layout declares known are."""
    n_rows, n_entries = layout.n_rows, layout.n_entries
    rows = BoxRows(
        status=np.full(n_rows, FREE, dtype=np.uint8),
        lower=np.zeros(n_entries),
        upper=np.ones(n_entries),
        slack=np.ones(n_rows),
        widths=layout.row_sizes().astype(np.float64),
        least_occupancy=least_occupancy,
    )
    return with_known_rows(layout, rows)


def free_balls(layout: Layout, floor: float = 0.0, least_occupancy: float = 0.0) -> BallRows:
    """Every transition function, as balls around the uniform one, shifted if wanted."""
    size = layout.row_sizes()
    rows = BallRows(
        status=np.where((size > 1) & (floor > 0.0), BOUND, FREE).astype(np.uint8),
        centre=np.repeat(1.0 / size, size),
        width=np.asarray(2.0 * (1.0 - floor * size), dtype=np.float64),
        floor=floor,
        least_occupancy=least_occupancy,
    )
    return with_known_rows(layout, rows)


RowSet = TypeVar("RowSet")


def with_known_rows(layout: Layout, rows: RowSet) -> RowSet:
    """Write what the layout declares known into a set, in place."""
    if layout.known is not None:
        make_rows_known(layout.graph(), *layout.known, rows)
    return rows


def copy_of(rows: Any) -> Any:
    """A record with copies of all arrays."""
    return type(rows)(*(part.copy() if isinstance(part, np.ndarray) else part for part in rows))


def no_visits(layout: Layout, n_episodes: int) -> Visits:
    """Counters before the first episode; an epoch needs a doubled count, so there are not many."""
    n_rows, n_entries = layout.n_rows, layout.n_entries
    most_epochs = 2 + min(n_episodes, n_rows * (1 + int(math.log2(n_episodes))))
    pool = np.arange(n_rows) if layout.counter_row is None else layout.counter_row
    if layout.counter_row is not None and n_episodes * layout.n_layers >= MOST_VISITS:
        raise InvalidInput(
            f"n_episodes: {n_episodes} episodes of {layout.n_layers} steps are too many to count "
            "in shared rows; make the layout without shared_rows"
        )
    counts = {
        name: np.zeros(n_rows, dtype=np.int64)
        for name in ("pairs", "opened", "changed", "old_opened")
    }
    return Visits(
        **counts,
        triples=np.zeros(n_entries, dtype=np.int32),
        marked=np.zeros(n_rows, dtype=np.uint8),
        clock=np.array([1, 0, 0, 0, 0, 0], dtype=np.int64),
        starts=np.zeros(most_epochs, dtype=np.int64),
        counter=pool.astype(np.uint32),
        cell=layout.row_start[pool].astype(np.uint32),
    )
