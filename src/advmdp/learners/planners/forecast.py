"""What planners for a forecast share: what is foreseen is learnt, then planned for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.numbers import whole_number
from advmdp.errors import InvalidInput
from advmdp.layout import Floats, Table
from advmdp.learners.adaptive.any_losses import NOWHERE
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
from advmdp.learners.planners.rolling import RollingPlanner
from advmdp.learners.saving.saveable import Saveable, Saved
from advmdp.one_thread import OneThread


class Forecast(Protocol):
    """Foresees the losses of the coming episode, pair by pair."""

    def learn(self, episode: int, context: int, losses: Floats) -> None: ...
    def coming(self, episode: int, context: int) -> Floats: ...
    def state(self) -> Saved: ...
    def check(self, saved: Saved) -> None: ...
    def restore(self, saved: Saved, episodes: int) -> None: ...


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

    def __init__(self, planner: RollingPlanner, losses: Forecast, n_contexts: int) -> None:
        self.layout = planner.layout
        self.n_contexts = n_contexts
        self._planner, self._losses = planner, losses
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
        self._losses.check(kept)
        self._planner.restore(
            {n.removeprefix("plan."): saved[n] for n in saved if n.startswith("plan.")}
        )
        self._losses.restore(kept, self.episodes)
        self._context = context
        self._losses.coming(self.episodes, context)  # before others go on with what is shared


def checked_contexts(n_contexts: int) -> int:
    """How many contexts ``enter`` tells apart."""
    number = whole_number(n_contexts, "n_contexts")
    if number > MOST_CONTEXTS:
        raise InvalidInput(f"{n_contexts} is above {MOST_CONTEXTS}", field="n_contexts")
    return number
