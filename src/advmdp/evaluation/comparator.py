"""The best fixed policy in hindsight: what regret is measured against, Eq. (regdef)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from advmdp.kernels.model.flow import best_response, forward
from advmdp.layout import Floats, Table
from advmdp.world.mdp import LayeredMDP


@dataclass(frozen=True)
class Comparator:
    """A deterministic policy that minimises the total loss, and its occupancy q*."""

    policy: Table
    occupancy: Floats  # q*(x, a), flat
    loss: float  # <q*, total loss>


def best_fixed_policy(mdp: LayeredMDP, total_loss: Any) -> Comparator:
    """Backward induction on the cumulative loss under the true transition."""
    layout = mdp.layout
    graph = layout.graph()
    chance = np.array(mdp.flat)
    losses = layout.flat_pairs(total_loss, "total_loss")
    policy = np.zeros(layout.n_rows)
    values = np.zeros(layout.n_states)
    loss = best_response(graph, chance, losses, values, policy)
    forward(graph, chance, policy, values)
    occupancy = policy * np.repeat(values[:-1], layout.n_actions)
    return Comparator(layout.pairs(policy), occupancy, float(loss))
