"""Where mirror descent starts: the first set, and the table of which q_1 is the projection.

A table that is uniform over the triples of each layer (over the pairs, for a known transition) has
the largest entropy of all; its projection has the largest of the set.
"""

from __future__ import annotations

import numpy as np

from advmdp.kernels.kl.dual import Measure
from advmdp.kernels.model.flow import forward
from advmdp.kernels.model.visits import WEISSMAN
from advmdp.kernels.sets.rows import BALL, SIMPLEX, TransitionSet
from advmdp.layout import Layout
from advmdp.steps.confidence import KnownTransition
from advmdp.steps.workspace import all_transitions


def first_set(layout: Layout, shape: int, floor: float, least: float) -> TransitionSet:
    """Every transition function; for balls with their centre in the middle, shifted if wanted."""
    rows = all_transitions(layout)._replace(least=least)
    if shape == WEISSMAN:
        size = layout.row_sizes()
        rows.lower[:] = np.repeat(1.0 / size, size)
        rows.slack[:] = floor
        rows.width[:] = 2.0 * (1.0 - floor * size)
        rows.kind[:] = np.where((size > 1) & (floor > 0.0), BALL, SIMPLEX)
    return rows


def uniform_over_pairs(layout: Layout, known: KnownTransition) -> Measure:
    """Uniform over the pairs of each layer: not yet an occupancy measure, see the caller."""
    policy = np.full(layout.n_rows, 1.0 / layout.n_actions)
    sizes = layout.layer_sizes
    mass = np.repeat(1.0 / np.array(sizes), sizes)
    return Measure(known.rows.lower.copy(), policy, np.where(known.unreached(), 0.0, mass))


def uniform_over_triples(layout: Layout) -> Measure:
    """Uniform over the triples of each layer, 1 / (|X_k| |A| |X_{k+1}|): the printed q_1.

    With a declared support that does not conserve flow, see the caller.
    """
    size = layout.row_sizes()
    of_state = size.reshape(-1, layout.n_actions).sum(axis=1)
    of_layer = np.add.reduceat(of_state, layout.layer_start[: layout.n_layers])
    mass = np.ones(layout.n_states)
    mass[:-1] = of_state / np.repeat(of_layer, layout.layer_sizes[:-1])
    first = Measure(np.repeat(1.0 / size, size), size / np.repeat(of_state, layout.n_actions), mass)
    if layout.is_dense:  # the same, with the rounding of the flow that all later episodes have
        forward(layout.graph(), first.chance, first.policy, first.mass)
    return first
