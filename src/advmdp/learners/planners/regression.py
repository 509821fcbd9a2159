"""Planners for a forecast by regression: what the last episode says about the next one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.numbers import whole_number
from advmdp.errors import InvalidInput
from advmdp.kernels.model.transition import Transition
from advmdp.layout import Floats, Layout, Table
from advmdp.learners.adaptive.any_losses import NOWHERE, PRIOR, checked_forgetting
from advmdp.learners.adaptive.per_context import MOST_CONTEXTS
from advmdp.learners.base import (
    AcceptsAnyLosses,
    CountsEpisodes,
    DeclaresFeedback,
    HasLayout,
    Observes,
    Resumable,
    TakesContexts,
)
from advmdp.learners.feedback import FlatEpisode, check_full_information, check_losses
from advmdp.learners.pair_knowledge import PairKnowledge
from advmdp.learners.planners.autoregression import Autoregression, require_proper
from advmdp.learners.planners.rolling import FORGETTING, RollingPlanner
from advmdp.learners.saving.saveable import Saveable, Saved
from advmdp.learners.tuning import checked_layout, checked_rate
from advmdp.one_thread import OneThread
from advmdp.steps.estimates import estimated_transition, known_transition, nothing_remembered

REMEMBERED, PENALTY = 200, 1.0


class ForecastPlanner(
    Saveable,
    HasLayout,
    DeclaresFeedback,
    CountsEpisodes,
    AcceptsAnyLosses,
    Observes,
    TakesContexts,
    Resumable,
):
    """Plays the best policy for the forecast; before the first losses, every action alike."""

    feedback: Literal["full"] = "full"  # type: ignore[assignment]
    accepts_any_losses: Literal[True] = True  # type: ignore[assignment]

    def __init__(
        self,
        layout: Layout,
        transition: Transition,
        n_contexts: int,
        forgetting: float,
        window: int,
        penalty: float,
    ) -> None:
        self.layout = layout
        self.n_contexts = whole_number(n_contexts, "n_contexts")
        if self.n_contexts > MOST_CONTEXTS:
            raise InvalidInput(f"{n_contexts} is above {MOST_CONTEXTS}", field="n_contexts")
        self.forgetting = checked_forgetting(forgetting)
        self.window = whole_number(window, "window", least=3)
        self.penalty = checked_rate(penalty, "penalty")
        nothing_remembered(layout, self.window, "window")  # refuses too long ones
        self._losses = Autoregression(
            layout.n_rows, self.n_contexts, self.forgetting, self.window, self.penalty
        )
        self._planner = RollingPlanner(layout, transition, 1.0, 0)
        self._context = 0
        self._one_thread = OneThread("learner")

    # ------------------------------------------------------------------ the contract

    def policy(self) -> Table:
        """The policy of the coming episode, a pair table."""
        return self._planner.policy()

    def flat_policy(self) -> Floats:
        """``policy()`` as a flat vector over pairs, for mixtures of many learners."""
        return self._planner.flat_policy()

    def update(self, feedback: Any) -> None:
        """Learn from one episode played with ``policy()``."""
        episode = check_full_information(self.layout, feedback, any_losses=True)
        self._learn(self._planner._spread(episode), (episode.losses, episode.losses))

    def observe(self, losses: Any) -> None:
        """Learn from the losses of an episode that was not played: a pair table."""
        flat = check_losses(self.layout, losses, any_losses=True)
        self._learn(FlatEpisode(NOWHERE, NOWHERE, flat), (flat, flat))

    def _learn(self, episode: FlatEpisode, losses: tuple[Floats, Floats]) -> None:
        with self._one_thread:
            self._losses.learn(self.episodes, self._context, losses[1])
            self._planner._learn(episode, losses)
            self._plan()

    def enter(self, context: int) -> None:
        """The coming episodes are of this context."""
        number = whole_number(context, "context", least=0)
        if number >= self.n_contexts:
            raise InvalidInput(f"{context} is not in 0..{self.n_contexts - 1}", field="context")
        with self._one_thread:
            if number != self._context:
                self._context = number
                self._plan()

    def _plan(self) -> None:
        forecast = self._losses.coming(self.episodes, self._context)
        self._planner._state.recent.mean[:] = forecast
        self._planner.renew()

    # ------------------------------------------------------------------ what can be looked at

    @property
    def episodes(self) -> int:
        """Episodes learnt from so far, those of ``observe`` included."""
        return self._planner.episodes

    @property
    def forecast(self) -> Table:
        """What the coming episode is planned for, a pair table."""
        return self._planner.forecast

    @property
    def transition(self) -> Table:
        """The transition that it plans with, known or estimated, a triple table."""
        return self._planner.transition

    def pair_knowledge(self) -> PairKnowledge:
        """What it holds of every pair."""
        known = self._planner.pair_knowledge()
        expected = self._losses.coming(self.episodes, self._context) if self.episodes else None
        return known._replace(estimated_loss=expected)

    # ------------------------------------------------------------------ keeping

    def state(self) -> Saved:
        """A copy of everything the future depends on, as plain arrays."""
        with self._one_thread:
            found: Saved = {"context": np.array([self._context])}
            found |= {f"losses.{name}": array for name, array in self._losses.state().items()}
            found |= {f"plan.{name}": array for name, array in self._planner.state().items()}
        return found

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what ``state()`` returned, on a planner made with the same parameters."""
        mine = self.state()
        if set(saved) != set(mine) or any(
            saved[name].shape != array.shape or saved[name].dtype != array.dtype
            for name, array in mine.items()
        ):
            raise InvalidInput(
                "restore: the saved state has other parts or shapes; restore into a planner with "
                "the same layout and parameters"
            )
        context = int(saved["context"][0])
        if not 0 <= context < self.n_contexts:
            raise InvalidInput(f"restore: context {context} is not in 0..{self.n_contexts - 1}")
        kept = {n.removeprefix("losses."): saved[n] for n in saved if n.startswith("losses.")}
        require_proper(kept)
        self._planner.restore(
            {n.removeprefix("plan."): saved[n] for n in saved if n.startswith("plan.")}
        )
        self._losses.restore(kept)
        self._context = context


class RegressionPlanner(ForecastPlanner):
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


class KnownRegressionPlanner(ForecastPlanner):
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
