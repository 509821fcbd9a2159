"""COMP-UOB and GREEDY, transcribed line by line from the paper (centre and width, not bounds)."""

from __future__ import annotations

import numpy as np

from tests.reference.tables import Array, Table


def greedy(f: Array, centre: Array, width: Array) -> float:
    """max <p, f> over |p - centre| <= width: two pointers move mass from low f to high f.

    ``centre`` must be a distribution.  Both arrays are consumed by the procedure, hence copies.
    """
    p, slack = centre.copy(), width.copy()
    order = np.argsort(f, kind="stable")
    low, high = 0, len(f) - 1
    while low < high:
        down, up = order[low], order[high]
        can_lose, can_gain = min(p[down], slack[down]), min(1.0 - p[up], slack[up])
        moved = min(can_lose, can_gain)
        p[down] -= moved
        p[up] += moved
        if can_lose <= can_gain:
            slack[up] -= can_lose
            low += 1
        else:
            slack[down] -= can_gain
            high -= 1
    return float(p @ f)


def comp_uob(policy: Table, k: int, x: int, a: int, centre: Table, width: Table) -> float:
    """u(x, a) for a state of layer k, by the backward recursion of Eq. (10)."""
    f = np.zeros(policy[k].shape[0])
    f[x] = 1.0
    for layer in range(k - 1, -1, -1):
        f = np.array(
            [
                sum(
                    policy[layer][y, b] * greedy(f, centre[layer][y, b], width[layer][y, b])
                    for b in range(policy[layer].shape[1])
                )
                for y in range(policy[layer].shape[0])
            ]
        )
    return float(policy[k][x, a] * f[0])


def comp_uob_table(policy: Table, centre: Table, width: Table) -> Table:
    """u for every pair."""
    return [
        np.array(
            [
                [comp_uob(policy, k, x, a, centre, width) for a in range(layer.shape[1])]
                for x in range(layer.shape[0])
            ]
        )
        for k, layer in enumerate(policy)
    ]
