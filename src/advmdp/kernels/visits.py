"""Visit counters, doubling epochs, and the confidence bounds of the rows that changed.

Counters M and N of the algorithm are live; ``opened`` holds N at the start of the epoch.  Only rows
visited since then can have new bounds, so only those are rebuilt when an epoch opens.  Everything
an episode overwrites is kept until the episode is settled, so that it can be undone.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .graph import Floats, Graph, int64, row_begin, row_size, successor_of
from .rows import BALL, BOX, SIMPLEX, Marks, TransitionSet
from .targets import kernel

Counts = NDArray[np.int64]

# Places in ``clock``.
EPOCH, CHANGED, ADDED, OPENS, EPISODES, MOVES = 0, 1, 2, 3, 4, 5
# Which confidence set is built from the counters.
BERNSTEIN, WEISSMAN, KNOWN = 0, 1, 2


class Visits(NamedTuple):
    """Counters, the rows visited in this epoch, and copies of what the episode overwrites."""

    pairs: Counts  # (R,) N
    opened: Counts  # (R,) N at the start of the epoch
    triples: NDArray[np.int32]  # (E,) M
    changed: Counts  # (R,) list of rows visited in this epoch
    marked: Marks  # (R,) whether a row is in that list
    clock: Counts  # (6,) epoch, rows listed, rows added by this episode, whether an epoch opens,
    #                     episodes, whether the iterate moves
    starts: Counts  # (most epochs,) number of episodes before each epoch
    old_kind: Marks  # (R,)
    old_opened: Counts  # (R,)
    old_slack: Floats  # (R,)
    old_lower: Floats  # (E,)
    old_upper: Floats  # (E,)


@kernel
def entry_of(graph: Graph, r: int, state: int) -> int:
    """The entry of row r that leads to ``state``; -1 if it is not declared."""
    size = row_size(graph, r)
    if graph.scattered[r]:
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
    n = float(visits.pairs[r])
    inverse = log_term / max(1.0, n - 1.0)
    constant = 14.0 / 3.0 * inverse
    total = 0.0
    vacuous = True
    for j in range(size):
        centre = visits.triples[begin + j] / max(1.0, n)
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
    n = visits.pairs[r]
    width = math.sqrt(2.0 * size * log_term / max(1, n)) if n > 0 else 2.0
    for j in range(size):
        centre = visits.triples[begin + j] / n if n > 0 else 1.0 / size
        rows.lower[begin + j] = (1.0 - floor * size) * centre + floor
    rows.width[r] = (1.0 - floor * size) * min(width, 2.0)
    rows.slack[r] = floor
    rows.kind[r] = SIMPLEX if size == 1 or (width >= 2.0 and floor == 0.0) else BALL


@kernel
def record(graph: Graph, visits: Visits, states: Counts, path: Counts) -> bool:
    """Count one trajectory; True when some pair has doubled and a new epoch opens."""
    doubled = False
    visits.clock[ADDED] = 0
    for k in range(path.shape[0]):
        r = path[k]
        visits.pairs[r] += 1
        visits.triples[entry_of(graph, r, states[k + 1])] += 1
        if visits.marked[r] == 0:
            visits.marked[r] = 1
            visits.changed[visits.clock[CHANGED]] = r
            visits.clock[CHANGED] += 1
            visits.clock[ADDED] += 1
        doubled = doubled or visits.pairs[r] >= max(1, 2 * visits.opened[r])
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
    """New bounds for the rows visited in the epoch that ends, keeping the old ones."""
    for i in range(visits.clock[CHANGED]):
        r = visits.changed[i]
        visits.old_kind[r] = rows.kind[r]
        visits.old_opened[r] = visits.opened[r]
        visits.opened[r] = visits.pairs[r]
        copy_row(graph, r, rows.lower, visits.old_lower)
        if shape == BERNSTEIN:
            copy_row(graph, r, rows.upper, visits.old_upper)
            visits.old_slack[r] = rows.slack[r]
            box_bounds(graph, r, visits, log_term, rows)
        else:
            visits.old_slack[r] = rows.width[r]
            ball_bounds(graph, r, visits, log_term, floor, rows)


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
        for i in range(visits.clock[CHANGED]):
            r = visits.changed[i]
            rows.kind[r] = visits.old_kind[r]
            visits.opened[r] = visits.old_opened[r]
            copy_row(graph, r, visits.old_lower, rows.lower)
            if shape == BERNSTEIN:
                copy_row(graph, r, visits.old_upper, rows.upper)
                rows.slack[r] = visits.old_slack[r]
            else:
                rows.width[r] = visits.old_slack[r]
    for k in range(path.shape[0]):
        visits.pairs[path[k]] -= 1
        visits.triples[entry_of(graph, path[k], states[k + 1])] -= 1
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
    for r in range(visits.pairs.shape[0]):
        visits.pairs[r] = earlier.pairs[r]
        if visits.pairs[r] > 0:
            visits.changed[visits.clock[CHANGED]] = r
            visits.clock[CHANGED] += 1
    rebuild(graph, visits, rows, log_term, floor, shape)
    visits.clock[CHANGED] = 0
