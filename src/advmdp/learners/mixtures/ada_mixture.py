"""Nothing to choose: a grid of memories, and forecasts, under one mixture."""

from __future__ import annotations

from typing import Any

from advmdp.checks.numbers import whole_number
from advmdp.layout import Layout
from advmdp.learners.adaptive.ada_ftrl import AdaFTRL, EstimatedAdaFTRL
from advmdp.learners.adaptive.any_losses import PRIOR
from advmdp.learners.adaptive.per_context import PerContext
from advmdp.learners.mixtures.mixture import Mixture
from advmdp.learners.planners.regression import KnownRegressionPlanner, RegressionPlanner
from advmdp.learners.tuning import checked_layout, checked_rate

GRID = (1.0, 0.99, 0.95, 0.9, 0.8, 0.6)
"""Memories of all, 100, 20, 10, 5 and 2.5 episodes."""

OF_FORECASTS = (0.9, 0.8)
"""Memories of the means that the planners for a forecast begin with."""


def memories(make: Any, layout: Layout, n_contexts: int, **parameters: Any) -> dict[str, Any]:
    """``make`` with every g of the grid; with several contexts, once more one for each."""
    layout, n_contexts = checked_layout(layout), whole_number(n_contexts, "n_contexts")
    found = {f"g = {g:g}": make(layout=layout, forgetting=g, **parameters) for g in GRID}
    if n_contexts > 1:
        found |= {
            f"g = {g:g}, by context": PerContext(
                make, layout, n_contexts, forgetting=g, **parameters
            )
            for g in GRID
        }
    return found


def forecasts(make: Any, layout: Layout, n_contexts: int, **parameters: Any) -> dict[str, Any]:
    """Planners for a forecast by regression."""
    return {
        f"forecast, g = {g:g}": make(
            layout=layout, n_contexts=n_contexts, forgetting=g, **parameters
        )
        for g in OF_FORECASTS
    }


class AdaMixture(Mixture):
    """Adversarial losses in any unit, full information, known transition; nothing to choose.

    A ``Mixture`` of ``AdaFTRL`` with g = 1, 0.99, 0.95, 0.9, 0.8 and 0.6: from the best fixed
    policy to the last few episodes.  With several contexts there are six more, with an iterate for
    each context.  Beside them are two planners for a forecast by regression
    (``KnownRegressionPlanner``), for losses in which the last episode says much about the next.

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    transitions
        The true transition [P], a triple table.
    n_contexts
        How many contexts ``enter`` tells apart.
    rule
        "adahedge", "fixed-share" or "squint".

    Guarantee: that of ``Mixture`` to each of them, and theirs to the best fixed policy: the regret
    is at most the bound to the learner with g = 1 plus 2 G of that one.  Cost of an episode: six or
    twelve times that of ``AdaFTRL`` and two planners, not compiled as a whole.

    >>> import numpy as np
    >>> P = [np.array([[[1.0, 0.0], [0.0, 1.0]]]), np.ones((2, 2, 1))]
    >>> learner = AdaMixture(Layout(layer_sizes=(1, 2, 1), n_actions=2), P)
    >>> for _ in range(3):
    ...     learner.observe([np.zeros((1, 2)), np.array([[50.0, 50.0], [-20.0, -20.0]])])
    >>> learner.policy()[0].round(2)
    array([[0., 1.]])

    Reference: ``AdaFTRL`` and ``Mixture``; a grid of rates under experts, van Erven and Koolen,
    "MetaGrad", NeurIPS 2016.
    """

    def __init__(
        self, layout: Layout, transitions: Any, n_contexts: int = 1, rule: str = "adahedge"
    ) -> None:
        experts = memories(AdaFTRL, layout, n_contexts, transitions=transitions)
        experts |= forecasts(KnownRegressionPlanner, layout, n_contexts, transitions=transitions)
        super().__init__(layout, experts, transitions, rule)


class EstimatedAdaMixture(Mixture):
    """Adversarial losses in any unit, full information, unknown transition; nothing to choose.

    ``AdaMixture`` of ``EstimatedAdaFTRL`` and ``RegressionPlanner``; the experts are weighed
    with the estimate as well.

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    n_contexts
        How many contexts ``enter`` tells apart.
    rule
        "adahedge", "fixed-share" or "squint".
    prior
        How many imagined visits count, see ``EstimatedAdaFTRL``.

    Guarantee: none is claimed for the regret, see ``EstimatedAdaFTRL``.  Cost of an episode: as
    for ``AdaMixture``.

    >>> import numpy as np
    >>> learner = EstimatedAdaMixture(Layout(layer_sizes=(1, 2, 1), n_actions=2))
    >>> for _ in range(3):
    ...     learner.observe([np.array([[3.0, -1.0]]), np.zeros((2, 2))])
    >>> learner.policy()[0].round(2)
    array([[0., 1.]])

    Reference: as for ``AdaMixture``.
    """

    def __init__(
        self, layout: Layout, n_contexts: int = 1, rule: str = "adahedge", prior: float = PRIOR
    ) -> None:
        checked_rate(prior, "prior")
        experts = memories(EstimatedAdaFTRL, layout, n_contexts, prior=prior)
        experts |= forecasts(RegressionPlanner, layout, n_contexts, prior=prior)
        super().__init__(layout, experts, None, rule)
