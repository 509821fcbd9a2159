"""Optimality conditions of a KL projection, checked without a solver."""

from __future__ import annotations

import numpy as np

from advmdp.claims.references.oracles import incidence
from advmdp.layout import Floats, Layout
from advmdp.steps.confidence import BoxSet


def infeasibility(layout: Layout, q: Floats, box: BoxSet) -> float:
    """The largest violation of the constraints of Eq. (project_update)."""
    rows, inflow, outflow = incidence(layout)
    mass = (rows @ q)[layout.entry_rows()]
    low, high = (layout.flat_triples(side) for side in (box.lower, box.upper))
    first_rows = layout.layer_start[: layout.n_layers] * layout.n_actions
    violations = [
        abs(np.add.reduceat(q, layout.row_start[first_rows]) - 1.0),
        abs((inflow - outflow)[1:-1] @ q),
        q - high * mass,
        low * mass - q,
        -q,
    ]
    return float(np.concatenate(violations).max())


def active_share(layout: Layout, q: Floats, box: BoxSet) -> float:
    """The share of triples on a bound of the box that is not 0 or 1."""
    chance = q / np.add.reduceat(q, layout.row_start[:-1])[layout.entry_rows()]
    ends = (layout.flat_triples(side) for side in (box.lower, box.upper))
    touched = [(abs(chance - end) < 1e-9) & (end > 0.0) & (end < 1.0) for end in ends]
    return float((touched[0] | touched[1]).mean())


def first_order_gap(layout: Layout, q: Floats, weights: Floats, box: BoxSet) -> float:
    """<q, c> - min over r in Delta(box) of <r, c> with c = ln(q / weights), the gradient of D.

    By convexity D(q) exceeds the minimum by no more than this.  The linear minimum is a backward
    recursion over rows that are filled greedily, cheapest successor first.
    """
    slope = np.log(np.maximum(q, 1e-300) / weights)
    low, high = layout.flat_triples(box.lower), layout.flat_triples(box.upper)
    successor, value = layout.entry_successors(), np.zeros(layout.n_states)
    for x in range(layout.n_states - 2, -1, -1):
        costs = []
        for r in range(x * layout.n_actions, (x + 1) * layout.n_actions):
            entries = np.arange(layout.row_start[r], layout.row_start[r + 1])
            price = slope[entries] + value[successor[entries]]
            order = np.argsort(price)
            room = (high - low)[entries][order]
            left = 1.0 - low[entries].sum()
            more = np.clip(left - (np.cumsum(room) - room), 0.0, room)
            costs.append(float(low[entries] @ price + more @ price[order]))
        value[x] = min(costs)
    return float(q @ slope - value[0])
