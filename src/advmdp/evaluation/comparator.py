"""The best fixed policy in hindsight: what regret is measured against, Eq. (regdef)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from advmdp.checks.arguments import instance
from advmdp.kernels.model.flow import best_response, forward
from advmdp.layout import Floats, Table
from advmdp.world.mdp import LayeredMDP


@dataclass(frozen=True)
class Comparator:
    """A deterministic policy that minimises the total loss, and its occupancy q*."""

    policy: Table
    """A pair table."""
    occupancy: Floats
    """q*(x, a), a flat vector over pairs."""
    loss: float
    """<q*, total loss>."""


def best_fixed_policy(mdp: LayeredMDP, total_loss: Any) -> Comparator:
    """The best policy for a table of losses, by backward induction under the true transition.

    With the sum of the losses of all episodes it is the best fixed policy in hindsight, what
    regret is measured against; with those of one episode, what foresight would have played.

    Parameters
    ----------
    mdp
        The layout and the transition.
    total_loss
        A pair table of finite numbers, in any unit and of any sign.

    >>> from advmdp.world.families import random_mdp
    >>> mdp = random_mdp((1, 2, 1), n_actions=2, seed=0)
    >>> best = best_fixed_policy(mdp, [[[5.0, 2.0]], [[1.0, -3.0], [0.0, -3.0]]])
    >>> best.loss, best.policy[1]
    (-1.0, array([[0., 1.],
           [0., 1.]]))
    """
    layout = instance(mdp, LayeredMDP, "mdp").layout
    graph = layout.graph()
    chance = np.array(mdp.flat)
    losses = layout.flat_pairs(total_loss, "total_loss", fill=True)
    policy = np.zeros(layout.n_rows)
    values = np.zeros(layout.n_states)
    loss = best_response(graph, chance, losses, values, policy)
    forward(graph, chance, policy, values)
    occupancy = policy * np.repeat(values[:-1], layout.n_actions)
    return Comparator(layout.pairs(policy), occupancy, float(loss))
