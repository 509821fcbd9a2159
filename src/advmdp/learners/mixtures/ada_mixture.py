"""Nothing to choose: a grid of memories, and forecasts, under one mixture."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from advmdp.checks.numbers import whole_number
from advmdp.layout import Layout
from advmdp.learners.adaptive.ada_ftrl import AdaFTRL, EstimatedAdaFTRL
from advmdp.learners.adaptive.any_losses import PRIOR
from advmdp.learners.adaptive.per_context import PerContext
from advmdp.learners.mixtures.mixture import Mixture
from advmdp.learners.planners.combination import (
    MEMORIES,
    OF_REGRESSIONS,
    CombinationPlanner,
    KnownCombinationPlanner,
)
from advmdp.learners.planners.forecast import ForecastPlanner
from advmdp.learners.planners.regression import KnownRegressionPlanner, RegressionPlanner
from advmdp.learners.tuning import checked_layout, checked_rate

COMBINED = "combined forecasts"
WARM_UP = 14
"""Episodes before experts are weighed.  With votes as below, and none of the two, it was chosen on
made-up series and on some transforms of real ones, and judged on others (``examples/README.md``).
"""


def memories(make: Any, layout: Layout, n_contexts: int, **parameters: Any) -> dict[str, Any]:
    """``make`` with every g of the grid; with several contexts, once more one for each."""
    layout, n_contexts = checked_layout(layout), whole_number(n_contexts, "n_contexts")
    found = {f"g = {g:g}": make(layout=layout, forgetting=g, **parameters) for g in MEMORIES}
    if n_contexts > 1:
        found |= {
            f"g = {g:g}, by context": PerContext(
                make, layout, n_contexts, forgetting=g, **parameters
            )
            for g in MEMORIES
        }
    return found


def forecasts(make: Any, layout: Layout, n_contexts: int, **parameters: Any) -> dict[str, Any]:
    """Planners for a forecast by regression."""
    return {
        f"forecast, g = {g:g}": make(
            layout=layout, n_contexts=n_contexts, forgetting=g, **parameters
        )
        for g in OF_REGRESSIONS
    }


def votes_of(names: Iterable[str]) -> dict[str, int]:
    """Both forecasts as many as all memories, and their combination as many as all others.

    A prior, in other words: one that already combines what all others foresee has half of it.

    >>> votes_of(["g = 1", "forecast, g = 0.9", "combined forecasts"])
    {'forecast, g = 0.9': 3, 'combined forecasts': 4}
    """
    of_forecast = len(MEMORIES) // len(OF_REGRESSIONS)
    votes = {name: of_forecast if "forecast, " in name else 1 for name in names}
    combined = [name for name in votes if COMBINED in name]
    others = sum(n for name, n in votes.items() if name not in combined)
    found = {name: n for name, n in votes.items() if n > 1}
    return found | dict.fromkeys(combined, max(others, 1))


def experts_of(
    memory: Any, planner: Any, combination: Any, layout: Layout, n_contexts: int, **known: Any
) -> dict[str, Any]:
    """Memories, planners for a forecast, and one for all forecasts together."""
    found = forecasts(planner, layout, n_contexts, **known)
    combined = combination(layout=layout, n_contexts=n_contexts, **known)
    return memories(memory, layout, n_contexts, **known) | found | {COMBINED: combined}


def learning_together(experts: dict[str, Any]) -> dict[str, Any]:
    """Experts that see every episode together; only such may share regressions."""
    planners = [each for each in experts.values() if isinstance(each, ForecastPlanner)]
    combined = next(name for name in experts if COMBINED in name)
    experts[combined].share_regressions(planners)
    return experts


class AdaMixture(Mixture):
    """Adversarial losses in any unit, full information, known transition; nothing to choose.

    A ``Mixture`` of ``AdaFTRL`` with g = 1, 0.99, 0.95, 0.9, 0.8 and 0.6: from the best fixed
    policy to the last few episodes.  With several contexts there are six more, with an iterate for
    each context.  Beside them are two planners for a forecast by regression
    (``KnownRegressionPlanner``), for losses in which the last episode says much about the next,
    and one for all these forecasts combined (``KnownCombinationPlanner``).  A planner for a
    forecast has three votes, that for all combined half of all; experts are weighed after 14
    episodes.

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
    since the warm-up is at most the bound to the learner with g = 1 plus 2 G of that one, and the
    warm-up adds what 14 episodes can cost.  Cost of an episode: six or twelve times that of
    ``AdaFTRL`` and a ``KnownCombinationPlanner``, not compiled as a whole.

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
        makers = AdaFTRL, KnownRegressionPlanner, KnownCombinationPlanner
        experts = learning_together(
            experts_of(*makers, layout, n_contexts, transitions=transitions)
        )
        super().__init__(
            layout, experts, transitions, rule, votes=votes_of(experts), warm_up=WARM_UP
        )


class EstimatedAdaMixture(Mixture):
    """Adversarial losses in any unit, full information, unknown transition; nothing to choose.

    ``AdaMixture`` of ``EstimatedAdaFTRL``, ``RegressionPlanner`` and ``CombinationPlanner``; the
    experts are weighed with the estimate as well.

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
        makers = EstimatedAdaFTRL, RegressionPlanner, CombinationPlanner
        experts = learning_together(experts_of(*makers, layout, n_contexts, prior=prior))
        super().__init__(layout, experts, None, rule, votes=votes_of(experts), warm_up=WARM_UP)
