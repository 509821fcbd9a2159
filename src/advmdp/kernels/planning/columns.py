"""The boxes of a set by successor: for every state the entries that lead to it, row after row.

Dynamic programming over a set asks all rows of a layer for the extreme of <p, f> with the same f.
By successor this is one loop over the states of the next layer, in the order of f, and inside it
one over the rows, which are independent: vector instructions take eight of them at a time, and the
states are sorted once for all rows, also where rows lead to few of them.

The numbers are those of ``sets/box/rows``, copied when an epoch opens; a known row is a box without
width, a row about which nothing is known the box [0, 1].
"""

from __future__ import annotations

from typing import NamedTuple

from ..model.graph import Floats, Graph, Index, row_begin, row_size
from ..model.visits import Visits
from ..runtime.indices import int64
from ..runtime.storage import Common, Lasting
from ..runtime.targets import kernel, leaf
from ..sets.box.rows import BoxRows
from ..sets.confidence import has_new_bounds


class Columns(NamedTuple):
    """Bounds in the order of the successors."""

    start: Common[Index]  # (S + 1,) what leads to state y: start[y] .. start[y + 1]
    source: Common[Index]  # (E,) from which row; empty when every row leads to all of a layer
    place: Common[Index]  # (E,) where an entry of the graph stands here
    lower: Lasting[Floats]  # (E,)
    room: Lasting[Floats]  # (E,) upper - lower
    slack: Lasting[Floats]  # (R,) 1 - sum of lower, what a row has to distribute
    spare: Lasting[Floats]  # (R,) sum of room


@leaf
def column_begin(columns: Columns, y: int) -> int:
    return int64(columns.start[y])


@leaf
def column_size(columns: Columns, y: int) -> int:
    return int64(columns.start[y + 1]) - int64(columns.start[y])


@leaf
def are_scattered(columns: Columns) -> bool:
    """Whether some row leads to a part of the next layer only."""
    return columns.source.shape[0] > 0


@kernel
def copy_to_columns(graph: Graph, r: int, rows: BoxRows, columns: Columns) -> None:
    """The bounds of row r as they are now."""
    begin = row_begin(graph, r)
    columns.slack[r] = rows.slack[r]
    spare = 0.0
    for e in range(begin, begin + row_size(graph, r)):
        room = rows.upper[e] - rows.lower[e]
        columns.lower[int64(columns.place[e])] = rows.lower[e]
        columns.room[int64(columns.place[e])] = room
        spare += room
    columns.spare[r] = spare


@kernel
def fill_columns(graph: Graph, rows: BoxRows, columns: Columns) -> None:
    """The bounds of all rows."""
    for r in range(columns.slack.shape[0]):
        copy_to_columns(graph, r, rows, columns)


@kernel
def renew_columns(graph: Graph, visits: Visits, rows: BoxRows, columns: Columns) -> None:
    """After ``open_epoch`` and before the episode is settled: the rows that have new bounds."""
    for r in range(columns.slack.shape[0]):
        if has_new_bounds(visits, rows, r):
            copy_to_columns(graph, r, rows, columns)
