"""Learning from feedback that comes late: what ``play`` asks of every such learner."""

from __future__ import annotations

from typing import Any

from advmdp.checks.numbers import shown
from advmdp.errors import InvalidInput
from advmdp.kernels.accounting import late_episodes
from advmdp.kernels.accounting.late_episodes import (
    ARRIVED,
    DEPARTED,
    play_late_episodes,
    take_next,
)
from advmdp.kernels.accounting.ledger import Ledger
from advmdp.kernels.learners.late_feedback import (
    ADAPTED,
    OWN_TIME,
    TODAY,
    WAITING,
    LateEpisode,
)
from advmdp.learners.base import CompiledLoop, CountsEpisodes, TakesLateFeedback
from advmdp.learners.compiled import CompiledLearner
from advmdp.learners.feedback import FlatEpisode

READINGS = {"adapted": ADAPTED, "own-time": OWN_TIME, "today": TODAY, "wait": WAITING}
"""What divides a late loss, see ``advmdp.kernels.learners.late_feedback``."""


def checked_reading(late: Any) -> str:
    """The name of a reading."""
    if not isinstance(late, str) or late not in READINGS:
        raise InvalidInput(f"{shown(late)} is none of {', '.join(READINGS)}", field="late")
    return late


class LateFeedback(CompiledLearner, CountsEpisodes, TakesLateFeedback):
    """Takes feedback some episodes after its policy was played, in the order of the episodes.

    A learner of the kind implements ``_take_arrival``, and registers what its state does with late
    feedback (``advmdp.kernels.learners.late_feedback``).
    """

    late: str
    """What divides a late loss, one of ``READINGS``."""

    @property
    def keeps_policies(self) -> bool:
        """Whether the queue holds the whole policy of every episode, with its bounds."""
        return False

    @property
    def _reading(self) -> int:
        return READINGS[self.late]

    def _take_arrival(self, late: LateEpisode, ledger: Ledger | None) -> None:
        """Learn from one episode of the past, and account for it where there is a ledger."""
        raise NotImplementedError

    def _learn_late(self, late: LateEpisode, ledger: Ledger | None = None) -> None:
        """The same, unless a learner that waits has moved since the episode was played."""
        if self._reading != WAITING or late.learnt[0] == self.episodes:
            self._take_arrival(late, ledger)

    def _close_arrivals(self) -> None:
        """All that arrives before the next episode has arrived; most have nothing left to do."""

    # ------------------------------------------------------------------ for ``play``

    def depart(self, episode: int, ledger: Ledger, queue: Any) -> None:
        """Put the trajectory of the ledger into the queue, with what is fixed today."""
        played = FlatEpisode(ledger.states, ledger.path, ledger.path_losses)
        ledger = ledger._replace(path=self._spread(played).path)
        with self._one_thread:
            late_episodes.depart(self._graph, self._state, episode, ledger, queue.in_flight)

    def arrive(self, ledger: Ledger, queue: Any) -> None:
        """Learn from the next arrival, and account for it."""
        clock = queue.in_flight.clock
        with self._one_thread:
            take_next(queue.arrivals, queue.in_flight)
            self._learn_late(queue.in_flight.present, ledger)
            if clock[ARRIVED] == queue.arrivals.first[clock[DEPARTED]]:
                self._close_arrivals()

    def late_loop(self, queue: Any) -> CompiledLoop:
        """Whole episodes without leaving compiled code."""
        state = (self._state, self._reading, queue.arrivals, queue.in_flight)
        return CompiledLoop(play_late_episodes, state, self._finish)
