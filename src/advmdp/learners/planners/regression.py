"""Planners for a forecast by regression: what the last episode says about the next one."""

from __future__ import annotations

from typing import Any

from advmdp.checks.numbers import whole_number
from advmdp.kernels.model.transition import Transition
from advmdp.layout import Layout
from advmdp.learners.adaptive.any_losses import PRIOR, checked_forgetting
from advmdp.learners.planners.autoregression import Autoregression
from advmdp.learners.planners.forecast import ForecastPlanner, checked_contexts
from advmdp.learners.planners.rolling import FORGETTING, RollingPlanner
from advmdp.learners.tuning import checked_layout, checked_rate
from advmdp.steps.estimates import estimated_transition, known_transition, nothing_remembered

REMEMBERED, PENALTY = 200, 1.0


class _Regression(ForecastPlanner):
    """What both versions share."""

    def __init__(
        self,
        layout: Layout,
        transition: Transition,
        n_contexts: int,
        forgetting: float,
        window: int,
        penalty: float,
    ) -> None:
        contexts = checked_contexts(n_contexts)
        self.forgetting = checked_forgetting(forgetting)
        self.window = whole_number(window, "window", least=3)
        self.penalty = checked_rate(penalty, "penalty")
        nothing_remembered(layout, self.window, "window")  # refuses too long ones
        losses = Autoregression(layout.n_rows, contexts, self.forgetting, self.window, self.penalty)
        super().__init__(RollingPlanner(layout, transition, 1.0, 0), losses, contexts)


class RegressionPlanner(_Regression):
    """Losses in any unit, full information, unknown transition; plan for a forecast.

    The forecast is the fading mean of the context, and a linear function of how the last episode
    surprised: ridge regression on the last n episodes, all pairs on all pairs
    (``learners/planners/autoregression.py``).  Where losses have inertia (wind, demand, queues) the
    end of the last episode says much about the beginning of the next.

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    n_contexts
        How many contexts ``enter`` tells apart.
    forgetting
        g in (0, 1], what the past weighs less in the means after every episode.
    window
        n, the number of episodes that the regression remembers.
    penalty
        Of the regression, in mean squares of a surprise.
    prior
        How many imagined visits count, see ``WindowPlanner``.

    Guarantee: none; in a ``Mixture`` it costs little where it is wrong.  Cost of an episode: n
    products for each pair, a system of n equations and a pass over the triples; not compiled as a
    whole.

    >>> import numpy as np
    >>> learner = RegressionPlanner(Layout(layer_sizes=(1, 2, 1), n_actions=2), window=20)
    >>> for t in range(40):                                    # what was dear becomes cheap
    ...     learner.observe([np.array([[(-1.0) ** t, 0.0]]), np.zeros((2, 2))])
    >>> learner.policy()[0], bool(learner.forecast[0][0, 0] > 0.5)
    (array([[0., 1.]]), True)

    Reference: ridge regression of a time series on its last value, folklore; its dual, Saunders,
    Gammerman, Vovk, "Ridge regression learning algorithm in dual variables", ICML 1998.
    """

    def __init__(
        self,
        layout: Layout,
        n_contexts: int = 1,
        forgetting: float = FORGETTING,
        window: int = REMEMBERED,
        penalty: float = PENALTY,
        prior: float = PRIOR,
    ) -> None:
        layout = checked_layout(layout)
        transition = estimated_transition(layout, checked_rate(prior, "prior"))
        super().__init__(layout, transition, n_contexts, forgetting, window, penalty)


class KnownRegressionPlanner(_Regression):
    """Losses in any unit, full information, known transition; plan for a forecast.

    ``RegressionPlanner`` with P in the place of its estimate.

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    transitions
        The transition [P] to plan with, a triple table: the true one, or a data sheet's.
    n_contexts, forgetting, window, penalty
        As for ``RegressionPlanner``.

    Guarantee: none.  Cost of an episode: as for ``RegressionPlanner``.

    >>> import numpy as np
    >>> P = [np.array([[[1.0, 0.0], [0.0, 1.0]]]), np.ones((2, 2, 1))]
    >>> learner = KnownRegressionPlanner(Layout(layer_sizes=(1, 2, 1), n_actions=2), P)
    >>> learner.observe([np.zeros((1, 2)), np.array([[5.0, 5.0], [-5.0, -5.0]])])
    >>> learner.policy()[0]
    array([[0., 1.]])

    Reference: as for ``RegressionPlanner``.
    """

    def __init__(
        self,
        layout: Layout,
        transitions: Any,
        n_contexts: int = 1,
        forgetting: float = FORGETTING,
        window: int = REMEMBERED,
        penalty: float = PENALTY,
    ) -> None:
        layout = checked_layout(layout)
        transition = known_transition(layout, transitions)
        super().__init__(layout, transition, n_contexts, forgetting, window, penalty)
