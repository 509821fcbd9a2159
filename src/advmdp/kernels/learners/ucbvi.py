"""UCBVI in loss form: optimistic value iteration on the empirical model after every episode."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..model.empirical import Model, count_episode, greedy, mean_loss, refresh_row, visits_of
from ..model.graph import (
    Floats,
    Graph,
    layer_begin,
    layer_end,
    n_layers,
    row_begin,
    row_dot,
    row_size,
    successor_of,
)
from ..model.visits import Counts
from ..runtime.storage import Choice, Lasting, Number
from ..runtime.targets import kernel, leaf
from .interface import bandit_update


class Bonus(NamedTuple):
    """The coefficients of the bonus; for the Hoeffding bonus only ``root`` is used."""

    bernstein: Choice[bool]
    root: Number[float]  # of sqrt(1 / N)
    variance: Number[float]  # of Var(V) / N, under a root
    inverse: Number[float]  # of 1 / N
    later: Number[float]  # of the values' own uncertainty, under a root
    later_rate: Number[float]  # that uncertainty is min(later_rate / N(y), later_cap)
    later_cap: Number[float]


class UCBVIState(NamedTuple):
    """The model and the current lower bounds of the optimal values."""

    policy: Lasting[Floats]  # (R,)
    bonus: Bonus
    model: Model
    chance: Lasting[Floats]  # (E,) P^
    seen: Lasting[Counts]  # (S,) N(y); the first state is seen in every episode
    q: Lasting[Floats]  # (R,) Q, never decreasing
    value: Lasting[Floats]  # (S,) V


@leaf
def bernstein_terms(graph: Graph, state: UCBVIState, r: int, mean: float) -> tuple[float, float]:
    """Var(V) and the expected uncertainty of V, both under P^(. | r); ``mean`` is E V."""
    bonus = state.bonus
    begin = row_begin(graph, r)
    variance = 0.0
    later = 0.0
    for j in range(row_size(graph, r)):
        chance = state.chance[begin + j]
        if chance > 0.0:
            y = successor_of(graph, r, j)
            variance += chance * (state.value[y] - mean) ** 2
            later += chance * min(bonus.later_rate / state.seen[y], bonus.later_cap)
    return variance, later


@leaf
def optimistic_cost(graph: Graph, state: UCBVIState, r: int) -> float:
    """mean loss + <P^, V> - bonus, for a row that was visited."""
    bonus = state.bonus
    inverse = 1.0 / visits_of(state.model, r)
    mean = row_dot(graph, r, state.chance, state.value)
    width = bonus.root * math.sqrt(inverse)
    if bonus.bernstein:
        variance, later = bernstein_terms(graph, state, r, mean)
        width += math.sqrt(bonus.variance * variance * inverse) + bonus.inverse * inverse
        width += math.sqrt(bonus.later * later * inverse)
    return mean_loss(state.model, r) + mean - width


@kernel
def plan(graph: Graph, state: UCBVIState) -> None:
    """One backward pass: Q = max(Q, 0, optimistic cost), V = min Q, greedy."""
    for back in range(n_layers(graph)):
        k = n_layers(graph) - 1 - back
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                if visits_of(state.model, r) > 0:
                    state.q[r] = max(state.q[r], optimistic_cost(graph, state, r))
            state.value[x] = greedy(graph, x, state.q, state.policy)


@kernel
def refresh_shared_rows(graph: Graph, state: UCBVIState) -> None:
    """P^ of every row that was visited, or whose counter was, anywhere."""
    for r in range(state.q.shape[0]):
        if visits_of(state.model, r) > 0:
            refresh_row(graph, state.model, r, state.chance)


@bandit_update(UCBVIState)
@kernel
def update(graph: Graph, state: UCBVIState, states: Counts, path: Counts, losses: Floats) -> None:
    """Count the episode, then plan again."""
    count_episode(graph, state.model, states, path, losses)
    for k in range(path.shape[0]):
        refresh_row(graph, state.model, path[k], state.chance)
        state.seen[states[k]] += 1
    state.seen[states[path.shape[0]]] += 1
    if state.model.pooled:
        refresh_shared_rows(graph, state)
    plan(graph, state)
