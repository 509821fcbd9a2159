"""One walk through the layers: an action, then a successor, drawn layer after layer.

The walk of an episode depends on the seed, the episode and the layer only (stream ``TRAJECTORY``),
never on how many numbers were drawn before.  Two learners that play the same policy in episode t
therefore see the same walk, which is what makes paired comparisons sharp.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..runtime.random_numbers import TRAJECTORY, uniform_pair
from ..runtime.targets import kernel
from ..runtime.threads import broadcast, n_threads, thread
from .graph import (
    Graph,
    layer_begin,
    layer_end,
    n_layers,
    position_of,
    row_begin,
    row_size,
    successor_of,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ROUNDING = 1e-9
"""By how much the probabilities of a state may miss one."""


@kernel
def is_policy(policy: Floats, n_actions: int) -> bool:
    """Whether the rows of every state hold a distribution; not so where a value is not a number."""
    for x in range(policy.shape[0] // n_actions):
        total = 0.0
        for a in range(n_actions):
            chance = policy[x * n_actions + a]
            if not chance >= 0.0:
                return False
            total += chance
        if not (1.0 - ROUNDING <= total <= 1.0 + ROUNDING):
            return False
    return True


@kernel
def pick(values: Floats, begin: int, size: int, u: float) -> int:
    """The place j of ``values[begin + j]``, chosen with that probability from u in [0, 1).

    Only positive entries can be picked.  Their sum may fall short of one by rounding; a u beyond
    the sum picks the last positive entry.
    """
    chosen = 0
    total = 0.0
    for j in range(size):
        value = values[begin + j]
        if value > 0.0:
            chosen = j
            total += value
            if u < total:
                break
    return chosen


@kernel
def draw_trajectory(
    graph: Graph,
    policy: Floats,
    transitions: Floats,
    seed0: int,
    seed1: int,
    episode: int,
    states: Integers,
    rows: Integers,
) -> None:
    """Write the L + 1 states and the L rows of one episode.

    ``policy`` is a vector over rows, ``transitions`` a vector over entries; ``states`` receives
    flat state numbers, ``rows`` flat row numbers r = x * A + a.
    """
    n_actions = graph.n_actions
    x = 0
    states[0] = x
    mine = (0.0, 0.0)
    for k in range(n_layers(graph)):
        who = k % n_threads()  # each thread draws for a layer of its own
        if who == 0:
            mine = uniform_pair(seed0, seed1, TRAJECTORY, episode, k + thread())
        u = broadcast(mine[0], who)
        v = broadcast(mine[1], who)
        r = x * n_actions + pick(policy, x * n_actions, n_actions, u)
        j = pick(transitions, row_begin(graph, r), row_size(graph, r), v)
        x = successor_of(graph, r, j)
        rows[k] = r
        states[k + 1] = x


@kernel
def flatten_walk(
    graph: Graph,
    within: Integers,
    actions: Integers,
    losses: Floats,
    states: Integers,
    rows: Integers,
) -> bool:
    """The flat numbers of a walk that is given within its layers, with losses in [0, 1].

    False if a number is outside of its range, or a step is one that the layout does not have.
    """
    n_actions = graph.n_actions
    for k in range(losses.shape[0]):
        if not 0.0 <= losses[k] <= 1.0:
            return False
    for k in range(n_layers(graph) + 1):
        states[k] = layer_begin(graph, k) + within[k]
        if within[k] < 0 or states[k] >= layer_end(graph, k):
            return False
    for k in range(n_layers(graph)):
        if not 0 <= actions[k] < n_actions:
            return False
        rows[k] = states[k] * n_actions + actions[k]
        if position_of(graph, rows[k], states[k + 1]) < 0:
            return False
    return True
