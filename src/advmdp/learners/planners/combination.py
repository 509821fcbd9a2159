"""Planners for a combination of forecasts: means of all memories, and regressions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from advmdp.kernels.model.transition import Transition
from advmdp.layout import Layout
from advmdp.learners.adaptive.any_losses import PRIOR
from advmdp.learners.planners.autoregression import Autoregression
from advmdp.learners.planners.forecast import ForecastPlanner, checked_contexts
from advmdp.learners.planners.regression import PENALTY, REMEMBERED
from advmdp.learners.planners.rolling import RollingPlanner
from advmdp.learners.planners.stacking import Stacking
from advmdp.learners.tuning import checked_layout, checked_rate
from advmdp.steps.estimates import estimated_transition, known_transition, nothing_remembered

MEMORIES = (1.0, 0.99, 0.95, 0.9, 0.8, 0.6)
"""Memories of all, 100, 20, 10, 5 and 2.5 episodes."""

OF_REGRESSIONS = (0.9, 0.8)
"""Memories of the means that regressions begin with."""


class _Combination(ForecastPlanner):
    """What both versions share."""

    _losses: Stacking

    def __init__(self, layout: Layout, transition: Transition, n_contexts: int) -> None:
        contexts = checked_contexts(n_contexts)
        nothing_remembered(layout, REMEMBERED, "window")  # refuses too large layouts
        planner = RollingPlanner(layout, transition, 1.0, 0)
        regressions = [
            Autoregression(layout.n_rows, contexts, g, REMEMBERED, PENALTY) for g in OF_REGRESSIONS
        ]
        losses = Stacking(layout, planner._state.transition, MEMORIES, regressions, contexts)
        super().__init__(planner, losses, contexts)

    def share_regressions(self, planners: Iterable[ForecastPlanner]) -> None:
        """Planners with the same regressions, which see the same losses, use them with this one."""
        for planner in planners:
            for mine in self._losses.regressions:
                theirs = planner._losses
                if isinstance(theirs, Autoregression) and mine.equals(theirs):
                    planner._losses = mine


class CombinationPlanner(_Combination):
    """Losses in any unit, full information, unknown transition; plan for combined forecasts.

    The forecast combines the fading means with g = 1, 0.99, 0.95, 0.9, 0.8 and 0.6, of all
    episodes and of those of the context, and two regressions on the last episode
    (``RegressionPlanner``), by ridge regression of what came on what each had foreseen
    (``learners/planners/stacking.py``).  Nothing to choose.

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    n_contexts
        How many contexts ``enter`` tells apart.
    prior
        How many imagined visits count, see ``WindowPlanner``.

    Guarantee: none; in a ``Mixture`` it costs little where it is wrong.  Cost of an episode: that
    of two ``RegressionPlanner`` and of fifteen passes over the triples; not compiled as a whole.

    >>> import numpy as np
    >>> learner = CombinationPlanner(Layout(layer_sizes=(1, 2, 1), n_actions=2))
    >>> for t in range(40):                                    # what was dear becomes cheap
    ...     learner.observe([np.array([[(-1.0) ** t, 0.0]]), np.zeros((2, 2))])
    >>> learner.policy()[0], bool(learner.forecast[0][0, 0] > 0.5)
    (array([[0., 1.]]), True)

    Reference: Bates and Granger, "The combination of forecasts", Operational Research Quarterly
    20, 1969; by ridge regression, Breiman, "Stacked regressions", Machine Learning 24, 1996.
    """

    def __init__(self, layout: Layout, n_contexts: int = 1, prior: float = PRIOR) -> None:
        layout = checked_layout(layout)
        transition = estimated_transition(layout, checked_rate(prior, "prior"))
        super().__init__(layout, transition, n_contexts)


class KnownCombinationPlanner(_Combination):
    """Losses in any unit, full information, known transition; plan for combined forecasts.

    ``CombinationPlanner`` with P in the place of its estimate.

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    transitions
        The transition [P] to plan with, a triple table: the true one, or a data sheet's.
    n_contexts
        As for ``CombinationPlanner``.

    Guarantee: none.  Cost of an episode: as for ``CombinationPlanner``.

    >>> import numpy as np
    >>> P = [np.array([[[1.0, 0.0], [0.0, 1.0]]]), np.ones((2, 2, 1))]
    >>> learner = KnownCombinationPlanner(Layout(layer_sizes=(1, 2, 1), n_actions=2), P)
    >>> learner.observe([np.zeros((1, 2)), np.array([[5.0, 5.0], [-5.0, -5.0]])])
    >>> learner.policy()[0]
    array([[0., 1.]])

    Reference: as for ``CombinationPlanner``.
    """

    def __init__(self, layout: Layout, transitions: Any, n_contexts: int = 1) -> None:
        layout = checked_layout(layout)
        super().__init__(layout, known_transition(layout, transitions), n_contexts)
