"""The learners with one adviser per state, as printed, on plain tables and with plain products.

Weights are multiplied as in the formulas, so long runs would underflow: these are for some hundred
episodes.  Also the value functions and the loss sequences that several tests share.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.reference.plain_uob_reps import Episode
from tests.reference.tables import Array, Table, occupancy, pair_sums


def uniform_policy(transitions: Table) -> Table:
    return [np.full(layer.shape[:2], 1.0 / layer.shape[1]) for layer in transitions]


def q_values(transitions: Table, losses: Table, policy: Table) -> tuple[Table, list[Array]]:
    """Q(x, a) and V(x) of a policy, from the last layer back; V has one more layer than Q."""
    values, costs = [np.zeros(1)], []
    for chance, loss, choice in reversed(list(zip(transitions, losses, policy, strict=True))):
        costs.append(loss + chance @ values[-1])
        values.append((choice * costs[-1]).sum(axis=1))
    return costs[::-1], values[::-1]


def masses(transitions: Table, policy: Table) -> list[Array]:
    """q(x) of every layer but the last."""
    return [pairs.sum(axis=1) for pairs in pair_sums(occupancy(transitions, policy))]


def best_policy(transitions: Table, losses: Table) -> Table:
    """A deterministic policy of least expected loss, by backward induction."""
    value, choices = np.zeros(1), []
    for chance, loss in reversed(list(zip(transitions, losses, strict=True))):
        cost = loss + chance @ value
        choices.append(np.eye(loss.shape[1])[cost.argmin(axis=1)])
        value = cost.min(axis=1)
    return choices[::-1]


class PlainMDPE:
    """Hedge per state on exact Q-values."""

    def __init__(self, transitions: Table, n_episodes: int, eta_scale: float = 1.0) -> None:
        self.transitions = transitions
        self.policy = uniform_policy(transitions)
        n_layers, n_actions = len(transitions), transitions[0].shape[1]
        eta = eta_scale * np.sqrt(8 * np.log(n_actions) / n_episodes)
        self.rates = [eta / (n_layers - k) for k in range(n_layers)]

    def update(self, losses: Table) -> None:
        costs, _ = q_values(self.transitions, losses, self.policy)
        for k, cost in enumerate(costs):
            weights = self.policy[k] * np.exp(-self.rates[k] * cost)
            self.policy[k] = weights / weights.sum(axis=1, keepdims=True)


class PlainNGS:
    """Exponential weights per state on estimated Q-values."""

    def __init__(
        self, transitions: Table, n_episodes: int, alpha: float, gamma: float, eta_scale: float
    ) -> None:
        self.transitions, self.gamma = transitions, gamma
        self.policy = uniform_policy(transitions)
        self.weights = [np.ones_like(layer) for layer in self.policy]
        n_layers, n_actions = len(transitions), transitions[0].shape[1]
        self.eta = np.sqrt(alpha * np.log(n_actions) / (n_episodes * n_actions)) / n_layers
        self.eta *= eta_scale

    def estimate(self, episode: Episode) -> Table:
        reach = masses(self.transitions, self.policy)
        estimate = [np.zeros_like(layer) for layer in self.policy]
        for k, (x, a) in enumerate(zip(episode.states, episode.actions, strict=False)):
            estimate[k][x, a] = episode.losses[k] / (reach[k][x] * self.policy[k][x, a])
        return estimate

    def update(self, episode: Episode) -> None:
        costs, _ = q_values(self.transitions, self.estimate(episode), self.policy)
        for k, cost in enumerate(costs):
            self.weights[k] *= np.exp(-self.eta * cost)
            share = self.weights[k] / self.weights[k].sum(axis=1, keepdims=True)
            self.policy[k] = (1 - self.gamma) * share + self.gamma / cost.shape[1]


class PlainExp3IX:
    """A bandit per state, fed with the scaled loss-to-go."""

    def __init__(self, sizes: tuple[int, ...], n_actions: int, eta: float, gamma: float) -> None:
        self.eta, self.gamma = eta, gamma
        self.weights = [np.ones((n, n_actions)) for n in sizes[:-1]]

    @property
    def policy(self) -> Table:
        return [layer / layer.sum(axis=1, keepdims=True) for layer in self.weights]

    def update(self, episode: Episode) -> None:
        policy, n_layers = self.policy, len(self.weights)
        for k, (x, a) in enumerate(zip(episode.states, episode.actions, strict=False)):
            togo = sum(episode.losses[k:]) / (n_layers - k)
            self.weights[k][x, a] *= np.exp(-self.eta * togo / (policy[k][x, a] + self.gamma))


def _draw(rng: np.random.Generator, chances: Array) -> int:
    """A place of positive probability; much faster than rng.choice."""
    sums = chances.cumsum()
    return int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))


def sample_path(
    rng: np.random.Generator, transitions: Table, policy: Table
) -> tuple[list[int], list[int]]:
    """States and actions of one episode."""
    states, actions = [0], []
    for chance, choice in zip(transitions, policy, strict=True):
        actions.append(_draw(rng, choice[states[-1]]))
        states.append(_draw(rng, chance[states[-1], actions[-1]]))
    return states, actions


def sample_episode(
    rng: np.random.Generator, transitions: Table, policy: Table, losses: Table
) -> Episode:
    """One episode with the losses of its path."""
    states, actions = sample_path(rng, transitions, policy)
    return Episode(states, actions, [losses[k][states[k], a] for k, a in enumerate(actions)])


def random_losses(rng: np.random.Generator, transitions: Table, n_episodes: int) -> Iterator[Table]:
    """Independent uniform losses for every pair."""
    for _ in range(n_episodes):
        yield [rng.random(layer.shape[:2]) for layer in transitions]
