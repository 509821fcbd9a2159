"""Optimality of a projection without solving one: the first-order condition, in logarithms.

For a convex function F on a polytope and any of its points q,

    F(q) - min F  <=  <grad F(q), q> - min over u of <grad F(q), u>,

and the right-hand side is zero at the minimum only.  Here F = D(. || w), whose gradient is
ln q - ln w; the minimum over the measures of a set is a backward recursion with one linear
programme for each row, solved by filling.  Weights of any size are as good as any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import advmdp as am
from tests.reference.tables import Array, Table

BestRow = Callable[[int, int, int, Array], float]  # k, x, a, cost -> min <p, cost> over the row


def logarithms(flat: Any) -> Any:
    """Of probabilities in log storage."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(flat < 0.0, flat, np.log(flat))


def log_measure(layout: am.Layout, measure: Any) -> Table:
    """ln q over triples of a measure in log storage."""
    pairs = np.repeat(logarithms(measure.mass[:-1]), layout.n_actions) + logarithms(measure.policy)
    return layout.triples(np.repeat(pairs, layout.row_sizes()) + logarithms(measure.chance))


def cheapest_in_box(cost: Array, lower: Array, upper: Array) -> float:
    """min <p, cost> over lower <= p <= upper: fill the cheapest first."""
    row, left = lower.copy(), 1.0 - lower.sum()
    for j in np.argsort(cost, kind="stable"):
        take = min(left, upper[j] - lower[j])
        row[j] += take
        left -= take
    return float((row * cost)[row > 0].sum())


def cheapest_in_l1(cost: Array, centre: Array, width: float) -> float:
    """min <p, cost> over |p - centre|_1 <= width: from the dearest to the cheapest."""
    row, order = centre.copy(), np.argsort(cost, kind="stable")
    left = min(width / 2.0, 1.0 - row[order[0]])
    row[order[0]] += left
    for j in order[:0:-1]:
        take = min(left, row[j])
        row[j] -= take
        left -= take
    return float((row * cost)[row > 0].sum())


def improvement(log_q: Table, log_w: Table, best_row: BestRow) -> float:
    """<grad, q> - min <grad, u>: how far q can be from optimal, and how far any u may see it so."""
    # what is impossible under both has no gradient, and no measure of the set goes there
    gradient = [
        np.where(np.isfinite(b), a - np.where(np.isfinite(b), b, 0.0), 0.0)
        for a, b in zip(log_q, log_w, strict=True)
    ]
    here = sum(
        float((np.exp(lq)[lq > -700.0] * g[lq > -700.0]).sum())
        for lq, g in zip(log_q, gradient, strict=True)
    )
    value = np.zeros(1)
    for k in range(len(gradient) - 1, -1, -1):
        g = gradient[k]
        rows = [
            [best_row(k, x, a, g[x, a] + value) for a in range(g.shape[1])]
            for x in range(g.shape[0])
        ]
        value = np.array(rows).min(axis=1)
    return here - float(value[0])
