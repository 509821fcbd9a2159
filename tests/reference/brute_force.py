"""Enumeration: vertices of confidence sets, trajectories and deterministic policies.

Only for MDPs small enough to count on a page.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from tests.reference.tables import Array, Table, inner, occupancy, pair_sums, sizes_of


def box_vertices(lower: Array, upper: Array) -> list[Array]:
    """The vertices of {lower <= p <= upper, sum p = 1}: all entries but one sit at a bound."""
    n = len(lower)
    found: dict[tuple[float, ...], Array] = {}
    for free in range(n):
        others = [i for i in range(n) if i != free]
        for at_upper in product((False, True), repeat=n - 1):
            p = np.empty(n)
            for i, high in zip(others, at_upper, strict=True):
                p[i] = upper[i] if high else lower[i]
            p[free] = 1.0 - p[others].sum()
            if lower[free] - 1e-14 <= p[free] <= upper[free] + 1e-14:
                found[tuple(np.round(p, 13))] = p
    return list(found.values())


def extreme_kernels(lower: Table, upper: Table) -> Iterator[Table]:
    """Every transition function whose rows are all vertices of their boxes."""
    rows = [
        (k, x, a)
        for k, layer in enumerate(lower)
        for x in range(layer.shape[0])
        for a in range(layer.shape[1])
    ]
    choices = [box_vertices(lower[k][x, a], upper[k][x, a]) for k, x, a in rows]
    for choice in product(*choices):
        kernel = [np.empty_like(layer) for layer in lower]
        for (k, x, a), p in zip(rows, choice, strict=True):
            kernel[k][x, a] = p
        yield kernel


def upper_occupancy_by_vertices(policy: Table, lower: Table, upper: Table) -> Table:
    """u(x, a) by trying every extreme kernel.

    q(x, a) is affine in each row separately, so its maximum sits at a product of vertices.
    """
    best = [np.zeros_like(layer) for layer in policy]
    for kernel in extreme_kernels(lower, upper):
        pairs = pair_sums(occupancy(kernel, policy))
        best = [np.maximum(b, p) for b, p in zip(best, pairs, strict=True)]
    return best


def all_trajectories(
    transitions: Table, policy: Table
) -> Iterator[tuple[list[int], list[int], float]]:
    """Every (states, actions, probability) of one episode."""
    sizes, n_actions = sizes_of(transitions), policy[0].shape[1]
    for states in product(*(range(n) for n in sizes)):
        for actions in product(range(n_actions), repeat=len(transitions)):
            chance = 1.0
            for k, (x, a) in enumerate(zip(states, actions, strict=False)):
                chance *= policy[k][x, a] * transitions[k][x, a, states[k + 1]]
            yield list(states), list(actions), float(chance)


def occupancy_by_trajectories(transitions: Table, policy: Table) -> Table:
    """q^{P,pi}(x, a, x') as the total chance of the trajectories through the triple."""
    table = [np.zeros_like(layer) for layer in transitions]
    for states, actions, chance in all_trajectories(transitions, policy):
        for k, a in enumerate(actions):
            table[k][states[k], a, states[k + 1]] += chance
    return table


def deterministic_policies(sizes: tuple[int, ...], n_actions: int) -> Iterator[Table]:
    """Every policy that chooses one action per state."""
    n_states = sum(sizes[:-1])
    for choice in product(range(n_actions), repeat=n_states):
        flat = np.eye(n_actions)[list(choice)]
        yield np.split(flat, np.cumsum(sizes[:-1])[:-1])


def best_deterministic_loss(transitions: Table, loss: Table) -> float:
    """The smallest expected loss among deterministic policies; one of them is optimal."""
    sizes, n_actions = sizes_of(transitions), loss[0].shape[1]
    return min(
        inner(pair_sums(occupancy(transitions, policy)), loss)
        for policy in deterministic_policies(sizes, n_actions)
    )
