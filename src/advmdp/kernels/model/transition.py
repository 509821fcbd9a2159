"""The transition that a planner plans with: the true one, or an estimate from its own visits.

With N visits of a row, M of which led to a successor, and m declared successors,

    P^(x' | x, a) = (M + prior / m) / (N + prior),

``prior`` visits of every row that lead everywhere alike.  Rows that the layout declares known keep
their distribution; rows with the same transition (``Layout.shared_rows``) count together.
"""

from __future__ import annotations

from typing import NamedTuple

from ..runtime.indices import int64
from ..runtime.storage import Choice, Common, Lasting, Number
from ..runtime.targets import kernel
from .graph import Floats, Graph, Index, position_of, row_begin, row_size
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
    twin: Common[Index]  # (R,) the next row with the same counter, round and round
    known: Common[Marks]  # (R,) whether a row is known


@kernel
def count_path(graph: Graph, transition: Transition, states: Counts, path: Counts) -> None:
    """Count one trajectory and renew the estimate of the rows that it went through."""
    if not transition.estimated:
        return
    for k in range(path.shape[0]):
        counter = int64(transition.counter[path[k]])
        place = row_begin(graph, counter) + position_of(graph, path[k], states[k + 1])
        transition.pairs[counter] += 1
        transition.triples[place] += 1
    for k in range(path.shape[0]):
        estimate_rows(graph, transition, path[k])


@kernel
def estimate_rows(graph: Graph, transition: Transition, first: int) -> None:
    """P^ of a row and of all rows that share its counter."""
    counter = int64(transition.counter[first])
    cell = row_begin(graph, counter)
    size = row_size(graph, first)
    share = transition.prior / size
    visits = transition.pairs[counter] + transition.prior
    r = first
    for _ in range(transition.twin.shape[0]):
        if transition.known[r] == 0:
            begin = row_begin(graph, r)
            for j in range(size):
                transition.chance[begin + j] = (transition.triples[cell + j] + share) / visits
        r = int64(transition.twin[r])
        if r == first:
            break
