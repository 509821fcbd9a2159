"""The initial measure of mirror descent: what q_1 is the projection of.

A table that is uniform over the triples of each layer (over the pairs, where rows are known) has
the largest entropy of all; its projection has the largest of the set, and D(q* || q_1) is at most
the sum over layers of ln(triples of the layer) for every q* of the set: what Lemmas 12 and 13 need.
"""

from __future__ import annotations

import numpy as np

from advmdp.kernels.model.flow import forward
from advmdp.kernels.model.measure import Measure
from advmdp.kernels.model.row_status import KNOWN
from advmdp.kernels.sets.known import KnownRows
from advmdp.layout import Layout
from advmdp.steps.confidence import ConfidenceSet


def uniform_measure(layout: Layout, confidence: ConfidenceSet) -> Measure:
    """Uniform over the triples of each layer, a known row counting as one: the printed q_1.

    Every row gets a weight, the number of its possible triples or 1 if it is known.  With a
    declared support or known rows the measure does not conserve flow yet: it is projected.
    """
    rows = confidence.rows
    size = layout.row_sizes()
    everything = isinstance(rows, KnownRows)
    known = np.full(layout.n_rows, True) if everything else rows.status == KNOWN
    weight = np.where(known, 1, size)
    of_state = weight.reshape(-1, layout.n_actions).sum(axis=1)
    of_layer = np.add.reduceat(of_state, layout.layer_start[: layout.n_layers])
    mass = np.ones(layout.n_states)
    mass[:-1] = of_state / np.repeat(of_layer, layout.layer_sizes[:-1])
    chance = np.repeat(1.0 / size, size)
    if known.any():
        entries = np.repeat(known, size)
        chance[entries] = confidence.known_transition()[entries]
        mass[confidence.unreached()] = 0.0
    measure = Measure(chance, weight / np.repeat(of_state, layout.n_actions), mass)
    if is_balanced(layout, confidence):  # with the rounding that all later episodes have
        forward(layout.graph(), measure.chance, measure.policy, measure.mass)
    return measure


def is_balanced(layout: Layout, confidence: ConfidenceSet) -> bool:
    """Whether the uniform measure conserves flow as it is."""
    known = isinstance(confidence.rows, KnownRows) or (confidence.rows.status == KNOWN).any()
    return layout.is_dense and not known
