"""Rolling planners: the best policy for a forecast from the past, renewed after every episode."""

from __future__ import annotations

from typing import Any

import numpy as np

from advmdp.checks.numbers import whole_number
from advmdp.kernels.learners.planner import PlannerState, plan
from advmdp.kernels.model.transition import Transition
from advmdp.layout import Floats, Layout, Table
from advmdp.learners.adaptive.any_losses import PRIOR, AnyLossLearner, checked_forgetting
from advmdp.learners.tuning import checked_layout, checked_rate
from advmdp.steps.estimates import estimated_transition, known_transition, nothing_remembered

WINDOW, FORGETTING = 28, 0.9


class RollingPlanner(AnyLossLearner):
    """Plays the best policy for the forecast; before the first losses, every action alike."""

    _state: PlannerState

    def __init__(
        self, layout: Layout, transition: Transition, forgetting: float, window: int
    ) -> None:
        state = PlannerState(
            policy=np.full(layout.n_rows, 1.0 / layout.n_actions),
            transition=transition,
            forgetting=forgetting,
            recent=nothing_remembered(layout, window, "window"),
            clock=np.zeros(1, dtype=np.int64),
            costs=np.zeros(layout.n_rows),
            value=np.zeros(layout.n_states),
        )
        super().__init__(layout, state)

    @property
    def forecast(self) -> Table:
        """What the coming episode is planned for, up to a factor; a pair table."""
        return self.layout.pairs(self._state.recent.mean.copy())

    def _mean_losses(self) -> Floats | None:
        """The mean over the window; a fading sum is none, since its weights are not kept."""
        is_mean = len(self._state.recent.tables) > 0 and self.episodes > 0
        return self._state.recent.mean.copy() if is_mean else None

    def _plan(self) -> None:
        plan(self._graph, self._state)


class WindowPlanner(RollingPlanner):
    """Losses in any unit, full information, unknown transition; plan for the last n episodes.

    Plays argmin over pi of <q^{P^,pi}, mean of the last n losses>, with P^ the estimate
    (M + prior [best successor]) / (N + prior) from its own visits: what was never tried is
    imagined to go well.

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    window
        n, the number of episodes that are remembered.
    prior
        How many imagined visits count.

    Guarantee: none; against losses made for it the regret is linear.  It is what practitioners
    use, and where losses drift slowly it is hard to beat.  Cost of an episode: n additions for
    each pair and one pass over the triples.

    >>> from advmdp.learners.feedback import FullInformation
    >>> learner = WindowPlanner(Layout(layer_sizes=(1, 2, 1), n_actions=2), window=2)
    >>> for loss in (9.0, -1.0, -1.0):
    ...     table = [np.array([[loss, 0.0]]), np.zeros((2, 2))]
    ...     learner.update(FullInformation(states=[0, 1, 0], actions=[0, 1], losses=table))
    >>> learner.policy()[0], learner.forecast[0]
    (array([[1., 0.]]), array([[-1.,  0.]]))

    Reference: rolling-horizon planning with certainty equivalence, folklore.
    """

    def __init__(self, layout: Layout, window: int = WINDOW, prior: float = PRIOR) -> None:
        layout = checked_layout(layout)
        self.window = whole_number(window, "window")
        transition = estimated_transition(layout, checked_rate(prior, "prior"))
        super().__init__(layout, transition, 1.0, self.window)


class KnownWindowPlanner(RollingPlanner):
    """Losses in any unit, full information, known transition; plan for the last n episodes.

    ``WindowPlanner`` with P in the place of its estimate.

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    transitions
        The transition [P] to plan with, a triple table: the true one, or a data sheet's.
    window
        n, the number of episodes that are remembered.

    Guarantee: none.  Cost of an episode: as for ``WindowPlanner``.

    >>> P = [np.array([[[1.0, 0.0], [0.0, 1.0]]]), np.ones((2, 2, 1))]
    >>> learner = KnownWindowPlanner(Layout(layer_sizes=(1, 2, 1), n_actions=2), P, window=7)
    >>> learner.observe([np.zeros((1, 2)), np.array([[5.0, 5.0], [-5.0, -5.0]])])  # a history
    >>> learner.policy()[0]
    array([[0., 1.]])

    Reference: rolling-horizon planning, folklore.
    """

    def __init__(self, layout: Layout, transitions: Any, window: int = WINDOW) -> None:
        layout = checked_layout(layout)
        self.window = whole_number(window, "window")
        super().__init__(layout, known_transition(layout, transitions), 1.0, self.window)


class ExponentialPlanner(RollingPlanner):
    """Losses in any unit, full information, unknown transition; plan for a fading past.

    Plays argmin over pi of <q^{P^,pi}, sum over past episodes of g^age l>, with P^ as for
    ``WindowPlanner``; g = 1 is follow-the-leader.

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    forgetting
        g in (0, 1], what the past weighs less after every episode.
    prior
        How many imagined visits count.

    Guarantee: none; with g = 1 and losses drawn independently it is follow-the-leader.  Cost of an
    episode: one pass over the triples.

    >>> learner = ExponentialPlanner(Layout(layer_sizes=(1, 2, 1), n_actions=2), forgetting=0.5)
    >>> for loss in (3.0, -2.0):
    ...     learner.observe([np.array([[loss, 0.0]]), np.zeros((2, 2))])
    >>> learner.policy()[0], learner.forecast[0]
    (array([[1., 0.]]), array([[-0.5,  0. ]]))

    Reference: exponential smoothing with certainty equivalence, folklore.
    """

    def __init__(
        self, layout: Layout, forgetting: float = FORGETTING, prior: float = PRIOR
    ) -> None:
        layout = checked_layout(layout)
        self.forgetting = checked_forgetting(forgetting)
        transition = estimated_transition(layout, checked_rate(prior, "prior"))
        super().__init__(layout, transition, self.forgetting, 0)


class KnownExponentialPlanner(RollingPlanner):
    """Losses in any unit, full information, known transition; plan for a fading past.

    ``ExponentialPlanner`` with P in the place of its estimate.

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    transitions
        The transition [P] to plan with, a triple table: the true one, or a data sheet's.
    forgetting
        g in (0, 1], what the past weighs less after every episode.

    Guarantee: none.  Cost of an episode: one pass over the triples.

    >>> P = [np.array([[[1.0, 0.0], [0.0, 1.0]]]), np.ones((2, 2, 1))]
    >>> learner = KnownExponentialPlanner(Layout(layer_sizes=(1, 2, 1), n_actions=2), P)
    >>> learner.observe([np.zeros((1, 2)), np.array([[5.0, 5.0], [-5.0, -5.0]])])
    >>> learner.policy()[0]
    array([[0., 1.]])

    Reference: exponential smoothing, folklore.
    """

    def __init__(self, layout: Layout, transitions: Any, forgetting: float = FORGETTING) -> None:
        layout = checked_layout(layout)
        self.forgetting = checked_forgetting(forgetting)
        super().__init__(layout, known_transition(layout, transitions), self.forgetting, 0)
