"""Hints of the learners that need no rate: how they are chosen, and how functions are asked."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from advmdp.checks.numbers import whole_number
from advmdp.errors import InvalidInput
from advmdp.kernels.model.recent import Recent
from advmdp.layout import Floats, Layout
from advmdp.learners.adaptive.any_losses import NOWHERE
from advmdp.learners.feedback import FlatEpisode, check_losses
from advmdp.learners.mirror.asking import AskingLearner
from advmdp.learners.mirror.hints import AskedHint, checked_table, is_function, window_of
from advmdp.learners.tuning import checked_rate
from advmdp.steps.estimates import nothing_remembered

WINDOW = 1


class ChosenHint(NamedTuple):
    """What a learner was asked for: c, the last losses with their mean m, and a function."""

    weight: float
    recent: Recent
    asked: AskedHint | None


def chosen_hint(layout: Layout, weight: float | None, window: int, hint: Any) -> ChosenHint:
    """``hint`` is None, "last", a number n for the mean of the last n, a table, or a function.

    Without it ``window`` says of how many last losses m is the mean.
    """
    weight = (0.0 if hint is None else 1.0) if weight is None else weight
    weight = checked_rate(weight, "hint_weight", zero_allowed=True)
    window = whole_number(window, "hint_window", least=0)
    if hint is None:
        return ChosenHint(weight, _recent(layout, window if weight else 0), None)
    if window != WINDOW:
        raise InvalidInput("hint, hint_window: give one of them")
    if is_function(hint):
        asked = AskedHint(layout, hint, sees_all=True, any_losses=True)
        return ChosenHint(weight, _recent(layout, 0, asked.table()), asked)
    mean_of = window_of(hint)
    if mean_of is not None:
        return ChosenHint(weight, _recent(layout, mean_of), None)
    return ChosenHint(
        weight, _recent(layout, 0, checked_table(layout, hint, any_losses=True)), None
    )


def _recent(layout: Layout, n_episodes: int, mean: Floats | None = None) -> Recent:
    recent = nothing_remembered(layout, n_episodes, "hint_window")
    if mean is not None:
        recent.mean[:] = mean
    return recent


class AdaptiveHints(AskingLearner):
    """Learns from episodes that were played or seen, and asks for the hint of the next."""

    def update(self, feedback: Any) -> None:
        """Learn from one episode played with ``policy()``."""
        episode, losses = self._checked(feedback)
        self._hear_and_learn(episode, self._spread(episode), losses)

    def observe(self, losses: Any) -> None:
        """Learn from the losses of an episode that was not played: a pair table."""
        flat = check_losses(self.layout, losses, any_losses=True)
        episode = FlatEpisode(NOWHERE, NOWHERE, flat)
        self._hear_and_learn(episode, episode, (flat, flat))

    def hint_table(self) -> Any:
        """m_t of the coming episode, a pair table."""
        return self.layout.pairs(self._state.hint.mean.copy())

    def _hear_and_learn(
        self, seen: FlatEpisode, episode: FlatEpisode, losses: tuple[Floats, Floats]
    ) -> None:
        if self._asked is None:
            self._learn(episode, losses)
            return
        coming = np.zeros(self.layout.n_rows)
        with self._asked.learning_from(seen, coming):
            self._learn_and_turn(episode, losses, coming)

    def _learn_and_turn(
        self, episode: FlatEpisode, losses: tuple[Floats, Floats], coming: Floats
    ) -> None:
        """Learn from an episode that was played with m, and turn to m', the hint of the next."""
        raise NotImplementedError
