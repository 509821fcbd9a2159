"""Arrays for the kernels of policy optimisation: a set by successor, and an empirical model."""

from __future__ import annotations

import numpy as np

from advmdp.kernels.learners.policies.bandit_state import Believed
from advmdp.kernels.learners.policies.empirical_policy import Estimate
from advmdp.kernels.model.row_status import FREE, KNOWN
from advmdp.kernels.planning.columns import Columns, fill_columns
from advmdp.kernels.planning.layer_extremes import Fill
from advmdp.kernels.sets.box.rows import BoxRows
from advmdp.layout import Floats, Layout
from advmdp.steps.first_sets import free_boxes, no_visits


def new_columns(layout: Layout, rows: BoxRows) -> Columns:
    """The boxes of a set in the order of the successors."""
    successor, n_entries = layout.entry_successors(), layout.n_entries
    by_successor = np.argsort(successor, kind="stable")  # rows stay in order within a column
    place = np.zeros(n_entries, dtype=np.uint32)
    place[by_successor] = np.arange(n_entries)
    start = np.zeros(layout.n_states + 1, dtype=np.uint32)
    start[1:] = np.cumsum(np.bincount(successor, minlength=layout.n_states))
    sizes = np.array(layout.layer_sizes)
    is_dense = n_entries == layout.n_actions * int((sizes[:-1] * sizes[1:]).sum())
    source = layout.entry_rows()[by_successor].astype(np.uint32)
    columns = Columns(
        start=start,
        source=source[:0] if is_dense else source,
        place=place,
        lower=np.zeros(n_entries),
        room=np.zeros(n_entries),
        slack=np.zeros(layout.n_rows),
        spare=np.zeros(layout.n_rows),
    )
    fill_columns(layout.graph(), rows, columns)
    return columns


def new_fill(layout: Layout) -> Fill:
    """Work space of a pass over a layer."""
    widest = max(layout.layer_sizes)
    return Fill(
        total=np.zeros(layout.n_rows),
        left=np.zeros(layout.n_rows),
        keys=np.zeros(widest),
        order=np.zeros(widest, dtype=np.int64),
    )


def first_belief(
    layout: Layout, n_episodes: int, log_term: float, rows: BoxRows | None = None
) -> Believed:
    """Before the first episode: any transition, except for the rows that the layout knows.

    ``rows`` is a set to begin with in place of that.
    """
    rows = free_boxes(layout) if rows is None else rows
    return Believed(
        log_term=log_term,
        visits=no_visits(layout, n_episodes),
        rows=rows,
        columns=new_columns(layout, rows),
        fill=new_fill(layout),
        reach=np.zeros(layout.n_states),
    )


def first_estimate(layout: Layout, prior: float, width: Floats) -> Estimate:
    """Before the first episode: known rows, and those with one successor; others lead nowhere."""
    size = layout.row_sizes()
    status = np.full(layout.n_rows, FREE, dtype=np.uint8)
    chance = np.repeat(np.where(size == 1, 1.0, 0.0), size)
    if layout.known is not None:
        known, distribution = layout.known
        status[known.astype(np.bool_)] = KNOWN
        of_known = np.repeat(known.astype(np.bool_), size)
        chance[of_known] = distribution[of_known]
    width = np.where((size == 1) | (status == KNOWN), 0.0, width)
    return Estimate(prior=prior, status=status, width=width, chance=chance, bonus=width.copy())
