"""Follow the regularised leader as printed: literal sums of losses, and a dense dual solver.

The solver works on plain tables with numpy's dense linear algebra and on costs as they are, where
the package shifts them and factors blocks; ``leader_conic`` hands the primal to a conic solver.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import cvxpy as cp
import numpy as np

from tests.reference.comp_uob import comp_uob
from tests.reference.conic import _solve_tightly
from tests.reference.instances import box_from_counts, centre_and_width
from tests.reference.plain_hedge import q_values
from tests.reference.plain_uob_reps import Counters, Episode
from tests.reference.tables import Array, Table, occupancy, pair_sums


def reached(chance: Table) -> list[Array]:
    """Of every layer but the last, the states that the uniform policy reaches."""
    uniform = [np.full(layer.shape[:2], 1.0 / layer.shape[1]) for layer in chance]
    return [pairs.sum(axis=1) > 0.0 for pairs in _pairs(chance, uniform)]


def _pairs(chance: Table, policy: Table) -> Table:
    """q(x, a) when rows may sum to less than one: the mass that goes in, not what comes out."""
    reach, found = np.ones(1), []
    for kernel, choice in zip(chance, policy, strict=True):
        found.append(reach[:, None] * choice)
        reach = np.einsum("xa,xay->y", found[-1], kernel)
    return found


def leader(cost: Table, chance: Table, w: float, barrier: Table) -> Table:
    """argmin <q, cost> - w sum sqrt(q) - sum barrier ln q, as a policy; dense damped Newton."""
    alive = reached(chance)
    places = [(k, x) for k, layer in enumerate(alive) for x in np.flatnonzero(layer)]
    number = {place: i for i, place in enumerate(places)}
    rows, costs, weights = [], [], []
    for k, x in places:
        for a in range(cost[k].shape[1]):
            row = np.zeros(len(places))
            for y, p in enumerate(chance[k][x, a]):
                if k + 1 < len(cost) and p > 0.0:
                    row[number[k + 1, y]] = p
            row[number[k, x]] -= 1.0
            rows.append(row)
            costs.append(cost[k][x, a])
            weights.append(barrier[k][x, a])
    matrix, c, b = np.array(rows), np.array(costs), np.array(weights)
    m = _maximise(matrix, c, w, b, _start(matrix, c, cost[0].shape[1], len(places)))
    policy = [np.full(layer.shape, 1.0 / layer.shape[1]) for layer in cost]
    for i, (k, x) in enumerate(places):
        mine = m[i * cost[0].shape[1] : (i + 1) * cost[0].shape[1]]
        policy[k][x] = mine / mine.sum()
    return policy


def _start(matrix: Array, c: Array, n_actions: int, n_states: int) -> Array:
    """v with all reduced costs at least one, last state first."""
    v = np.zeros(n_states)
    for i in reversed(range(n_states)):
        mine = slice(i * n_actions, (i + 1) * n_actions)
        v[i] = (c[mine] + matrix[mine] @ v).min() - 1.0
    return v


def _maximise(matrix: Array, c: Array, w: float, b: Array, v: Array) -> Array:
    """Maximise v_0 + sum of min m z + phi(m); returns the minimisers m."""

    def at(v: Array) -> tuple[float, Array, Array, Array]:
        z = c + matrix @ v
        if not z.min() > 0.0:
            return -np.inf, z, z, z
        s = 2.0 * z / (0.5 * w + np.sqrt(0.25 * w * w + 4.0 * b * z))
        value = v[0] + (z / s**2 - w / s + 2.0 * b * np.log(s)).sum()
        return float(value), 1.0 / s**2, 1.0 / (0.25 * w * s**3 + b * s**4), s

    value, m, bend, _ = at(v)
    for _ in range(500):
        gradient = matrix.T @ m
        gradient[0] += 1.0
        if np.abs(gradient).max() <= 1e-13:
            break
        direction = np.linalg.solve(matrix.T @ (bend[:, None] * matrix), gradient)
        step = 1.0
        while step > 1e-12:
            trial, *rest = at(v + step * direction)
            if trial >= value + 1e-4 * step * gradient @ direction - 1e-13 * (1 + abs(value)):
                break
            step *= 0.5
        else:
            break
        v, value, (m, bend, _) = v + step * direction, trial, rest
    return m


def leader_conic(
    cost: Table,
    chance: Table,
    w: float,
    barrier: Table,
    entropy: float,
    limited: Sequence[tuple[Table, float]] = (),
) -> float:
    """min <q, cost> - w sum sqrt(q) - sum barrier ln q + entropy sum (q ln q - q), by Clarabel.

    ``limited`` holds pairs (g, limit) with <g, q> <= limit.
    """
    spent = [0.0 for _ in limited]
    alive = reached(chance)
    objective, constraints, inflow = 0, [], np.ones(1)
    for k, layer in enumerate(cost):
        q = cp.Variable(layer.shape, nonneg=True)
        constraints.append(cp.sum(q, axis=1) == inflow)
        objective += cp.sum(cp.multiply(q, layer))
        spent = [s + cp.sum(cp.multiply(q, g[k])) for s, (g, _) in zip(spent, limited, strict=True)]
        for x in np.flatnonzero(alive[k]):
            if w > 0.0:
                objective -= w * cp.sum(cp.sqrt(q[x]))
            if barrier[k][x].max() > 0.0:
                objective -= cp.sum(cp.multiply(barrier[k][x], cp.log(q[x])))
            if entropy > 0.0:
                objective -= entropy * (cp.sum(cp.entr(q[x])) + cp.sum(q[x]))
        flat = chance[k].reshape(-1, chance[k].shape[2])
        inflow = flat.T @ cp.reshape(q, (q.size,), order="C")
    constraints += [s <= limit for s, (_, limit) in zip(spent, limited, strict=True)]
    problem = cp.Problem(cp.Minimize(objective), constraints)
    _solve_tightly(problem)
    return float(problem.value)


@dataclass
class PlainFTRL:
    """The four learners, one line of their pseudocode after the other.

    ``transitions`` is None when it is unknown; ``optimistic`` takes the lower bounds in place of
    the empirical transition; ``bonus`` multiplies B_i(x, a), ``adapt`` and ``learn`` are the rates
    of weights and predictions.
    """

    sizes: tuple[int, ...]
    n_actions: int
    transitions: Table | None
    rate: float
    barrier: float
    bonus: float = 0.0
    adapt: float = 0.0
    learn: float = 0.0
    log_term: float = 0.0
    optimistic: bool = False
    policy: Table = field(init=False)

    def __post_init__(self) -> None:
        self.counters = Counters(self.sizes, self.n_actions)
        self.prediction = [np.full(n.shape, 0.5 if self.learn else 0.0) for n in self._pairs()]
        self._open_epoch()

    def _pairs(self) -> Table:
        return self.counters.visits

    def _open_epoch(self) -> None:
        counters = self.counters
        self.age = 0
        self.total = [np.zeros(n.shape) for n in self._pairs()]
        self.weights = [np.full(n.shape, self.barrier) for n in self._pairs()]
        if self.transitions is not None:
            self.chance, self.bonuses = self.transitions, [0.0 * n for n in self._pairs()]
        else:
            counts = (counters.frozen_visits, counters.frozen_transitions, self.log_term)
            self.centre, self.width = centre_and_width(*counts)
            lower, _ = box_from_counts(*counts)
            self.chance = lower if self.optimistic else self.centre
            self.bonuses = [
                self.bonus * np.minimum(1.0, np.minimum(1.0, width).sum(axis=2))
                for width in self.width
            ]
            for k, layer in enumerate(self.chance):  # one successor: nothing to learn
                if layer.shape[2] == 1:
                    self.chance[k], self.bonuses[k] = np.ones_like(layer), 0.0 * self.bonuses[k]
        self._follow()

    def _follow(self) -> None:
        cost = [c + m for c, m in zip(self.total, self.prediction, strict=True)]
        weight = self.rate * np.sqrt(self.age + 1.0)
        self.policy = leader(cost, self.chance, weight, self.weights)

    def upper_occupancy(self, episode: Episode) -> Array:
        visited = list(enumerate(zip(episode.states, episode.actions, strict=False)))
        if self.transitions is not None:
            q = pair_sums(occupancy(self.transitions, self.policy))
            return np.array([q[k][x, a] for k, (x, a) in visited])
        return np.array(
            [comp_uob(self.policy, k, x, a, self.centre, self.width) for k, (x, a) in visited]
        )

    def update(self, episode: Episode) -> None:
        bounds = self.upper_occupancy(episode)
        if self.transitions is None and self.counters.record(episode):
            self._open_epoch()
            return
        self.age += 1
        excess = [np.zeros(n.shape) for n in self._pairs()]
        for k, (x, a) in enumerate(zip(episode.states, episode.actions, strict=False)):
            excess[k][x, a] = (episode.losses[k] - self.prediction[k][x, a]) / bounds[k]
        if self.adapt > 0.0:
            costs, values = q_values(self.chance, excess, self.policy)
            for k, q in enumerate(_pairs(self.chance, self.policy)):
                away = q * (costs[k] - values[k][:, None])
                self.weights[k] = self.weights[k] + self.adapt * away**2 / self.weights[k]
        for k, layer in enumerate(excess):
            self.total[k] = self.total[k] + self.prediction[k] + layer - self.bonuses[k]
        for k, (x, a) in enumerate(zip(episode.states, episode.actions, strict=False)):
            m = self.prediction[k]
            m[x, a] += self.learn * (episode.losses[k] - m[x, a])
        self._follow()
