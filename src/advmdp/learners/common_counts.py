"""Learners of one world that count together: how one goes on with what another has counted.

Where an action leads does not depend on the losses, so what is seen in one context tells of all.
Two readings, by what a learner promises of its set:

``take_set``     the set becomes that of all visits, at once: for iterates and policies that can go
                 on with any set
``take_counts``  the counts alone; the set, or the estimate, stays that of the epoch until some
                 count has doubled: for learners that begin anew with every epoch
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.errors import InvalidInput, UncertifiedStep
from advmdp.kernels.model.graph import Graph
from advmdp.kernels.model.row_status import KNOWN
from advmdp.kernels.model.visits import CHANGED, EPISODES, EPOCH, Visits
from advmdp.kernels.sets.confidence import adopt_counts
from advmdp.learners.base import CountsTransitions
from advmdp.learners.compiled import CompiledLearner
from advmdp.learners.tuning import MAX_EPISODES
from advmdp.steps.first_sets import no_visits


class CommonCounts(CompiledLearner, CountsTransitions):
    """A learner whose state has a field ``visits``; it says what it does with more of them."""

    @property
    def _visits(self) -> Visits:
        visits: Visits = self._state.visits
        return visits

    def _keep_visits(self, visits: Visits) -> None:
        self._state = self._state._replace(visits=visits)

    def _count_on(self, counted: Visits) -> None:
        """Go on with these visits, of which some are new."""
        raise NotImplementedError

    def transition_counts(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """N of pairs and M of triples, live."""
        return self._visits.pairs, self._visits.triples

    def catch_up(self, latest: CommonCounts) -> None:
        """Go on with the visits that ``latest`` has counted, one's own among them."""
        if not np.array_equal(self._visits.pairs, latest._visits.pairs):
            self._count_on(latest._visits)

    def expect_others(self, n_episodes: int) -> None:
        """Room for the epochs that the visits of ``n_episodes`` in all can open."""
        if n_episodes >= MAX_EPISODES:
            raise InvalidInput(
                f"{n_episodes} episodes in all contexts are too many to count; use fewer",
                field="n_episodes",
            )
        starts = no_visits(self.layout, n_episodes).starts
        self._keep_visits(self._visits._replace(starts=starts))


def take_set(
    graph: Graph, visits: Visits, rows: Any, old: Any, latest: Visits, log_term: float
) -> None:
    """The counts of ``latest``, and the set that they give."""
    visits.marked[:] = 0
    visits.clock[CHANGED] = 0
    adopt_counts(graph, visits, rows, old, latest, log_term)


def take_counts(visits: Visits, latest: Visits, status: NDArray[np.uint8]) -> bool:
    """The counts of ``latest``; whether some count has doubled, and an epoch has to begin.

    Rows that are known (``status``) have nothing to learn and open none.
    """
    visits.pairs[:], visits.triples[:] = latest.pairs, latest.triples
    used = np.flatnonzero(visits.pairs > visits.opened)
    visits.marked[:] = 0
    visits.marked[used] = 1
    visits.changed[: len(used)] = used
    visits.clock[CHANGED] = len(used)
    learnt = visits.counter[status != KNOWN]
    doubled = visits.pairs[learnt] >= np.maximum(1, 2 * visits.opened[learnt])
    return bool(doubled.any())


@contextmanager
def taken_back_unless_certified(learner: Any) -> Iterator[None]:
    """Inside, the learner's iterate moves into the set of all visits, or nothing changes."""
    before = learner.state()
    try:
        with learner._one_thread:
            yield
    except UncertifiedStep:
        learner.restore(before)
        raise UncertifiedStep(
            "learner: no certified measure in the set of all visits; lower eta or raise gamma"
        ) from None


def number_epoch(visits: Visits) -> None:
    """A new epoch; the one before, if nothing was played in it, begins anew."""
    epoch, episodes = visits.clock[EPOCH], visits.clock[EPISODES]
    if visits.starts[epoch - 1] < episodes:
        visits.starts[epoch] = episodes
        visits.clock[EPOCH] = epoch + 1
