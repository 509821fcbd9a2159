"""Elementary facts about occupancy measures, on plain tables.

A table is a list over layers ``k = 0 .. L - 1`` of float64 arrays: pairs ``(n_k, A)`` or triples
``(n_k, A, n_{k+1})``.  Everything here is a direct transcription of a definition.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import kl_div

Array = NDArray[np.float64]
Table = list[Array]


def sizes_of(triples: Table) -> tuple[int, ...]:
    """The layer sizes ``(n_0, ..., n_L)`` behind a triple table."""
    return (*(layer.shape[0] for layer in triples), triples[-1].shape[2])


def occupancy(transitions: Table, policy: Table) -> Table:
    """q^{P,pi}(x, a, x') = Pr[x_k = x] pi(a|x) P(x'|x, a), layer after layer."""
    reach = np.ones(1)
    table = []
    for kernel, choice in zip(transitions, policy, strict=True):
        q = reach[:, None, None] * choice[:, :, None] * kernel
        table.append(q)
        reach = q.sum(axis=(0, 1))
    return table


def pair_sums(q: Table) -> Table:
    """q(x, a) = sum over x' of q(x, a, x')."""
    return [layer.sum(axis=2) for layer in q]


def policy_of(q: Table) -> Table:
    """The induced policy pi^q of Lemma 1."""
    return [pairs / pairs.sum(axis=1, keepdims=True) for pairs in pair_sums(q)]


def divergence(q: Table, weights: Table) -> float:
    """The unnormalised Kullback-Leibler divergence D(q || weights), Eq. (8), with 0 ln 0 = 0."""
    return float(sum(kl_div(a, b).sum() for a, b in zip(q, weights, strict=True)))


def inner(pairs: Table, loss: Table) -> float:
    """<q, l> over state-action pairs."""
    return float(sum((a * b).sum() for a, b in zip(pairs, loss, strict=True)))


def flow_error(q: Table) -> float:
    """The worst violation of Eq. (1), every layer has mass one, and Eq. (2), inflow = outflow."""
    worst = max(abs(layer.sum() - 1.0) for layer in q)
    for before, after in pairwise(q):
        worst = max(worst, np.abs(before.sum(axis=(0, 1)) - after.sum(axis=(1, 2))).max())
    return float(worst)


def box_error(q: Table, lower: Table, upper: Table) -> float:
    """The worst violation of lower q(x,a) <= q(x,a,x') <= upper q(x,a); the set of Eq. (5)."""
    worst = 0.0
    for layer, lo, hi in zip(q, lower, upper, strict=True):
        mass = layer.sum(axis=2, keepdims=True)
        worst = max(worst, (lo * mass - layer).max(), (layer - hi * mass).max())
    return worst


def l1_error(q: Table, centre: Table, width: Table) -> float:
    """The worst violation of ||q(x,a,.) - centre q(x,a)||_1 <= width q(x,a)."""
    worst = 0.0
    for layer, middle, radius in zip(q, centre, width, strict=True):
        mass = layer.sum(axis=2)
        distance = np.abs(layer - middle * mass[:, :, None]).sum(axis=2)
        worst = max(worst, (distance - radius * mass).max())
    return worst


def greatest_difference(first: Table, second: Table) -> float:
    """The largest absolute difference between two tables of the same shapes."""
    return max(float(np.abs(a - b).max()) for a, b in zip(first, second, strict=True))


def permute(table: Table, orders: Sequence[NDArray[np.int64]]) -> Table:
    """Rename the states: position ``i`` of layer ``k`` takes what ``orders[k][i]`` had."""
    renamed = []
    for k, layer in enumerate(table):
        layer = layer[orders[k]]
        renamed.append(layer if layer.ndim == 2 else layer[:, :, orders[k + 1]])
    return renamed
