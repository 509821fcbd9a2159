"""The losses to go of a policy: under one transition, and over a set of transitions."""

from __future__ import annotations

import numpy as np

from advmdp.kernels.planning.linear_maximum import maximum_over_row, sort_layer
from advmdp.layout import Floats, Layout
from advmdp.steps.confidence import ConfidenceSet
from advmdp.steps.workspace import new_reach


def policy_values(layout: Layout, chance: Floats, policy: Floats, losses: Floats) -> Floats:
    """Q(x, a) = l(x, a) + sum_x' P(x' | x, a) V(x'), V(x) = sum_a pi(a | x) Q(x, a).

    ``chance`` is over entries, the others and the result are over rows.

    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=1)
    >>> chance, losses = np.array([0.25, 0.75, 1.0, 1.0]), np.array([1.0, 4.0, 8.0])
    >>> policy_values(layout, chance, np.ones(3), losses).tolist()
    [8.0, 4.0, 8.0]
    """
    value, q = np.zeros(layout.n_states), losses.copy()
    rows, successors = layout.entry_rows(), layout.entry_successors()
    for k in reversed(range(layout.n_layers)):
        here, entries = layout.layer_rows(k), layout.layer_entries(k)
        behind = chance[entries] * value[successors[entries]]
        q[here] += np.bincount(rows[entries] - here.start, behind, here.stop - here.start)
        _sum_actions(layout, k, policy, q, value)
    return q


def largest_policy_values(confidence: ConfidenceSet, policy: Floats, losses: Floats) -> Floats:
    """The same with the worst transition of a set in every row: max over the set of Q.

    Rows are chosen independently, so each is a linear maximum over its own set.
    """
    layout = confidence.layout
    graph, reach = layout.graph(), new_reach(layout)
    q, value = losses.copy(), np.zeros(layout.n_states)
    for k in reversed(range(layout.n_layers)):
        here, after = layout.layer_rows(k), _states(layout, k + 1)
        # The kernels expect values of at least zero; a constant comes out of every row as it is.
        least = float(value[after].min())
        reach.value[after] = value[after] - least
        sort_layer(graph, k + 1, reach)
        for r in range(here.start, here.stop):
            q[r] += least + maximum_over_row(graph, r, k, confidence.rows, reach)
        _sum_actions(layout, k, policy, q, value)
    return q


def least_policy_values(confidence: ConfidenceSet, policy: Floats, losses: Floats) -> Floats:
    """min over the set of Q: the largest of the negative losses, turned."""
    return 0.0 - largest_policy_values(confidence, policy, -losses)


def _sum_actions(layout: Layout, k: int, policy: Floats, q: Floats, value: Floats) -> None:
    """V of the states of layer k."""
    here = layout.layer_rows(k)
    products = (policy[here] * q[here]).reshape(-1, layout.n_actions)
    value[_states(layout, k)] = products.sum(axis=1)


def _states(layout: Layout, k: int) -> slice:
    return slice(int(layout.layer_start[k]), int(layout.layer_start[k + 1]))
