"""Policy optimisation as printed, on plain tables, line by line; every extreme by sorting.

Driven by given trajectories, so that fast learners can be compared with it episode by episode.
Weights are exponentials of plain sums: for runs of some hundred episodes.
"""

from __future__ import annotations

import numpy as np

from tests.reference.instances import box_from_counts
from tests.reference.plain_uob_reps import Counters, Episode
from tests.reference.tables import Array, Table


def extreme_row(f: Array, lower: Array, upper: Array, sign: int) -> float:
    """max (sign 1) or min (sign -1) of <p, f> over lower <= p <= upper, sum p = 1."""
    p = lower.copy()
    for i in np.argsort(-sign * f, kind="stable"):
        p[i] += min(upper[i] - lower[i], 1.0 - p.sum())
    return float(p @ f)


def extreme_layer(f: Array, lower: Array, upper: Array, sign: int) -> Array:
    """The same for all rows of a layer."""
    rows = [
        [extreme_row(f, *row, sign) for row in zip(*pair, strict=True)]
        for pair in zip(lower, upper, strict=True)
    ]
    return np.array(rows)


def state_bounds(policy: Table, lower: Table, upper: Table, sign: int) -> list[Array]:
    """The largest or least q(x) over the set, for the states of every layer: COMP-UOB."""
    bounds = [np.ones(1)]
    for k in range(1, len(policy)):
        found = []
        for x in range(len(policy[k])):
            f = np.eye(len(policy[k]))[x]
            for here in reversed(range(k)):
                f = (policy[here] * extreme_layer(f, lower[here], upper[here], sign)).sum(axis=1)
            found.append(f[0])
        bounds.append(np.array(found))
    return bounds


def softmax(score: Table, rates: Array) -> Table:
    """pi(a | x) proportional to e^{-rate score}."""
    weights = [
        np.exp(-rate * (layer - layer.min(axis=1, keepdims=True)))
        for rate, layer in zip(rates, score, strict=True)
    ]
    return [layer / layer.sum(axis=1, keepdims=True) for layer in weights]


class _Bandit:
    """Counters, the box set of the epoch, scores."""

    def __init__(
        self, sizes: tuple[int, ...], n_actions: int, eta: float, gamma: float, log_term: float
    ) -> None:
        self.eta, self.gamma, self.log_term = eta, gamma, log_term
        self.counters = Counters(sizes, n_actions)
        self.score = [np.zeros((n, n_actions)) for n in sizes[:-1]]

    @property
    def policy(self) -> Table:
        return softmax(self.score, np.full(len(self.score), self.eta))

    def bounds(self) -> tuple[Table, Table]:
        counters = self.counters
        return box_from_counts(counters.frozen_visits, counters.frozen_transitions, self.log_term)

    def upper(self) -> Table:
        """u(x, a)."""
        policy = self.policy
        most = state_bounds(policy, *self.bounds(), 1)
        return [share * of[:, None] for share, of in zip(policy, most, strict=True)]


class PlainDilated(_Bandit):
    """Luo, Wei, Lee (2021)."""

    def __init__(self, *parameters: object, bonus: float = 1.0) -> None:
        super().__init__(*parameters)  # type: ignore[arg-type]
        self.bonus = bonus

    def local_bonus(self) -> list[Array]:
        """b(x)."""
        policy, n_layers = self.policy, len(self.score)
        least = state_bounds(policy, *self.bounds(), -1)
        found = []
        for share, u, low in zip(policy, self.upper(), least, strict=True):
            l = share * low[:, None]  # noqa: E741
            worth = 3 * self.gamma * n_layers + n_layers * (u - l)
            found.append(self.bonus * (share * worth / (u + self.gamma)).sum(axis=1))
        return found

    def dilated_bonus(self) -> Table:
        """B(x, a)."""
        lower, upper = self.bounds()
        later, table = np.zeros(1), []
        for k, b in reversed(list(enumerate(self.local_bonus()))):
            most = extreme_layer(later, lower[k], upper[k], 1)
            table.append(b[:, None] + (1 + 1 / len(self.score)) * most)
            later = (self.policy[k] * table[-1]).sum(axis=1)
        return table[::-1]

    def update(self, episode: Episode) -> None:
        u, bonus = self.upper(), self.dilated_bonus()
        for k, (x, a) in enumerate(zip(episode.states, episode.actions, strict=False)):
            self.score[k][x, a] += sum(episode.losses[k:]) / (u[k][x, a] + self.gamma)
        self.score = [s - b for s, b in zip(self.score, bonus, strict=True)]
        self.counters.record(episode)


class PlainPOMD(_Bandit):
    """Shani, Efroni, Rosenberg, Mannor (2020)."""

    def update(self, episode: Episode) -> None:
        u, policy, (lower, upper) = self.upper(), self.policy, self.bounds()
        value = np.zeros(1)
        for k in reversed(range(len(policy))):
            cost = extreme_layer(value, lower[k], upper[k], -1)
            x, a = episode.states[k], episode.actions[k]
            cost[x, a] += episode.losses[k] / (u[k][x, a] + self.gamma)
            value = (policy[k] * cost).sum(axis=1)
            self.score[k] = self.score[k] + cost
        self.counters.record(episode)


class _Empirical:
    """Optimistic Q-values of an empirical model; ``width`` multiplies 1 / sqrt(N)."""

    def __init__(self, sizes: tuple[int, ...], n_actions: int, width: Array, prior: float) -> None:
        self.counters = Counters(sizes, n_actions)
        self.width, self.prior = width, prior
        self.score = [np.zeros((n, n_actions)) for n in sizes[:-1]]

    def learn(self, policy: Table, visits: Table, transitions: Table, losses: Table) -> None:
        value = np.zeros(1)
        for k in reversed(range(len(policy))):
            if transitions[k].shape[2] == 1:  # nothing to learn about
                cost = losses[k] + value[0]
            else:
                n = np.maximum(visits[k] + self.prior, 1.0)
                expected = (transitions[k] / n[:, :, None]) @ value
                cost = np.maximum(losses[k] + expected - self.width[k] / np.sqrt(n), 0.0)
            value = (policy[k] * cost).sum(axis=1)
            self.score[k] = self.score[k] + cost


class PlainOPPO(_Empirical):
    """Cai, Yang, Jin, Wang (2020), tabular: the counts of all episodes before."""

    def __init__(self, sizes: tuple[int, ...], n_actions: int, width: Array, eta: float) -> None:
        super().__init__(sizes, n_actions, width, 1.0)
        self.rates = np.full(len(sizes) - 1, eta)

    @property
    def policy(self) -> Table:
        return softmax(self.score, self.rates)

    def update(self, episode: Episode, losses: Table) -> None:
        counters = self.counters
        self.learn(self.policy, counters.visits, counters.transitions, losses)
        counters.record(episode)


class PlainAPOMVP(_Empirical):
    """Tiapkin, Chzhen, Stoltz (2025): the counts of the epoch, and a new start with each."""

    def __init__(self, sizes: tuple[int, ...], n_actions: int, width: Array, eta: float) -> None:
        super().__init__(sizes, n_actions, width, 0.0)
        self.rates = eta / np.arange(len(sizes) - 1, 0, -1)
        self.since = 0

    @property
    def policy(self) -> Table:
        return softmax(self.score, self.rates / np.sqrt(self.since + 1))

    def update(self, episode: Episode, losses: Table) -> None:
        counters = self.counters
        self.learn(self.policy, counters.frozen_visits, counters.frozen_transitions, losses)
        self.since += 1
        if counters.record(episode):
            self.score = [np.zeros_like(layer) for layer in self.score]
            self.since = 0
