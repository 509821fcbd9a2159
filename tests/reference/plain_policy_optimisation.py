"""Policy optimisation as printed, on plain tables, line by line; every extreme by sorting.

Driven by given trajectories, so that fast learners can be compared with it episode by episode.
Weights are exponentials of plain sums: for runs of some hundred episodes.
"""

from __future__ import annotations

from typing import NamedTuple

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

    def occupancy(self, sign: int) -> Table:
        """u(x, a) (sign 1) or l(x, a) (sign -1)."""
        policy = self.policy
        extreme = state_bounds(policy, *self.bounds(), sign)
        return [share * of[:, None] for share, of in zip(policy, extreme, strict=True)]

    def upper(self) -> Table:
        """u(x, a)."""
        return self.occupancy(1)


class PlainDilated(_Bandit):
    """Luo, Wei, Lee (2021)."""

    def __init__(self, *parameters: object, bonus: float = 1.0) -> None:
        super().__init__(*parameters)  # type: ignore[arg-type]
        self.bonus = bonus

    def local_bonus(self) -> list[Array]:
        """b(x)."""
        return self.bonus_of(self.policy, self.occupancy(1), self.occupancy(-1))

    def bonus_of(self, weights: Table, most: Table, least: Table) -> list[Array]:
        """b(x) of actions that are weighed like this."""
        n_layers, found = len(self.score), []
        for weight, u, low in zip(weights, most, least, strict=True):
            worth = 3 * self.gamma * n_layers + n_layers * (u - low)
            found.append(self.bonus * (weight * worth / (u + self.gamma)).sum(axis=1))
        return found

    def dilated_bonus(self, local: list[Array] | None = None) -> Table:
        """B(x, a)."""
        lower, upper = self.bounds()
        later, table = np.zeros(1), []
        for k, b in reversed(list(enumerate(self.local_bonus() if local is None else local))):
            most = extreme_layer(later, lower[k], upper[k], 1)
            table.append(b[:, None] + (1 + 1 / len(self.score)) * most)
            later = (self.policy[k] * table[-1]).sum(axis=1)
        return table[::-1]

    def observed(self, losses: list[float], k: int) -> float:
        """What is divided by u + gamma in layer k."""
        return sum(losses[k:])

    def update(self, episode: Episode) -> None:
        u, bonus = self.upper(), self.dilated_bonus()
        for k, (x, a) in enumerate(zip(episode.states, episode.actions, strict=False)):
            self.score[k][x, a] += self.observed(episode.losses, k) / (u[k][x, a] + self.gamma)
        self.score = [s - b for s, b in zip(self.score, bonus, strict=True)]
        self.counters.record(episode)


class PlainAggregate(PlainDilated):
    """Lancewicki, Mansour (2025): the sum of all losses, in a known transition if one is given."""

    def __init__(self, *parameters: object, known: Table | None = None) -> None:
        super().__init__(*parameters)
        self.known = known

    def bounds(self) -> tuple[Table, Table]:
        return super().bounds() if self.known is None else (self.known, self.known)

    def observed(self, losses: list[float], k: int) -> float:
        return sum(losses)


class Departure(NamedTuple):
    """What is fixed when an episode is played."""

    policy: Table
    most: Table
    least: Table


class PlainDAPO(PlainDilated):
    """Lancewicki, Rosenberg, Sotnikov (2023): arrivals with the tables of their own time."""

    def depart(self) -> Departure:
        return Departure(self.policy, self.occupancy(1), self.occupancy(-1))

    def arrive(self, arrivals: list[tuple[Departure, Episode]]) -> None:
        now, change = self.policy, [np.zeros_like(layer) for layer in self.score]
        for then, episode in arrivals:
            ratio = [a / np.maximum(a, b) for a, b in zip(then.policy, now, strict=True)]
            for k, (x, a) in enumerate(zip(episode.states, episode.actions, strict=False)):
                share = then.most[k][x, a] + self.gamma
                change[k][x, a] += ratio[k][x, a] * sum(episode.losses[k:]) / share
            weights = [a * b for a, b in zip(now, ratio, strict=True)]
            bonus = self.dilated_bonus(self.bonus_of(weights, then.most, then.least))
            change = [c - b for c, b in zip(change, bonus, strict=True)]
        self.score = [s + c for s, c in zip(self.score, change, strict=True)]
        self.counters.record(*(episode for _, episode in arrivals))


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
