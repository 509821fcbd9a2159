"""What learners for losses in any unit share: the transition they plan with, and history."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.numbers import real_number, shown
from advmdp.errors import InvalidInput
from advmdp.layout import Floats, Table
from advmdp.learners.base import (
    AcceptsAnyLosses,
    CountsEpisodes,
    CountsTransitions,
    Observes,
)
from advmdp.learners.compiled import FullInformationLearner
from advmdp.learners.feedback import FlatEpisode, check_losses
from advmdp.learners.pair_knowledge import PairKnowledge

NOWHERE = np.zeros(0, dtype=np.int64)
PRIOR = 10.0
"""Imagined visits of every pair; the best of 0.3, 1, 3, 10 and 30 on random worlds and on the
made-up series of the examples, with shared visits and without."""


class AnyLossLearner(
    FullInformationLearner, CountsEpisodes, AcceptsAnyLosses, Observes, CountsTransitions
):
    """Full information, losses in any unit and of any sign, a known or an estimated transition.

    The state has fields ``transition`` and ``clock``.
    """

    accepts_any_losses: ClassVar[bool] = True  # type: ignore[misc]

    @property
    def episodes(self) -> int:
        """Episodes learnt from so far, those of ``observe`` included."""
        return int(self._state.clock[0])

    @property
    def transition(self) -> Table:
        """The transition that the learner plans with, known or estimated, a triple table."""
        return self.layout.triples(self._state.transition.chance.copy())

    def pair_knowledge(self) -> PairKnowledge:
        """What it holds of every pair."""
        transition = self._state.transition
        visits = transition.pairs[transition.counter] if transition.estimated else None
        return PairKnowledge(
            visits=None if visits is None else visits.astype(np.float64),
            estimated_loss=self._mean_losses(),
            chance=transition.chance.copy(),
        )

    def _mean_losses(self) -> Floats | None:
        """What it expects a pair to cost in an episode."""
        return None

    def flat_policy(self) -> Floats:
        """``policy()`` as a flat vector over pairs, for mixtures of many learners."""
        with self._one_thread:
            found: Floats = self._state.policy.copy()
        return found

    def observe(self, losses: Any) -> None:
        """Learn from the losses of an episode that was not played: a pair table."""
        flat = check_losses(self.layout, losses, any_losses=True)
        self._learn(FlatEpisode(NOWHERE, NOWHERE, flat), (flat, flat))

    def transition_counts(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """N of pairs and M of triples, live; none where the transition is known."""
        return self._state.transition.pairs, self._state.transition.triples

    def expect_others(self, n_episodes: int) -> None:
        """There are no epochs that would need room."""

    def catch_up(self, latest: AnyLossLearner) -> None:
        """The estimate of all visits, and the policy for it."""
        if not np.array_equal(self.transition_counts()[0], latest.transition_counts()[0]):
            self._adopt(latest._state)

    def renew(self) -> None:
        """Find the policy anew for the transition as it is estimated now."""
        with self._one_thread:
            self._plan()

    def _plan(self) -> None:
        raise NotImplementedError

    def _adopt(self, earlier: Any) -> None:
        """The counts of an earlier learner."""
        mine, theirs = self._state.transition, earlier.transition
        mine.pairs[...], mine.triples[...] = theirs.pairs, theirs.triples
        self.renew()


def checked_forgetting(forgetting: float) -> float:
    """g, the weight that losses keep from an episode to the next: in (0, 1]."""
    number = real_number(forgetting, "forgetting")
    if not 0.0 < number <= 1.0:
        raise InvalidInput(f"{shown(forgetting)} is not in (0, 1]", field="forgetting")
    return number
