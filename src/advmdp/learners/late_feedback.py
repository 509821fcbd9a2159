"""Learning from feedback that comes late, for any learner of the mirror-descent family."""

from __future__ import annotations

from typing import Any

import numpy as np

from advmdp.errors import InvalidInput
from advmdp.kernels.accounting import late_episodes
from advmdp.kernels.accounting.late_episodes import play_late_episodes, take_next
from advmdp.kernels.accounting.ledger import Ledger
from advmdp.kernels.learners import interface
from advmdp.kernels.learners.mirror.late_feedback import (
    ADAPTED,
    OWN_TIME,
    TODAY,
    WAITING,
    LateEpisode,
    begin_late_update,
    is_dropped,
)
from advmdp.kernels.learners.mirror.mirror_descent import bound_visits
from advmdp.layout import Floats
from advmdp.learners.base import CompiledLoop, TakesLateFeedback
from advmdp.learners.episode_record import EpisodeRecord
from advmdp.learners.feedback import FlatEpisode
from advmdp.learners.mirror_descent import MirrorDescent
from advmdp.number_checks import shown

READINGS = {"adapted": ADAPTED, "own-time": OWN_TIME, "today": TODAY, "wait": WAITING}
"""What divides a late loss, see ``advmdp.kernels.learners.mirror.late_feedback``."""


def checked_reading(late: Any) -> str:
    """The name of a reading."""
    if not isinstance(late, str) or late not in READINGS:
        raise InvalidInput(f"{shown(late)} is none of {', '.join(READINGS)}", field="late")
    return late


class LateFeedback(MirrorDescent, TakesLateFeedback):
    """Takes feedback some episodes after its policy was played, one arrival after the other.

    Arrivals between two episodes are taken in the order of their episodes, each with a step of its
    own.  Over a known transition, and for leaders, these steps come to the one with the sum of the
    estimates: the multipliers of affine constraints add up.
    """

    late: str
    """What divides a late loss, one of ``READINGS``."""

    @property
    def _reading(self) -> int:
        return READINGS[self.late]

    def _learn_from_record(
        self, record: EpisodeRecord, episode: FlatEpisode, losses: tuple[Floats, Floats]
    ) -> None:
        """``update(feedback, record)``: the bounds of its own time are those of the record."""
        self._check_record(record)
        episode = self._spread(episode, record.fixed.policy)
        path = (episode.states, episode.path)
        with self._one_thread:
            bound_visits(self._graph, self._state, record.fixed, *path)
            visited = self._state.visited
            bounds = (visited.bound.copy(), visited.occupancy.copy())
            learnt = np.array([record.number - 1])
            self._learn_late(LateEpisode(*path, losses[0], *bounds, learnt))

    def _learn_late(self, late: LateEpisode) -> bool:
        """Whether the episode was learnt from; a learner that waits drops some."""
        if is_dropped(self._state, self._reading, late):
            return False
        pending = begin_late_update(self._graph, self._state, self._reading, late)
        if pending and not interface.solve_pending(self._graph, self._state, None):
            self._finish(late.states, late.path)
        else:
            interface.settle_update(self._graph, self._state)
        return True

    # ------------------------------------------------------------------ for ``play``

    def depart(self, episode: int, ledger: Ledger, queue: Any) -> None:
        """Put the trajectory of the ledger into the queue, with the bounds of its own time."""
        played = FlatEpisode(ledger.states, ledger.path, ledger.path_losses)
        ledger = ledger._replace(path=self._spread(played).path)
        with self._one_thread:
            late_episodes.depart(self._graph, self._state, episode, ledger, queue.in_flight)

    def arrive(self, ledger: Ledger, queue: Any) -> None:
        """Learn from the next arrival, and account for it."""
        late = queue.in_flight.present
        with self._one_thread:
            take_next(queue.arrivals, queue.in_flight)
            if self._learn_late(late):
                self._account_for_path(ledger, late.path)
                self._account_for_step(ledger)

    def late_loop(self, queue: Any) -> CompiledLoop:
        """Whole episodes without leaving compiled code."""
        state = (self._state, self._reading, queue.arrivals, queue.in_flight)
        return CompiledLoop(play_late_episodes, state, self._finish)
