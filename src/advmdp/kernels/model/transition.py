"""The transition that a planner plans with: the true one, or an estimate from its own visits.

With N visits of a row, M of which led to a successor, and V the values of the next layer,

    P^(x' | x, a) = (M + prior [x' is the successor of least V]) / (N + prior):

``prior`` imagined visits of every row that went as well as possible.  What was never tried looks
good until it is; without that a planner may never try, and never know.  Rows that the layout
declares known keep their distribution; rows with the same transition (``Layout.shared_rows``)
count together.
"""

from __future__ import annotations

from typing import NamedTuple

from ..runtime.indices import int64, place
from ..runtime.storage import Choice, Common, Lasting, Number
from ..runtime.targets import kernel, leaf
from .graph import Floats, Graph, Index, position_of, row_begin, row_size, successor_of
from .row_status import Marks
from .visits import Counts


class Transition(NamedTuple):
    """P, or the counters and the estimate P^; one type for both, hence one compiled program."""

    estimated: Choice[bool]
    prior: Number[float]
    chance: Lasting[Floats]  # (E,)
    pairs: Lasting[Counts]  # (R,) N at the row that counts for others; empty when P is known
    triples: Lasting[Counts]  # (E,) M, likewise
    counter: Common[Index]  # (R,) the row that counts for each
    known: Common[Marks]  # (R,) whether a row is known


@kernel
def count_path(graph: Graph, transition: Transition, states: Counts, path: Counts) -> None:
    """Count one trajectory."""
    if not transition.estimated:
        return
    for k in range(path.shape[0]):
        counter = int64(transition.counter[path[k]])
        cell = row_begin(graph, counter) + position_of(graph, path[k], states[k + 1])
        transition.pairs[counter] += 1
        transition.triples[cell] += 1


@leaf
def imagine_row(graph: Graph, transition: Transition, r: int, value: Floats) -> None:
    """P^ of row r, before the values of its layer are asked for."""
    if not transition.estimated or transition.known[r] == 1:
        return
    counter = int64(transition.counter[r])
    cell = row_begin(graph, counter)
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    share = 1.0 / (transition.pairs[counter] + transition.prior)
    for j in range(size):
        transition.chance[place(begin + j)] = share * transition.triples[place(cell + j)]
    best = 0
    least = value[successor_of(graph, r, 0)]
    for j in range(1, size):
        here = value[successor_of(graph, r, j)]
        if here < least:
            least = here
            best = j
    transition.chance[begin + best] += share * transition.prior
