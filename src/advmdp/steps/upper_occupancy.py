"""Upper occupancy bounds u(x, a) = max over the set of q^{P,pi}(x, a), Eq. (UOB)."""

from __future__ import annotations

from typing import Any

import numpy as np

from advmdp.checks.arguments import instance
from advmdp.errors import InvalidInput
from advmdp.kernels.model.trajectory import ROUNDING, is_policy
from advmdp.kernels.planning.upper_occupancy import upper_occupancies
from advmdp.layout import Floats, Layout, Table
from advmdp.steps.confidence import ConfidenceSet
from advmdp.steps.workspace import new_reach


def checked_policy(layout: Layout, policy: Any) -> Floats:
    """A pair table of action probabilities as a flat vector."""
    flat = layout.gather_pairs(policy, "policy")
    if not is_policy(flat, layout.n_actions):
        layout.flat_pairs(flat, "policy")  # says where a value is not finite
        shares = flat.reshape(-1, layout.n_actions)
        wrong = (abs(shares.sum(axis=1) - 1.0) > ROUNDING) | (shares.min(axis=1) < 0.0)
        row = int(np.argmax(wrong)) * layout.n_actions
        place = layout.name_of_row(row).rsplit(",", 1)[0]
        raise InvalidInput(f"policy: {place} is not a distribution over actions; normalise it")
    if layout.stands_for is not None:
        missing = np.flatnonzero((flat > 0.0) & (layout.stands_for != np.arange(layout.n_rows)))
        if len(missing):
            state, action = divmod(int(missing[0]), layout.n_actions)
            place = layout.name_of_row(state * layout.n_actions).rsplit(",", 1)[0]
            raise InvalidInput(
                f"policy: {place} has no action {action}; give its probability to another"
            )
    return flat


def upper_occupancy(policy: Any, confidence: ConfidenceSet) -> Table:
    """COMP-UOB for every pair at once.

    >>> from advmdp.steps.confidence import AnyTransition
    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> uniform = [np.full((1, 2), 0.5), np.full((2, 2), 0.5)]
    >>> upper_occupancy(uniform, AnyTransition(layout))[1]  # some transition surely leads there
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    layout = instance(confidence, ConfidenceSet, "confidence").layout
    out = np.zeros(layout.n_rows)
    flat = checked_policy(layout, policy)
    upper_occupancies(layout.graph(), flat, confidence.rows, new_reach(layout), out)
    return layout.pairs(out)
