"""What policy optimisation from bandit feedback shows of itself: its set, counts and bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.errors import InvalidInput
from advmdp.kernels.learners.policies.bandit_state import Believed, Weighed
from advmdp.kernels.model.visits import EPISODES, EPOCH, Visits
from advmdp.kernels.planning.columns import fill_columns
from advmdp.kernels.planning.occupancy_bounds import bounds_of_states
from advmdp.kernels.sets.interface import mean_width
from advmdp.layout import Floats, Layout, Table
from advmdp.learners.base import HasEpochs, HasEpochStarts, HasHorizon, HasWidth
from advmdp.learners.common_counts import CommonCounts, take_set
from advmdp.learners.compiled import BanditLearner
from advmdp.steps.confidence import ConfidenceSet


class BanditPolicyOptimisation(
    CommonCounts, BanditLearner, HasHorizon, HasEpochs, HasEpochStarts, HasWidth
):
    """A policy, the confidence set of the epoch, and occupancy bounds over it.

    A learner of the family makes a state with the parts ``belief`` and ``seen`` (see
    ``advmdp.kernels.learners.policies``).
    """

    def __init__(self, layout: Layout, n_episodes: int, state: Any) -> None:
        self.n_episodes = n_episodes
        self.log_term = state.belief.log_term
        super().__init__(layout, state)

    def update(self, feedback: Any) -> None:
        """Learn from one episode played with ``policy()``."""
        refuse_after_the_last(self.episodes, self.n_episodes)
        super().update(feedback)

    def _adopt(self, earlier: Any) -> None:
        """The set of the earlier counts with this learner's log term; the policy begins anew."""
        self._believe(earlier.belief.visits)

    @property
    def _visits(self) -> Visits:
        return self._belief.visits

    def _keep_visits(self, visits: Visits) -> None:
        self._state = self._state._replace(belief=self._belief._replace(visits=visits))

    def _count_on(self, counted: Visits) -> None:
        """The set becomes that of all visits; the policy and its scores stay.

        They were made of bounds over the sets of their own time, which still hold.
        """
        with self._one_thread:
            self._believe(counted)

    def _believe(self, counted: Visits) -> None:
        belief = self._belief
        sets = (belief.visits, belief.rows, belief.rows, counted)
        take_set(self._graph, *sets, belief.log_term)
        fill_columns(self._graph, belief.rows, belief.columns)

    # ------------------------------------------------------------------ what can be looked at

    @property
    def _belief(self) -> Believed:
        belief: Believed = self._state.belief
        return belief

    @property
    def episodes(self) -> int:
        """Episodes learnt from so far."""
        return int(self._belief.visits.clock[EPISODES])

    @property
    def epoch(self) -> int:
        """The epoch of the coming episode: 1, 2, ..."""
        return int(self._belief.visits.clock[EPOCH])

    @property
    def epoch_starts(self) -> NDArray[np.int64]:
        """For every epoch, the number of episodes before it."""
        return self._belief.visits.starts[: self.epoch].copy()

    @property
    def mean_width(self) -> float:
        """How much is left open: the mean over triples of upper - lower."""
        return float(mean_width(self._belief.rows))

    @property
    def visits(self) -> Table:
        """N(x, a), a pair table; of all rows that share, where some do."""
        return counted(self.layout, self._belief.visits)

    @property
    def upper_occupancy_of_last(self) -> Floats:
        """u_t(x_k, a_k) of the last update."""
        return self._seen.bound.copy()

    @property
    def estimate_of_last(self) -> Floats:
        """What the last update observed in the visited pairs, over u_t + gamma."""
        return self._seen.estimate.copy()

    @property
    def _seen(self) -> Weighed:
        seen: Weighed = self._state.seen
        return seen

    def confidence_set(self) -> ConfidenceSet:
        """A copy of the set of the coming episode."""
        return ConfidenceSet.of_rows(self.layout, self._belief.rows)

    def occupancy_bounds(self) -> tuple[Table, Table]:
        """u and l of the coming episode: q^{P, pi}(x, a) at most and at least, for P in the set."""
        belief, policy = self._belief, self._state.policy
        upper, lower = np.zeros((2, self.layout.n_states))
        work = (belief.columns, belief.fill, belief.reach)
        with self._one_thread:
            bounds_of_states(self._graph, policy, *work, upper, lower)
            share = policy.reshape(-1, self.layout.n_actions).copy()
        most, least = ((share * of[:-1, None]).ravel() for of in (upper, lower))
        return self.layout.pairs(most), self.layout.pairs(least)


def counted(layout: Layout, visits: Visits) -> Table:
    """N(x, a), a pair table."""
    return layout.pairs(visits.pairs[visits.counter].astype(np.float64))


def refuse_after_the_last(episodes: int, n_episodes: int) -> None:
    """Reject an episode beyond the horizon."""
    if episodes >= n_episodes:
        raise InvalidInput(
            f"update: all {n_episodes} episodes are played; make a learner with a larger n_episodes"
        )
