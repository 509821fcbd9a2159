"""The empirical model: how often, where to, at what price.

Optimistic learners for stochastic losses estimate the mean loss and the transition of a pair by
their averages over its visits.  The counters are here; what is done with them is each learner's.

Row r is counted at row ``counter[r]``, usually at itself.  Rows that have the same transition and
the same mean loss may share one counter: the visits of either are samples of both.
"""

from __future__ import annotations

from typing import NamedTuple

from ..runtime.indices import int64
from ..runtime.storage import Choice, Common, Lasting
from ..runtime.targets import kernel, leaf
from .graph import Floats, Graph, Index, position_of, row_begin, row_size
from .visits import Counts


class Model(NamedTuple):
    """Counters of pairs, triples and losses; zero at rows that are counted elsewhere."""

    pairs: Lasting[Counts]  # (R,) N(x, a)
    triples: Lasting[Counts]  # (E,) M(x, a, x')
    loss_sum: Lasting[Floats]  # (R,) sum of the losses seen at (x, a)
    pooled: Choice[bool]  # whether some rows share a counter
    counter: Common[Index]  # (R,) the row that counts for each


@leaf
def visits_of(model: Model, r: int) -> int:
    """N of row r, with the rows that share its counter."""
    return model.pairs[int64(model.counter[r])]


@leaf
def cell_of(graph: Graph, model: Model, r: int, state: int) -> int:
    """Where the way from row r to ``state`` is counted."""
    return row_begin(graph, int64(model.counter[r])) + position_of(graph, r, state)


@kernel
def count(model: Model, r: int, cell: int, loss: float, times: int) -> None:
    """Add (``times = 1``) or take away (-1) one visit of row r that is counted at ``cell``."""
    counter = int64(model.counter[r])
    model.pairs[counter] += times
    model.triples[cell] += times
    model.loss_sum[counter] += times * loss


@kernel
def count_episode(graph: Graph, model: Model, states: Counts, path: Counts, losses: Floats) -> None:
    """Count one trajectory with its losses."""
    for k in range(path.shape[0]):
        count(model, path[k], cell_of(graph, model, path[k], states[k + 1]), losses[k], 1)


@leaf
def mean_loss(model: Model, r: int) -> float:
    """The average loss of a row that was visited."""
    counter = int64(model.counter[r])
    return model.loss_sum[counter] / model.pairs[counter]


@kernel
def refresh_row(graph: Graph, model: Model, r: int, chance: Floats) -> None:
    """chance(. | r) = M / N, for a row that was visited."""
    begin = row_begin(graph, r)
    cell = row_begin(graph, int64(model.counter[r]))
    scale = 1.0 / visits_of(model, r)
    for j in range(row_size(graph, r)):
        chance[begin + j] = scale * model.triples[cell + j]


@leaf
def greedy(graph: Graph, x: int, costs: Floats, policy: Floats) -> float:
    """Put all probability on the cheapest action of x, the first of several; return its cost."""
    begin = x * graph.n_actions
    choice = begin
    for r in range(begin, begin + graph.n_actions):
        policy[r] = 0.0
        if costs[r] < costs[choice]:
            choice = r
    policy[choice] = 1.0
    return costs[choice]
