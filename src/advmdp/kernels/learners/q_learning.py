"""Optimistic Q-learning in loss form: no model, only the visited pairs are touched."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..model.empirical import greedy
from ..model.graph import Floats, Graph
from ..model.visits import Counts
from ..runtime.storage import Choice, Lasting, Number
from ..runtime.targets import kernel, leaf
from .interface import bandit_update


class Rates(NamedTuple):
    """The coefficients of the bonus; for the Hoeffding bonus only ``root`` is used."""

    bernstein: Choice[bool]
    n_layers: Number[float]  # L
    root: Number[float]  # of sqrt(1 / n)
    variance: Number[float]  # of (W_n + L) / n, under a root
    inverse: Number[float]  # of 1 / n


class QLearningState(NamedTuple):
    """Lower bounds of the optimal values, and what their bonuses need."""

    policy: Lasting[Floats]  # (R,)
    rates: Rates
    clock: Lasting[Counts]  # (1,) episodes
    pairs: Lasting[Counts]  # (R,) n, visits
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


@bandit_update(QLearningState)
@kernel
def update(
    graph: Graph, state: QLearningState, states: Counts, path: Counts, losses: Floats
) -> None:
    """Q <- (1 - alpha) Q + alpha (loss + V(x') - b) along the path, in the order of play.

    V(x') is the value from before this episode: its own state is updated one step later.
    """
    rates = state.rates
    state.clock[0] += 1
    for k in range(path.shape[0]):
        r = path[k]
        state.pairs[r] += 1
        n = float(state.pairs[r])
        alpha = learning_rate(rates.n_layers, n)
        next_value = state.value[states[k + 1]]
        bonus = rates.root / math.sqrt(n)
        if rates.bernstein:
            bonus = bernstein_bonus(state, r, n, alpha, next_value)
        state.q[r] = (1.0 - alpha) * state.q[r] + alpha * (losses[k] + next_value - bonus)
        state.value[states[k]] = max(0.0, greedy(graph, states[k], state.q, state.policy))
