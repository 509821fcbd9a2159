"""Levels of robustness against corrupted episodes: elimination and optimism on subsampled counts.

Level l = 0 .. M - 1 plays an episode with probability 2^-(l+1) (level 0 also what is left over), so
that of C corrupted episodes about C / 2^(l+1) fall to it: to a level with 2^(l+1) >= C no more than
a logarithm of them.  Every level bounds the optimal losses to go from both sides, twice: from its
own episodes, whose corruption is small, and from all episodes, with room for 2^(l+1) corrupted
ones.  An action that a level excludes is out for all levels that are less robust.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..model.empirical import Model, count_episode
from ..model.graph import (
    Floats,
    Graph,
    layer_begin,
    layer_end,
    n_layers,
    position_of,
    row_begin,
    row_size,
    successor_of,
)
from ..model.visits import Counts
from ..runtime.indices import int64
from ..runtime.random_numbers import LEARNER, uniform_pair
from ..runtime.storage import Lasting, Number, Scratch
from ..runtime.targets import kernel, leaf
from .interface import bandit_update

EPISODES, LEVEL = 0, 1  # places in the clock


class Widths(NamedTuple):
    """The coefficients of the widths, and the key of the stream that draws the levels."""

    root: Number[float]  # of sqrt(1 / N)
    inverse: Number[float]  # of 1 / N, times the corrupted visits that are allowed for
    n_levels: Number[int]  # M
    seed0: Number[int]
    seed1: Number[int]


class LevelsState(NamedTuple):
    """Counts of all episodes and of every level, and every level's bounds; levels in turn."""

    policy: Lasting[Floats]  # (R,)
    widths: Widths
    clock: Lasting[Counts]  # (2,) episodes, level of the coming one
    model: Model  # all episodes
    pairs: Lasting[Counts]  # (M R,) visits in the episodes of each level
    triples: Lasting[Counts]  # (M E,)
    loss_sum: Lasting[Floats]  # (M R,)
    lower: Lasting[Floats]  # (M R,) bounds of the optimal losses to go
    upper: Lasting[Floats]  # (M R,)
    least: Scratch[Floats]  # (S,) their minima over the actions that are left
    most: Scratch[Floats]  # (S,)
    active: Scratch[Floats]  # (A,) 1 for an action that is left


@leaf
def level_of(widths: Widths, episode: int) -> int:
    """The level of an episode: l >= 1 with probability 2^-(l+1), 0 otherwise."""
    u = uniform_pair(widths.seed0, widths.seed1, LEARNER, episode, 0)[0]
    share = 0.25
    for level in range(1, widths.n_levels):
        if u < share:
            return level
        u -= share
        share *= 0.5
    return 0


@leaf
def means(
    graph: Graph, r: int, triples: Counts, cell: int, visits: float, least: Floats, most: Floats
) -> tuple[float, float]:
    """<P^, least> and <P^, most> for the counts that begin at ``cell``."""
    low = 0.0
    high = 0.0
    for j in range(row_size(graph, r)):
        y = successor_of(graph, r, j)
        low += triples[cell + j] * least[y]
        high += triples[cell + j] * most[y]
    return low / visits, high / visits


@leaf
def bound_row(graph: Graph, state: LevelsState, level: int, r: int, to_go: float) -> None:
    """Both bounds of row r: the better of those from its own episodes and from all of them."""
    widths, model = state.widths, state.model
    n_rows, n_entries = state.policy.shape[0], model.triples.shape[0]
    counter = int64(model.counter[r])
    cell = row_begin(graph, counter)
    lower = 0.0
    upper = to_go
    own = float(state.pairs[level * n_rows + counter])
    if own > 0.0:
        width = to_go * (widths.root / math.sqrt(own) + widths.inverse / own)
        low, high = means(
            graph, r, state.triples, level * n_entries + cell, own, state.least, state.most
        )
        loss = state.loss_sum[level * n_rows + counter] / own
        lower = max(lower, loss + low - width)
        upper = min(upper, loss + high + width)
    every = float(model.pairs[counter])
    if every > 0.0:
        allowed = widths.inverse * 2.0 ** (level + 1)
        width = to_go * (widths.root / math.sqrt(every) + allowed / every)
        low, high = means(graph, r, model.triples, cell, every, state.least, state.most)
        loss = model.loss_sum[counter] / every
        lower = max(lower, loss + low - width)
        upper = min(upper, loss + high + width)
    state.lower[level * n_rows + r] = lower
    state.upper[level * n_rows + r] = upper


@leaf
def eliminate(graph: Graph, state: LevelsState, level: int, begin: int) -> None:
    """Leave out the actions that this level excludes, unless none would be left."""
    first = level * state.policy.shape[0] + begin
    least_upper = math.inf
    for a in range(graph.n_actions):
        if state.active[a] > 0.0:
            least_upper = min(least_upper, state.upper[first + a])
    left = 0
    for a in range(graph.n_actions):
        if state.active[a] > 0.0 and state.lower[first + a] <= least_upper:
            left += 1
    if left > 0:
        for a in range(graph.n_actions):
            if state.lower[first + a] > least_upper:
                state.active[a] = 0.0


@leaf
def choose(graph: Graph, state: LevelsState, level: int, x: int) -> None:
    """Minima over the actions that are left, and the first of those with the least lower bound."""
    begin = x * graph.n_actions
    for a in range(graph.n_actions):
        state.active[a] = 1.0
        state.policy[begin + a] = 0.0
    for above in range(state.widths.n_levels - level):  # the most robust one has the first word
        eliminate(graph, state, state.widths.n_levels - 1 - above, begin)
    first = level * state.policy.shape[0] + begin
    choice = -1
    most = math.inf
    for a in range(graph.n_actions):
        if state.active[a] > 0.0:
            most = min(most, state.upper[first + a])
            if choice < 0 or state.lower[first + a] < state.lower[first + choice]:
                choice = a
    state.policy[begin + choice] = 1.0
    state.least[x] = state.lower[first + choice]
    state.most[x] = most


@kernel
def plan(graph: Graph, state: LevelsState, level: int) -> None:
    """The bounds of a level, one backward pass, and its greedy policy."""
    last = n_layers(graph)
    for x in range(layer_begin(graph, last), layer_end(graph, last)):
        state.least[x] = 0.0
        state.most[x] = 0.0
    for back in range(last):
        k = last - 1 - back
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                bound_row(graph, state, level, r, float(back + 1))
            choose(graph, state, level, x)


@kernel
def open_episode(graph: Graph, state: LevelsState) -> None:
    """Draw the level of the coming episode, and plan for it."""
    state.clock[LEVEL] = level_of(state.widths, state.clock[EPISODES])
    plan(graph, state, state.clock[LEVEL])


@bandit_update(LevelsState)
@kernel
def update(graph: Graph, state: LevelsState, states: Counts, path: Counts, losses: Floats) -> None:
    """Count the episode, for its level and for all; renew that level's bounds; draw the next."""
    level = state.clock[LEVEL]
    n_rows, n_entries = state.policy.shape[0], state.model.triples.shape[0]
    count_episode(graph, state.model, states, path, losses)
    for k in range(path.shape[0]):
        counter = int64(state.model.counter[path[k]])
        cell = row_begin(graph, counter) + position_of(graph, path[k], states[k + 1])
        state.pairs[level * n_rows + counter] += 1
        state.triples[level * n_entries + cell] += 1
        state.loss_sum[level * n_rows + counter] += losses[k]
    state.clock[EPISODES] += 1
    if level_of(state.widths, state.clock[EPISODES]) != level:
        plan(graph, state, level)
    open_episode(graph, state)
