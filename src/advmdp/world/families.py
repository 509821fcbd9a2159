"""Families of layered MDPs: random ones, and benchmarks from the literature.

Each constructor returns a ``LayeredMDP``; benchmarks have their loss as ``natural_loss``.  The
layouts of benchmarks declare which states can follow a state under *some* action.  The effect of
each action is left for the learner to find out; otherwise deterministic MDPs would be known in
advance.  The layout prunes states that cannot be reached.  The families that ``time_expand``
unrolls (``grid``, ``river_swim``) are in ``walks``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.numbers import positive_number, unit_number, whole_number
from advmdp.errors import InvalidInput
from advmdp.layout import Floats, Layout
from advmdp.layout.checks import MAX_ENTRIES, MAX_LAYERS, refuse_too_many
from advmdp.seeds import Seed, generator
from advmdp.world.mdp import LayeredMDP
from advmdp.world.time_expand import mdp_with_support
from advmdp.world.walks import grid, river_swim

__all__ = [
    "combination_lock",
    "deep_sea",
    "grid",
    "random_mdp",
    "river_swim",
    "routing",
]


def random_mdp(
    layer_sizes: Sequence[int],
    n_actions: int,
    seed: Seed,
    concentration: float = 1.0,
    n_successors: int | None = None,
) -> LayeredMDP:
    """A random MDP: rows are independent draws from a symmetric Dirichlet distribution.

    Parameters
    ----------
    concentration
        1 is uniform on the simplex; small values give nearly deterministic rows, large values
        nearly uniform ones.
    n_successors
        If given, every row has this many declared successors (all, if the layer is smaller),
        chosen at random; states that no row leads to are pruned.

    >>> random_mdp((1, 4, 4, 1), n_actions=3, seed=0)
    LayeredMDP(Layout(layer_sizes=(1, 4, 4, 1), n_actions=3))
    >>> random_mdp((1, 40, 40, 1), n_actions=10, seed=0, n_successors=8).layout.row_sizes().max()
    np.int64(8)
    """
    concentration = positive_number(concentration, "concentration")
    rng = generator(seed)
    layout = Layout(layer_sizes, n_actions)
    if n_successors is not None:
        n_successors = whole_number(n_successors, "n_successors")
        sizes, n_actions = layout.layer_sizes, layout.n_actions
        chosen = [
            _distinct_targets(rng, (sizes[k], n_actions), sizes[k + 1], n_successors)
            for k in range(layout.n_layers)
        ]
        layout = Layout(sizes, n_actions, successors=chosen)
    flat = np.empty(layout.n_entries)
    for k in range(layout.n_layers):
        sizes_here = layout.row_sizes()[layout.layer_rows(k)]  # all equal: pruning removes no entry
        parameters = np.full(sizes_here[0], concentration)
        flat[layout.layer_entries(k)] = rng.dirichlet(parameters, size=len(sizes_here)).ravel()
    return LayeredMDP(layout, flat)


def deep_sea(depth: int, move_cost: float = 0.01) -> LayeredMDP:
    """Deep sea: a diver reaches the treasure only by moving right at every step.

    Every action moves down one level: action 0 also one column to the left (it stays at the wall),
    action 1 one column to the right.  Each move right costs ``c = move_cost / depth``
    and the last one, from the rightmost column of the deepest level, earns 1.  The natural loss is
    ``1 - c - reward``: ``1 - c`` for left, 1 for right and 0 for the treasure.  Always right loses
    ``depth - 1``, which is optimal; always left loses ``depth - move_cost``; and a uniformly
    random diver reaches the treasure with probability ``2 ** -depth``.

    After Osband, Van Roy, Russo and Wen (2019), with losses for rewards.

    >>> mdp = deep_sea(4)
    >>> mdp.layout.layer_sizes
    (1, 2, 3, 4, 1)
    >>> mdp.natural_loss[3][3]
    array([0.9975, 0.    ])
    """
    depth = whole_number(depth, "depth", most=MAX_ENTRIES)
    refuse_too_many(2 * depth**2)
    move_cost = unit_number(move_cost, "move_cost", below_one=True)
    transitions: list[Floats] = []
    for level in range(depth - 1):
        column = np.arange(level + 1)
        step = np.zeros((level + 1, 2, level + 2))
        step[column, 0, np.maximum(column - 1, 0)] = 1.0
        step[column, 1, column + 1] = 1.0
        transitions.append(step)
    transitions.append(np.ones((depth, 2, 1)))
    loss = [np.tile([1.0 - move_cost / depth, 1.0], (level + 1, 1)) for level in range(depth)]
    loss[-1][-1, 1] = 0.0
    return mdp_with_support(transitions, loss)


def combination_lock(length: int, n_actions: int, seed: Seed, slip: float = 0.0) -> LayeredMDP:
    """Combination lock: it opens after the right action at every position.

    State 0 of a layer means that all actions so far were right, state 1 that the lock is jammed
    permanently.  The right action, drawn uniformly for every position, keeps state 0 with
    probability ``1 - slip``.  The natural loss is 1, except 0 for the right action in state 0 at
    the last position.  The best policy loses ``length - (1 - slip) ** (length - 1)``, and a
    uniformly random one ``length - (1 - slip) ** (length - 1) / n_actions ** length``.

    >>> mdp = combination_lock(length=3, n_actions=4, seed=0)
    >>> mdp.layout.layer_sizes
    (1, 2, 2, 1)
    >>> sum(layer.size - int(layer.sum()) for layer in mdp.natural_loss)
    1
    """
    length = whole_number(length, "length", most=MAX_LAYERS)
    n_actions = whole_number(n_actions, "n_actions", most=MAX_ENTRIES)
    refuse_too_many(4 * length * n_actions)
    slip = unit_number(slip, "slip", below_one=True)
    code = generator(seed).integers(n_actions, size=length)
    transitions = [np.zeros((2, n_actions, 2)) for _ in range(length - 1)]
    for step, right in zip(transitions, code, strict=False):
        step[:, :, 1] = 1.0
        step[0, right] = 1.0 - slip, slip
    transitions.append(np.ones((2, n_actions, 1)))
    loss = [np.ones((2, n_actions)) for _ in range(length)]
    loss[-1][0, code[-1]] = 0.0
    transitions[0], loss[0] = transitions[0][:1], loss[0][:1]
    return mdp_with_support(transitions, loss)


def routing(
    width: int, depth: int, seed: Seed, n_links: int = 2, failure: float = 0.2
) -> LayeredMDP:
    """A packet crosses ``depth`` stages of ``width`` routers from a source to a sink.

    Every router has ``n_links`` links to distinct random routers of the next stage, and action a
    chooses link a.  A link fails with a probability of its own, uniform on [0, ``failure``]; the
    packet then leaves by one of the other links, each with the same probability.  The natural loss
    is the delay of the link, uniform on [0, 1].  Routers without an incoming link are pruned.

    >>> mdp = routing(width=5, depth=3, seed=0)
    >>> mdp.layout.n_layers, mdp.layout.n_actions, int(mdp.layout.row_sizes().max())
    (4, 2, 2)
    """
    width = whole_number(width, "width", most=MAX_ENTRIES)
    depth = whole_number(depth, "depth", most=MAX_LAYERS)
    failure = unit_number(failure, "failure")
    n_links = whole_number(n_links, "n_links")
    if n_links > width:
        raise InvalidInput(
            f"n_links: {n_links} distinct links need a width of at least {n_links}, got {width}"
        )
    refuse_too_many(n_links * width**2 * depth)
    rng = generator(seed)
    sizes = (1,) + (width,) * depth + (1,)
    transitions: list[Floats] = []
    for n_here, n_next in pairwise(sizes[:-1]):
        links = _distinct_targets(rng, (n_here,), n_next, n_links)
        failing = rng.uniform(0.0, failure, size=(n_here, n_links)) if n_links > 1 else 0.0
        leaving = np.zeros((n_here, n_links, n_links))  # (router, chosen link, link taken)
        leaving += np.expand_dims(failing / max(n_links - 1, 1), -1)
        leaving[:, range(n_links), range(n_links)] = 1.0 - failing
        step = np.zeros((n_here, n_links, n_next))
        np.put_along_axis(step, np.repeat(links[:, np.newaxis], n_links, axis=1), leaving, axis=2)
        transitions.append(step)
    transitions.append(np.ones((width, n_links, 1)))
    delay = [rng.uniform(size=(n, n_links)) for n in sizes[:-1]]
    return mdp_with_support(transitions, delay)


def _distinct_targets(
    rng: np.random.Generator, lead: tuple[int, ...], n_targets: int, n_chosen: int
) -> NDArray[Any]:
    """For every index of shape ``lead`` a random set of ``n_chosen`` targets (at most all)."""
    order = rng.random((*lead, n_targets)).argsort(axis=-1)
    return order[..., :n_chosen]
