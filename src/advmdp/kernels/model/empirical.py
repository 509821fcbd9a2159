"""The empirical model: how often, where to, at what price.

Optimistic learners for stochastic losses estimate the mean loss and the transition of a pair by
their averages over its visits.  The counters are here; what is done with them is each learner's.
"""

from __future__ import annotations

from typing import NamedTuple

from ..runtime.storage import Lasting
from ..runtime.targets import kernel, leaf
from .graph import Floats, Graph, entry_of, row_begin, row_size
from .visits import Counts


class Model(NamedTuple):
    """Counters of pairs, triples and losses."""

    pairs: Lasting[Counts]  # (R,) N(x, a)
    triples: Lasting[Counts]  # (E,) M(x, a, x')
    loss_sum: Lasting[Floats]  # (R,) sum of the losses seen at (x, a)


@kernel
def count(model: Model, r: int, entry: int, loss: float, times: int) -> None:
    """Add (``times = 1``) or take away (-1) one visit of row r that left by ``entry``."""
    model.pairs[r] += times
    model.triples[entry] += times
    model.loss_sum[r] += times * loss


@kernel
def count_episode(graph: Graph, model: Model, states: Counts, path: Counts, losses: Floats) -> None:
    """Count one trajectory with its losses."""
    for k in range(path.shape[0]):
        count(model, path[k], entry_of(graph, path[k], states[k + 1]), losses[k], 1)


@leaf
def mean_loss(model: Model, r: int) -> float:
    """The average loss of a row that was visited."""
    return model.loss_sum[r] / model.pairs[r]


@kernel
def refresh_row(graph: Graph, model: Model, r: int, chance: Floats) -> None:
    """chance(. | r) = M / N, for a row that was visited."""
    begin = row_begin(graph, r)
    scale = 1.0 / model.pairs[r]
    for j in range(row_size(graph, r)):
        chance[begin + j] = scale * model.triples[begin + j]


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
