"""The value of optimistic planning, by its definition as a linear program."""

from __future__ import annotations

import numpy as np

from tests.reference.linear_programs import _maximum, _Triples, best_row, best_row_l1
from tests.reference.tables import Array, Table


def _cheapest(triples: _Triples, costs: Table, inequalities: Array) -> float:
    """min <q, costs> over occupancy measures q(x, a, x') that satisfy the inequalities."""
    extra = inequalities.shape[1] - triples.total
    forms, values = [], []
    for k in range(triples.n_layers):
        for x in range(triples.sizes[k]):
            form = np.zeros(triples.total + extra)
            form[triples.places[k][x].ravel()] = 1.0
            if k > 0:
                form[: triples.total] -= triples.inflow(k, x)
            forms.append(form)
            values.append(1.0 if k == 0 else 0.0)
    gain = np.zeros(triples.total + extra)
    for k, places in enumerate(triples.places):
        gain[places] = -costs[k][:, :, None]
    return -_maximum(
        gain,
        A_eq=np.array(forms),
        b_eq=values,
        A_ub=inequalities,
        b_ub=np.zeros(len(inequalities)),
    )


def optimistic_loss_lp(costs: Table, lower: Table, upper: Table) -> float:
    """min over policies and over transitions in the box of the expected total cost."""
    triples = _Triples(lower)
    return _cheapest(triples, costs, triples.box_inequalities(lower, upper))


def optimistic_loss_lp_l1(costs: Table, centre: Table, width: Table) -> float:
    """The same over the product of the L1 balls."""
    triples = _Triples(centre)
    return _cheapest(triples, costs, triples.l1_inequalities(centre, width))


def optimistic_values(costs: Table, lower: Table, upper: Table) -> Table:
    """Q of every pair, one linear program per row."""
    value, table = np.zeros(1), []
    for cost, low, high in zip(costs[::-1], lower[::-1], upper[::-1], strict=True):
        table.append(
            np.array(
                [
                    [c - best_row(-value, lo, hi) for c, lo, hi in zip(*rows, strict=True)]
                    for rows in zip(cost, low, high, strict=True)
                ]
            )
        )
        value = table[-1].min(axis=1)
    return table[::-1]


def optimistic_values_l1(costs: Table, centre: Table, width: Table) -> Table:
    """The same over L1 balls."""
    value, table = np.zeros(1), []
    for cost, middle, radius in zip(costs[::-1], centre[::-1], width[::-1], strict=True):
        table.append(
            np.array(
                [
                    [c - best_row_l1(-value, m, w) for c, m, w in zip(*rows, strict=True)]
                    for rows in zip(cost, middle, radius, strict=True)
                ]
            )
        )
        value = table[-1].min(axis=1)
    return table[::-1]
