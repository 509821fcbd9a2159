"""Optimistic Q-learning in loss form: no model, only the visited pairs are touched.

Rows that have the same transition and the same mean loss may be declared alike: a sample of one is
then a sample of all of them, and each is updated with it, towards the value of its own next step.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..model.empirical import greedy
from ..model.graph import Floats, Graph, Index, position_of, successor_of
from ..model.visits import Counts
from ..runtime.indices import int64
from ..runtime.storage import Choice, Common, Lasting, Number
from ..runtime.targets import kernel, leaf
from .interface import bandit_update


class Rates(NamedTuple):
    """The coefficients of the bonus; for the Hoeffding bonus only ``root`` is used."""

    bernstein: Choice[bool]
    n_layers: Number[float]  # L
    root: Number[float]  # of sqrt(1 / n)
    variance: Number[float]  # of (W_n + L) / n, under a root
    inverse: Number[float]  # of 1 / n


class Alike(NamedTuple):
    """Which rows learn from a visit of row r: ``rows[begin[r] : end[r]]``, the first layers first.

    In that order the value of the next step is always that from before the sample.
    """

    rows: Common[Index]  # (R,) those of a pool side by side
    begin: Common[Index]  # (R,)
    end: Common[Index]  # (R,)


class QLearningState(NamedTuple):
    """Lower bounds of the optimal values, and what their bonuses need."""

    policy: Lasting[Floats]  # (R,)
    rates: Rates
    alike: Alike
    clock: Lasting[Counts]  # (1,) episodes
    pairs: Lasting[Counts]  # (R,) n, visits of the row and of those alike
    q: Lasting[Floats]  # (R,) Q
    value: Lasting[Floats]  # (S,) V = max(0, min_a Q)
    drawn: Lasting[Floats]  # (R,) sum of the values V(x') used so far
    drawn_squares: Lasting[Floats]  # (R,) sum of their squares
    width: Lasting[Floats]  # (R,) beta_n


@kernel
def learning_rate(n_layers: float, n: float) -> float:
    """alpha_n = (L + 1) / (L + n), which is 1 at the first visit."""
    return (n_layers + 1.0) / (n_layers + n)


@leaf
def bernstein_bonus(
    state: QLearningState, r: int, n: float, alpha: float, next_value: float
) -> float:
    """b_n = (beta_n - (1 - alpha_n) beta_{n-1}) / (2 alpha_n); counts the value just used."""
    rates = state.rates
    state.drawn[r] += next_value
    state.drawn_squares[r] += next_value * next_value
    mean = state.drawn[r] / n
    variance = max(state.drawn_squares[r] / n - mean * mean, 0.0)
    width = math.sqrt(rates.variance * (variance + rates.n_layers) / n) + rates.inverse / n
    width = min(width, rates.root / math.sqrt(n))
    bonus = (width - (1.0 - alpha) * state.width[r]) / (2.0 * alpha)
    state.width[r] = width
    return bonus


@kernel
def learn(graph: Graph, state: QLearningState, r: int, loss: float, next_value: float) -> None:
    """Q <- (1 - alpha) Q + alpha (loss + V(x') - b) at row r, then V and pi of its state."""
    rates = state.rates
    state.pairs[r] += 1
    n = float(state.pairs[r])
    alpha = learning_rate(rates.n_layers, n)
    bonus = rates.root / math.sqrt(n)
    if rates.bernstein:
        bonus = bernstein_bonus(state, r, n, alpha, next_value)
    state.q[r] = (1.0 - alpha) * state.q[r] + alpha * (loss + next_value - bonus)
    x = r // graph.n_actions
    state.value[x] = max(0.0, greedy(graph, x, state.q, state.policy))


@bandit_update(QLearningState)
@kernel
def update(
    graph: Graph, state: QLearningState, states: Counts, path: Counts, losses: Floats
) -> None:
    """Learn from the steps of the path in the order of play.

    Where no rows are alike V(x') is the value from before this episode: its own state is updated
    one step later.
    """
    alike = state.alike
    state.clock[0] += 1
    for k in range(path.shape[0]):
        j = position_of(graph, path[k], states[k + 1])
        for place in range(int64(alike.begin[path[k]]), int64(alike.end[path[k]])):
            r = int64(alike.rows[place])
            learn(graph, state, r, losses[k], state.value[successor_of(graph, r, j)])
