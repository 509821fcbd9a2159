"""UOB-REPS as printed, one line of the pseudocode after the other, with slow exact parts.

It is driven by given trajectories, so that it can be compared with a fast learner episode by
episode.  Departures from the print: an unvisited pair keeps the whole simplex (see
``centre_and_width``), and the logarithm of Eq. (6) has a multiplier.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tests.reference.comp_uob import comp_uob
from tests.reference.instances import box_from_counts, centre_and_width
from tests.reference.reduced_dual import project_reduced
from tests.reference.tables import Array, Table, policy_of


@dataclass(frozen=True)
class Episode:
    """What one episode of the interaction showed."""

    states: list[int]
    actions: list[int]
    losses: list[float]


class Counters:
    """N, M and the doubling epochs; ``frozen_*`` are the values at the start of the epoch."""

    def __init__(self, sizes: tuple[int, ...], n_actions: int) -> None:
        pairs = list(pairwise(sizes))
        self.visits = [np.zeros((n, n_actions)) for n, _ in pairs]
        self.transitions = [np.zeros((n, n_actions, m)) for n, m in pairs]
        self.epoch = 1
        self._freeze()

    def _freeze(self) -> None:
        self.frozen_visits = [n.copy() for n in self.visits]
        self.frozen_transitions = [m.copy() for m in self.transitions]

    def record(self, *episodes: Episode) -> bool:
        """Count what was played; True when a visited pair doubled and a new epoch began."""
        doubled = False
        for episode in episodes:
            for k, (x, a) in enumerate(zip(episode.states, episode.actions, strict=False)):
                self.visits[k][x, a] += 1
                self.transitions[k][x, a, episode.states[k + 1]] += 1
                doubled |= bool(self.visits[k][x, a] >= max(1, 2 * self.frozen_visits[k][x, a]))
        if doubled:
            self.epoch += 1
            self._freeze()
        return doubled


class PlainUOBREPS:
    """The learner: ``policy``, ``occupancy``, ``epoch`` and ``update``."""

    def __init__(
        self,
        sizes: tuple[int, ...],
        n_actions: int,
        *,
        n_episodes: int,
        delta: float,
        eta: float,
        gamma: float,
        log_scale: float = 1.0,
    ) -> None:
        self.eta, self.gamma = eta, gamma
        self.log_term = log_scale * float(np.log(n_episodes * sum(sizes) * n_actions / delta))
        self.counters = Counters(sizes, n_actions)
        self.occupancy: Table = [np.full(m.shape, 1.0 / m.size) for m in self.counters.transitions]
        self.upper_occupancy_of_last = np.zeros(0)

    @property
    def epoch(self) -> int:
        return self.counters.epoch

    @property
    def policy(self) -> Table:
        """pi_t is induced by the occupancy measure of the episode to come."""
        return policy_of(self.occupancy)

    def bounds(self) -> tuple[Table, Table]:
        """The confidence set of the current epoch, from the frozen counters."""
        counters = self.counters
        return box_from_counts(counters.frozen_visits, counters.frozen_transitions, self.log_term)

    def upper_occupancy(self, episode: Episode) -> Array:
        """u_t on the visited pairs, with the set in force while the episode was played."""
        counters = self.counters
        centre, width = centre_and_width(
            counters.frozen_visits, counters.frozen_transitions, self.log_term
        )
        visited = zip(episode.states, episode.actions, strict=False)
        return np.array(
            [comp_uob(self.policy, k, x, a, centre, width) for k, (x, a) in enumerate(visited)]
        )

    def update(self, episode: Episode) -> None:
        u = self.upper_occupancy(episode)
        self.upper_occupancy_of_last = u
        weights = [layer.copy() for layer in self.occupancy]
        for k, (x, a) in enumerate(zip(episode.states, episode.actions, strict=False)):
            estimate = episode.losses[k] / (u[k] + self.gamma)
            weights[k][x, a] *= np.exp(-self.eta * estimate)
        self.counters.record(episode)
        # Eq. (7) projects on the set of the *next* episode, hence after the counters.
        lower, upper = self.bounds()
        self.occupancy = project_reduced(weights, lower, upper)


def random_episodes(
    seed: int, kernel: Table, n_episodes: int, most_loss: float = 1.0
) -> Iterable[Episode]:
    """Trajectories of a kernel under uniformly drawn actions, with uniform losses."""
    rng = np.random.default_rng(seed)
    n_actions = kernel[0].shape[1]
    for _ in range(n_episodes):
        states, actions = [0], []
        for layer in kernel:
            actions.append(int(rng.integers(n_actions)))
            states.append(int(rng.choice(layer.shape[2], p=layer[states[-1], actions[-1]])))
        losses = (most_loss * rng.random(len(actions))).tolist()
        yield Episode(states, actions, losses)
