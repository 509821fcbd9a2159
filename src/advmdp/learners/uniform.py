"""The uniform policy: the baseline that never learns."""

from __future__ import annotations

import numpy as np

from advmdp.kernels.learners.uniform import FixedPolicy
from advmdp.layout import Layout
from advmdp.learners.compiled import BanditLearner
from advmdp.learners.tuning import checked_layout


class Uniform(BanditLearner):
    """Every action with the same probability, whatever happens; regret grows linearly.

    >>> Uniform(Layout(layer_sizes=(1, 2, 1), n_actions=4)).policy()[0]
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    def __init__(self, layout: Layout) -> None:
        layout = checked_layout(layout)
        super().__init__(layout, FixedPolicy(np.full(layout.n_rows, 1.0 / layout.n_actions)))
