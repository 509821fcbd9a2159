"""What the optimistic learners for stochastic losses show of themselves."""

from __future__ import annotations

import logging
from abc import ABC
from typing import Any

import numpy as np

from advmdp.checks.arguments import flag
from advmdp.kernels.model.empirical import Model
from advmdp.layout import Floats, Layout, Table
from advmdp.learners.compiled import BanditLearner
from advmdp.learners.pair_knowledge import PairKnowledge, empirical_chance

log = logging.getLogger(__name__)


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


def checked_stationary(stationary: Any, layout: Layout) -> bool:
    """Whether rows that share are learnt from together; a warning where none of them share.

    Not an error: files of such learners are loaded.
    """
    wanted = flag(stationary, "stationary")
    if wanted and layout.counter_row is None:
        log.warning(
            "stationary=True has no effect: no rows of the layout share; make it with pooled=True, "
            "or with shared_rows=..."
        )
    return wanted


def knowledge_of_model(layout: Layout, model: Model, q: Floats) -> PairKnowledge:
    """What learners with counters of pairs, triples and losses know."""
    visits = model.pairs.astype(np.float64)
    nothing = np.full(layout.n_rows, np.nan)
    means = np.divide(model.loss_sum, visits, out=nothing, where=visits > 0.0)
    chance = empirical_chance(layout, visits, model.triples.astype(np.float64))
    return PairKnowledge(
        visits=visits,
        estimated_loss=means,
        chance=chance,
        lower_value=q.copy(),
    )


def first_greedy_policy(layout: Layout) -> Floats:
    """Greedy while all values are 0: ties go to the first action."""
    first = np.zeros((layout.n_states - 1, layout.n_actions))
    first[:, 0] = 1.0
    return first.ravel()
