"""Visit counters, doubling epochs, and the confidence bounds of the rows that changed.

Counters M and N of the algorithm are live; ``opened`` holds N at the start of the epoch.  Only rows
visited since then can have new bounds, so only those are rebuilt when an epoch opens.  Everything
an episode overwrites is kept until the episode is settled, so that it can be undone.

Row r is counted in ``counter[r]``, its successors from ``cell[r]`` on.  Usually every row has a
counter of its own, and these are r and its first entry; rows with the same transition may share one
(``Layout.shared_rows``).  Below, N and M are those of the counter.  Since the visits of a shared
counter are at most T times its rows, the union bound of Lemma 2, which is over triples and numbers
of visits, stands as it is, and so does the logarithm in the widths.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..runtime.indices import int64
from ..runtime.targets import kernel
from ..sets.rows import BALL, BOX, SIMPLEX, Marks, TransitionSet
from .graph import Floats, Graph, Index, is_scattered, row_begin, row_size, successor_of

Counts = NDArray[np.int64]

# Places in ``clock``.
EPOCH, CHANGED, ADDED, OPENS, EPISODES, MOVES = 0, 1, 2, 3, 4, 5
# Which confidence set is built from the counters.
BERNSTEIN, WEISSMAN, KNOWN = 0, 1, 2


class Visits(NamedTuple):
    """Counters, those used in this epoch, and copies of what the episode overwrites.

    C is the number of counters, R without sharing.
    """

    pairs: Counts  # (C,) N
    opened: Counts  # (C,) N at the start of the epoch
    triples: NDArray[np.int32]  # (E,) M
    changed: Counts  # (C,) list of counters used in this epoch
    marked: Marks  # (C,) whether a counter is in that list
    clock: Counts  # (6,) epoch, counters listed, listed by this episode, whether an epoch opens,
    #                     episodes, whether the iterate moves
    starts: Counts  # (most epochs,) number of episodes before each epoch
    counter: Index  # (R,) the counter of each row
    cell: Index  # (R,) where in ``triples`` its successors are counted
    old_kind: Marks  # (R,)
    old_opened: Counts  # (C,)
    old_slack: Floats  # (R,)
    old_lower: Floats  # (E,)
    old_upper: Floats  # (E,)


@kernel
def entry_of(graph: Graph, r: int, state: int) -> int:
    """The entry of row r that leads to ``state``; -1 if it is not declared."""
    size = row_size(graph, r)
    if is_scattered(graph, r):
        for j in range(size):
            if successor_of(graph, r, j) == state:
                return row_begin(graph, r) + j
        return -1
    position = state - int64(graph.first[r])
    return row_begin(graph, r) + position if 0 <= position < size else -1


@kernel
def box_bounds(graph: Graph, r: int, visits: Visits, log_term: float, rows: TransitionSet) -> None:
    """The empirical Bernstein interval of each triple, Eq. (width): N - 1 in both terms."""
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    cell = int64(visits.cell[r])
    n = float(visits.pairs[int64(visits.counter[r])])
    inverse = log_term / max(1.0, n - 1.0)
    constant = 14.0 / 3.0 * inverse
    total = 0.0
    vacuous = True
    for j in range(size):
        centre = visits.triples[cell + j] / max(1.0, n)
        width = 2.0 * math.sqrt(centre * inverse) + constant
        lower = max(0.0, centre - width)
        upper = min(1.0, centre + width)
        rows.lower[begin + j] = lower
        rows.upper[begin + j] = upper
        total += lower
        vacuous = vacuous and lower == 0.0 and upper == 1.0
    rows.slack[r] = 1.0 - total
    rows.kind[r] = SIMPLEX if vacuous or size == 1 else BOX


@kernel
def ball_bounds(
    graph: Graph, r: int, visits: Visits, log_term: float, floor: float, rows: TransitionSet
) -> None:
    """The L1 ball of the supplement: radius sqrt(2 n ln(.) / N), the whole simplex when N = 0.

    With a floor alpha the whole ball is shifted: p becomes (1 - alpha n) p + alpha.
    """
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    cell = int64(visits.cell[r])
    n = visits.pairs[int64(visits.counter[r])]
    width = math.sqrt(2.0 * size * log_term / max(1, n)) if n > 0 else 2.0
    for j in range(size):
        centre = visits.triples[cell + j] / n if n > 0 else 1.0 / size
        rows.lower[begin + j] = (1.0 - floor * size) * centre + floor
    rows.width[r] = (1.0 - floor * size) * min(width, 2.0)
    rows.slack[r] = floor
    rows.kind[r] = SIMPLEX if size == 1 or (width >= 2.0 and floor == 0.0) else BALL


@kernel
def count(graph: Graph, visits: Visits, r: int, state: int, amount: int) -> None:
    """Add to the counters of row r and of its successor ``state``."""
    position = entry_of(graph, r, state) - row_begin(graph, r)
    visits.pairs[int64(visits.counter[r])] += amount
    visits.triples[int64(visits.cell[r]) + position] += amount


@kernel
def record(graph: Graph, visits: Visits, states: Counts, path: Counts) -> bool:
    """Count one trajectory; True when some counter has doubled and a new epoch opens."""
    doubled = False
    visits.clock[ADDED] = 0
    for k in range(path.shape[0]):
        c = int64(visits.counter[path[k]])
        count(graph, visits, path[k], states[k + 1], 1)
        if visits.marked[c] == 0:
            visits.marked[c] = 1
            visits.changed[visits.clock[CHANGED]] = c
            visits.clock[CHANGED] += 1
            visits.clock[ADDED] += 1
        doubled = doubled or visits.pairs[c] >= max(1, 2 * visits.opened[c])
    visits.clock[OPENS] = 1 if doubled else 0
    return doubled


@kernel
def copy_row(graph: Graph, r: int, source: Floats, target: Floats) -> None:
    begin = row_begin(graph, r)
    for j in range(row_size(graph, r)):
        target[begin + j] = source[begin + j]


@kernel
def rebuild(
    graph: Graph,
    visits: Visits,
    rows: TransitionSet,
    log_term: float,
    floor: float,
    shape: int,
) -> None:
    """An epoch opens: freeze the counters used in the one that ends, new bounds for their rows."""
    for i in range(visits.clock[CHANGED]):
        c = visits.changed[i]
        visits.old_opened[c] = visits.opened[c]
        visits.opened[c] = visits.pairs[c]
    renew_bounds(graph, visits, rows, log_term, floor, shape)


@kernel
def renew_bounds(
    graph: Graph,
    visits: Visits,
    rows: TransitionSet,
    log_term: float,
    floor: float,
    shape: int,
) -> None:
    """New bounds for the rows whose counters were used, keeping the old ones."""
    for r in range(visits.counter.shape[0]):
        if visits.marked[int64(visits.counter[r])] == 0:
            continue
        visits.old_kind[r] = rows.kind[r]
        copy_row(graph, r, rows.lower, visits.old_lower)
        if shape == BERNSTEIN:
            copy_row(graph, r, rows.upper, visits.old_upper)
            visits.old_slack[r] = rows.slack[r]
            box_bounds(graph, r, visits, log_term, rows)
        else:
            visits.old_slack[r] = rows.width[r]
            ball_bounds(graph, r, visits, log_term, floor, rows)


@kernel
def old_bounds(graph: Graph, visits: Visits, rows: TransitionSet, shape: int) -> None:
    """Take back ``renew_bounds``."""
    for r in range(visits.counter.shape[0]):
        if visits.marked[int64(visits.counter[r])] == 0:
            continue
        rows.kind[r] = visits.old_kind[r]
        copy_row(graph, r, visits.old_lower, rows.lower)
        if shape == BERNSTEIN:
            copy_row(graph, r, visits.old_upper, rows.upper)
            rows.slack[r] = visits.old_slack[r]
        else:
            rows.width[r] = visits.old_slack[r]


@kernel
def settle(visits: Visits) -> None:
    """The episode is final: if it opened an epoch, start a new list."""
    visits.clock[EPISODES] += 1
    if visits.clock[OPENS] == 1:
        for i in range(visits.clock[CHANGED]):
            visits.marked[visits.changed[i]] = 0
        visits.clock[CHANGED] = 0
        visits.starts[visits.clock[EPOCH]] = visits.clock[EPISODES]
        visits.clock[EPOCH] += 1


@kernel
def undo(
    graph: Graph, visits: Visits, rows: TransitionSet, states: Counts, path: Counts, shape: int
) -> None:
    """Take back ``record`` and ``rebuild`` of an episode that was not settled."""
    if visits.clock[OPENS] == 1:
        old_bounds(graph, visits, rows, shape)
        for i in range(visits.clock[CHANGED]):
            visits.opened[visits.changed[i]] = visits.old_opened[visits.changed[i]]
    for k in range(path.shape[0]):
        count(graph, visits, path[k], states[k + 1], -1)
    for _ in range(visits.clock[ADDED]):
        visits.clock[CHANGED] -= 1
        visits.marked[visits.changed[visits.clock[CHANGED]]] = 0
    visits.clock[OPENS] = 0


@kernel
def adopt(
    graph: Graph,
    visits: Visits,
    rows: TransitionSet,
    earlier: Visits,
    log_term: float,
    floor: float,
    shape: int,
) -> None:
    """Begin with the counts of an earlier learner: the first epoch has the set that they give."""
    for e in range(visits.triples.shape[0]):
        visits.triples[e] = earlier.triples[e]
    for c in range(visits.pairs.shape[0]):
        visits.pairs[c] = earlier.pairs[c]
        if visits.pairs[c] > 0:
            visits.marked[c] = 1
            visits.changed[visits.clock[CHANGED]] = c
            visits.clock[CHANGED] += 1
    rebuild(graph, visits, rows, log_term, floor, shape)
    for i in range(visits.clock[CHANGED]):
        visits.marked[visits.changed[i]] = 0
    visits.clock[CHANGED] = 0
