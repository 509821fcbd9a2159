"""The public class of ``lower_bounds_kernel``, and a learner over it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import advmdp as am
from advmdp.kernels.learners.mirror.mirror_descent import UPPER
from advmdp.kernels.model.row_status import BOUND, FREE
from advmdp.learners.mirror.mirror_descent import MirrorDescent
from advmdp.learners.tuning import width_log_term
from advmdp.steps.confidence import ConfidenceSet
from advmdp.steps.first_sets import with_known_rows
from tests.outside.lower_bounds_kernel import LowerRows


class LowerBounds(ConfidenceSet, rows=LowerRows):
    """Distributions with p >= lower."""

    def __init__(self, layout: am.Layout, lower: Any) -> None:
        low = layout.flat_triples(lower, "lower")
        total = np.add.reduceat(low, layout.row_start[:-1])
        free = (total == 0.0) | (layout.row_sizes() == 1)
        rows = LowerRows(np.where(free, FREE, BOUND).astype(np.uint8), low, 1.0 - total)
        self.layout, self.rows = layout, with_known_rows(layout, rows)

    @classmethod
    def everything(cls, layout: am.Layout) -> LowerBounds:
        return cls(layout, np.zeros(layout.n_entries))

    def _possible(self) -> NDArray[np.bool_]:
        slack = np.repeat(self.rows.slack > 0.0, self.layout.row_sizes())
        return np.asarray((self.rows.lower > 0.0) | slack)


class LowerBoundREPS(MirrorDescent):
    """UOB-REPS over lower bounds."""

    def __init__(
        self,
        layout: am.Layout,
        n_episodes: int,
        eta: float = 0.1,
        gamma: float = 0.05,
        log_scale: float = 1.0,
    ) -> None:
        super().__init__(
            layout,
            n_episodes,
            eta=eta,
            gamma=gamma,
            log_term=log_scale * width_log_term(layout, n_episodes, 0.1),
            estimator=UPPER,
            confidence=LowerBounds.everything(layout),
        )
