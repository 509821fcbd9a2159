"""What the optimistic learners for stochastic losses show of themselves."""

from __future__ import annotations

from abc import ABC

import numpy as np

from advmdp.layout import Floats, Layout, Table
from advmdp.learners.compiled import BanditLearner


class OptimisticLearner(BanditLearner, ABC):
    """Keeps lower bounds of losses to go (``q``, ``value``) and plays greedily with them."""

    @property
    def lower_values(self) -> Table:
        """Q, a pair table: with high probability no larger than the optimal Q."""
        return self.layout.pairs(self._state.q.copy())

    @property
    def optimistic_loss(self) -> float:
        """V(x_0): with high probability no larger than the expected loss of the best policy."""
        return float(self._state.value[0])


def first_greedy_policy(layout: Layout) -> Floats:
    """Greedy while all values are 0: ties go to the first action."""
    first = np.zeros((layout.n_states - 1, layout.n_actions))
    first[:, 0] = 1.0
    return first.ravel()
