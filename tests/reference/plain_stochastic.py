"""UCBVI, optimistic Q-learning and UCRL2 as printed, in loss form, on plain tables.

No learner here draws anything: they are driven by trajectories and lay open their values, so that
a fast learner can be compared with them episode by episode.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

import advmdp as am
from tests.reference.tables import Array


class Averages:
    """N, M and the sums of losses over a list of episodes."""

    def __init__(self, sizes: tuple[int, ...], n_actions: int) -> None:
        self.sizes, self.n_actions = sizes, n_actions
        self.n_layers = len(sizes) - 1
        self.n_states = sum(sizes)
        self.visits = [np.zeros((n, n_actions)) for n in sizes[:-1]]
        self.moves = [np.zeros((n, n_actions, m)) for n, m in pairwise(sizes)]
        self.losses = [np.zeros((n, n_actions)) for n in sizes[:-1]]

    def add(self, states: list[int], actions: list[int], losses: Array) -> None:
        for k in range(self.n_layers):
            x, a = states[k], actions[k]
            self.visits[k][x, a] += 1
            self.moves[k][x, a, states[k + 1]] += 1
            self.losses[k][x, a] += losses[k]


class PooledAverages(Averages):
    """The same where every visit is written into all rows of its pool."""

    def __init__(self, layout: am.Layout) -> None:
        super().__init__(layout.layer_sizes, layout.n_actions)
        assert layout.counter_row is not None
        self.pools = layout.pairs(layout.counter_row.astype(np.float64))

    def add(self, states: list[int], actions: list[int], losses: Array) -> None:
        for k in range(self.n_layers):
            for j, pools in enumerate(self.pools):
                for x, a in np.argwhere(pools == self.pools[k][states[k], actions[k]]):
                    self.visits[j][x, a] += 1
                    self.moves[j][x, a, states[k + 1]] += 1
                    self.losses[j][x, a] += losses[k]


class PlainUCBVI:
    """Azar, Osband and Munos 2017: ``q`` and ``value`` after the last update."""

    def __init__(
        self,
        sizes: tuple[int, ...],
        n_actions: int,
        n_episodes: int,
        *,
        bernstein: bool,
        delta: float = 0.1,
        bonus_scale: float = 1.0,
        past: Averages | None = None,
    ) -> None:
        past = self.past = past or Averages(sizes, n_actions)
        self.arrivals = [np.zeros(n) for n in sizes]
        self.log_term = np.log(5 * past.n_states * n_actions * past.n_layers * n_episodes / delta)
        self.bernstein, self.scale = bernstein, bonus_scale
        self.q = [np.zeros((n, n_actions)) for n in sizes[:-1]]
        self.value = [np.zeros(n) for n in sizes]

    def bonus(self, k: int, x: int, a: int) -> float:
        past, log_term = self.past, self.log_term
        n, n_layers = past.visits[k][x, a], past.n_layers
        if not self.bernstein:
            return float(7 * n_layers * log_term / np.sqrt(n))
        p, v = past.moves[k][x, a] / n, self.value[k + 1]
        variance = p @ v**2 - (p @ v) ** 2
        seen = self.arrivals[k + 1]
        large = 100**2 * n_layers**3 * past.n_states**2 * past.n_actions * log_term**2
        later = np.minimum(large / np.maximum(seen, 1), n_layers**2)  # p is 0 where seen is 0
        return float(
            np.sqrt(8 * log_term * max(variance, 0.0) / n)
            + 14 * n_layers * log_term / (3 * n)
            + np.sqrt(8 / n * (p @ later))
            + np.sqrt(2 * log_term / n)
        )

    def update(self, states: list[int], actions: list[int], losses: Array) -> None:
        past = self.past
        past.add(states, actions, losses)
        for k, x in enumerate(states):
            self.arrivals[k][x] += 1
        for k in reversed(range(past.n_layers)):
            for x in range(past.sizes[k]):
                for a in range(past.n_actions):
                    n = past.visits[k][x, a]
                    if n > 0:
                        guess = past.losses[k][x, a] / n
                        guess += past.moves[k][x, a] / n @ self.value[k + 1]
                        guess -= self.scale * self.bonus(k, x, a)
                        self.q[k][x, a] = max(self.q[k][x, a], 0.0, guess)
                self.value[k][x] = self.q[k][x].min()


class PlainQLearning:
    """Jin, Allen-Zhu, Bubeck and Jordan 2018; ``c2`` makes it the Bernstein version.

    All values V(x') used at a pair are kept, and their variance is computed afresh.  ``alike``
    names the steps that learn from a step, by default itself.
    """

    def __init__(
        self,
        sizes: tuple[int, ...],
        n_actions: int,
        n_episodes: int,
        *,
        c: float,
        c2: float | None = None,
        delta: float = 0.1,
        alike: Callable[[int, int, int, int], list[tuple[int, int, int, int]]] | None = None,
    ) -> None:
        self.alike = alike or (lambda *step: [step])
        self.n_layers = len(sizes) - 1
        self.log_term = np.log(sum(sizes) * n_actions * self.n_layers * n_episodes / delta)
        self.c, self.c2 = c, c2
        self.lower_order = np.sqrt(self.n_layers**7 * max(sizes) * n_actions)
        self.q = [np.zeros((n, n_actions)) for n in sizes[:-1]]
        self.value = [np.zeros(n) for n in sizes]
        self.used: dict[tuple[int, int, int], list[float]] = {}

    def width(self, used: list[float]) -> float:
        n, h, log_term = len(used), self.n_layers, self.log_term
        if n == 0 or self.c2 is None:
            return 0.0
        fine = np.sqrt(h / n * (np.var(used) + h) * log_term) + self.lower_order * log_term / n
        return float(min(self.c * fine, self.c2 * np.sqrt(h**3 * log_term / n)))

    def update(self, states: list[int], actions: list[int], losses: Array) -> None:
        for k, (x, a) in enumerate(zip(states, actions, strict=False)):
            for step in self.alike(k, x, a, states[k + 1]):
                self.learn(*step, losses[k])

    def learn(self, k: int, x: int, a: int, following: int, loss: float) -> None:
        h = self.n_layers
        used = self.used.setdefault((k, x, a), [])
        before = self.width(used)
        used.append(float(self.value[k + 1][following]))
        n = len(used)
        alpha = (h + 1) / (h + n)
        bonus = self.c * np.sqrt(h**3 * self.log_term / n)
        if self.c2 is not None:
            bonus = (self.width(used) - (1 - alpha) * before) / (2 * alpha)
        self.q[k][x, a] *= 1 - alpha
        self.q[k][x, a] += alpha * (loss + used[-1] - bonus)
        self.value[k][x] = max(0.0, self.q[k][x].min())


def cheapest_in_ball(value: Array, centre: Array, width: float) -> float:
    """min <p, value> over distributions with |p - centre|_1 <= width, one state after the other."""
    p = centre.copy()
    best, *_ = np.argsort(value, kind="stable")
    p[best] = min(1.0, centre[best] + width / 2)
    for worst in np.argsort(-value, kind="stable"):
        surplus = p.sum() - 1.0
        if surplus > 0 and worst != best:
            p[worst] -= min(p[worst], surplus)
    return float(p @ value)


class PlainUCRL2:
    """Jaksch, Ortner and Auer 2010 on layers; ``window`` keeps the last episodes only.

    Every episode is kept, and all averages are taken afresh at the start of an epoch.
    """

    def __init__(
        self,
        sizes: tuple[int, ...],
        n_actions: int,
        *,
        support: list[NDArray[np.bool_]],
        window: int | None = None,
        delta: float = 0.1,
        loss_scale: float = 1.0,
        transition_scale: float = 1.0,
        empty: Callable[[], Averages] | None = None,
    ) -> None:
        self.sizes, self.n_actions, self.support = sizes, n_actions, support
        self.window, self.delta = window, delta
        self.loss_scale, self.transition_scale = loss_scale, transition_scale
        self.episodes: list[tuple[list[int], list[int], Array]] = []
        self.epoch = 1
        self.empty = empty or (lambda: Averages(sizes, n_actions))
        self.past, self.within = self.empty(), self.empty()
        self.q = [np.zeros((n, n_actions)) for n in sizes[:-1]]
        self.loss = 0.0

    def update(self, states: list[int], actions: list[int], losses: Array) -> None:
        self.episodes.append((states, actions, losses))
        self.within.add(states, actions, losses)
        over = any(
            (inside >= np.maximum(1, before)).any()
            for inside, before in zip(self.within.visits, self.past.visits, strict=True)
        )
        if self.window is not None:
            over = over or len(self.episodes) % self.window == 0
        if over:
            self.epoch += 1
            self.past, self.within = self.empty(), self.empty()
            for episode in self.episodes[-(self.window or len(self.episodes)) :]:
                self.past.add(*episode)
            self.plan()

    def plan(self) -> None:
        past, value = self.past, np.zeros(1)
        t = past.n_layers * len(self.episodes) + 1
        log_loss = np.log(2 * past.n_states * self.n_actions * t / self.delta)
        log_move = np.log(2 * self.n_actions * t / self.delta)
        for k in reversed(range(past.n_layers)):
            for x in range(self.sizes[k]):
                for a in range(self.n_actions):
                    n = past.visits[k][x, a]
                    open_to = self.support[k][x, a]
                    if n == 0:
                        self.q[k][x, a] = value[open_to].min()
                        continue
                    width = np.sqrt(14 * self.transition_scale * open_to.sum() * log_move / n)
                    cost = past.losses[k][x, a] / n
                    cost = max(0.0, cost - np.sqrt(7 * self.loss_scale * log_loss / (2 * n)))
                    centre = past.moves[k][x, a][open_to] / n
                    cost += cheapest_in_ball(value[open_to], centre, width)
                    self.q[k][x, a] = cost
            value = self.q[k].min(axis=1)
        self.loss = float(value[0])
