"""Occupancy measures and what they stand for (Section 2.1 and Lemma 1 of the paper)."""

from __future__ import annotations

from typing import Any

import numpy as np

from advmdp.checks.arguments import instance
from advmdp.errors import InvalidInput
from advmdp.kernels.model.flow import forward
from advmdp.kernels.model.graph import Graph
from advmdp.kernels.model.measure import Measure, join
from advmdp.layout import Floats, Layout, Table
from advmdp.steps.confidence import KnownTransition
from advmdp.steps.upper_occupancy import checked_policy


def occupancy_measure(transitions: Any, policy: Any, layout: Layout) -> Table:
    """q^{P,pi}(x, a, x'): the probability of each triple under a transition and a policy.

    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=1)
    >>> P = [np.array([[[0.25, 0.75]]]), np.ones((2, 1, 1))]
    >>> pi = [np.ones((1, 1)), np.ones((2, 1))]
    >>> occupancy_measure(P, pi, layout)[1].ravel()
    array([0.25, 0.75])
    """
    chance = KnownTransition(layout, transitions).rows.transition
    flat = checked_policy(layout, policy)
    mass = np.zeros(layout.n_states)
    forward(layout.graph(), chance, flat, mass)
    return joined(layout, layout.graph(), Measure(chance, flat, mass))


def joined(layout: Layout, graph: Graph, measure: Measure) -> Table:
    """q = mass * policy * chance, a new triple table from the parts of a measure."""
    entries = np.empty(layout.n_entries)
    join(graph, measure, entries)
    return layout.triples(entries)


def policy_of(occupancy: Any, layout: Layout) -> Table:
    """pi^q(a | x) = q(x, a) / q(x); uniform where q(x) = 0, where any choice is legal."""
    rows = np.add.reduceat(_non_negative(layout, occupancy), layout.row_start[:-1])
    by_state = rows.reshape(-1, layout.n_actions)
    total = by_state.sum(axis=1, keepdims=True)
    uniform = np.full_like(by_state, 1.0 / layout.n_actions)
    policy = np.divide(by_state, total, out=uniform, where=total > 0)
    return layout.pairs(policy.ravel())


def transition_of(occupancy: Any, layout: Layout) -> Table:
    """P^q(x' | x, a) = q(x, a, x') / q(x, a); uniform over the support where q(x, a) = 0."""
    flat = _non_negative(layout, occupancy)
    size = layout.row_sizes()
    total = np.repeat(np.add.reduceat(flat, layout.row_start[:-1]), size)
    uniform = np.repeat(1.0 / size, size)
    return layout.triples(np.divide(flat, total, out=uniform, where=total > 0))


def _non_negative(layout: Layout, occupancy: Any) -> Floats:
    flat = instance(layout, Layout, "layout").flat_triples(occupancy, "occupancy")
    if (flat < 0).any():
        row = int(layout.entry_rows()[np.flatnonzero(flat < 0)[0]])
        raise InvalidInput(f"occupancy: negative at {layout.name_of_row(row)}; use 0 or more")
    return flat
