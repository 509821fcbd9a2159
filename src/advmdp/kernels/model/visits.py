"""Visit counters and doubling epochs.

Counters M and N of the algorithm are live; ``opened`` holds N at the start of the epoch.  Counters
used since then are listed: only their rows can have new bounds when an epoch opens
(``sets/confidence``).  Everything an episode overwrites is kept until the episode is settled, so
that it can be undone.

Row r is counted in ``counter[r]``, its successors from ``cell[r]`` on.  Usually every row has a
counter of its own, and these are r and its first entry; rows with the same transition may share one
(``Layout.shared_rows``).  Below, N and M are those of the counter.  Since the visits of a shared
counter are at most T times its rows, the union bound of Lemma 2, which is over triples and numbers
of visits, stands as it is, and so does the logarithm in the widths.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..runtime.indices import int64
from ..runtime.storage import Common, Lasting, Scratch
from ..runtime.targets import kernel, leaf
from .graph import Graph, Index, position_of
from .row_status import KNOWN, Marks

Counts = NDArray[np.int64]

# Places in ``clock``.
EPOCH, CHANGED, ADDED, OPENS, EPISODES, MOVES = 0, 1, 2, 3, 4, 5


class Visits(NamedTuple):
    """Counters, those used in this epoch, and copies of what the episode overwrites.

    C is the number of counters, R without sharing.
    """

    pairs: Lasting[Counts]  # (C,) N
    opened: Lasting[Counts]  # (C,) N at the start of the epoch
    triples: Lasting[NDArray[np.int32]]  # (E,) M
    changed: Lasting[Counts]  # (C,) list of counters used in this epoch
    marked: Lasting[Marks]  # (C,) whether a counter is in that list
    clock: Lasting[Counts]  # (6,) epoch, counters listed, listed by this episode, whether an
    #                         epoch opens, episodes, whether the iterate moves
    starts: Lasting[Counts]  # (most epochs,) number of episodes before each epoch
    counter: Common[Index]  # (R,) the counter of each row
    cell: Common[Index]  # (R,) where in ``triples`` its successors are counted
    old_opened: Scratch[Counts]  # (C,)


@kernel
def count(graph: Graph, visits: Visits, r: int, state: int, amount: int) -> None:
    """Add to the counters of row r and of its successor ``state``."""
    position = position_of(graph, r, state)
    visits.pairs[int64(visits.counter[r])] += amount
    visits.triples[int64(visits.cell[r]) + position] += amount


@kernel
def record(graph: Graph, visits: Visits, status: Marks, states: Counts, path: Counts) -> bool:
    """Count one trajectory; True when some counter has doubled and a new epoch opens.

    Rows that are known (``status``) have nothing to learn and open no epoch.
    """
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
        if status[path[k]] != KNOWN:
            doubled = doubled or visits.pairs[c] >= max(1, 2 * visits.opened[c])
    visits.clock[OPENS] = 1 if doubled else 0
    return doubled


@leaf
def forget_list(visits: Visits) -> None:
    """Start a new list of the counters used."""
    for i in range(visits.clock[CHANGED]):
        visits.marked[visits.changed[i]] = 0
    visits.clock[CHANGED] = 0


@kernel
def settle(visits: Visits) -> None:
    """The episode is final: if it opened an epoch, start a new list."""
    visits.clock[EPISODES] += 1
    if visits.clock[OPENS] == 1:
        forget_list(visits)
        visits.starts[visits.clock[EPOCH]] = visits.clock[EPISODES]
        visits.clock[EPOCH] += 1


@kernel
def undo_record(graph: Graph, visits: Visits, states: Counts, path: Counts) -> None:
    """Take back ``record`` of an episode that was not settled."""
    for k in range(path.shape[0]):
        count(graph, visits, path[k], states[k + 1], -1)
    for _ in range(visits.clock[ADDED]):
        visits.clock[CHANGED] -= 1
        visits.marked[visits.changed[visits.clock[CHANGED]]] = 0
    visits.clock[OPENS] = 0


@kernel
def take_counts(visits: Visits, earlier: Visits) -> None:
    """Take the counts of an earlier learner, and list all counters that were used."""
    for e in range(visits.triples.shape[0]):
        visits.triples[e] = earlier.triples[e]
    for c in range(visits.pairs.shape[0]):
        visits.pairs[c] = earlier.pairs[c]
        if visits.pairs[c] > 0:
            visits.marked[c] = 1
            visits.changed[visits.clock[CHANGED]] = c
            visits.clock[CHANGED] += 1
