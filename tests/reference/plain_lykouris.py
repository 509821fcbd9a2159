"""Levels of robustness on plain tables: the same recursion, written for one state at a time."""

from __future__ import annotations

import numpy as np

from tests.reference.plain_stochastic import Averages
from tests.reference.tables import Array, Table


class PlainLykouris:
    """``bounds[l]`` are (Q-, Q+) of level l; the level of each episode is told from outside."""

    def __init__(
        self, sizes: tuple[int, ...], n_actions: int, n_episodes: int, *, delta: float, scale: float
    ) -> None:
        self.sizes, self.n_actions, self.n_layers = sizes, n_actions, len(sizes) - 1
        n_levels = self.n_levels = int(np.ceil(np.log2(n_episodes)))
        self.log_term = np.log(2 * sum(sizes) * n_actions * n_levels * n_episodes / delta)
        self.scale = scale
        self.every = Averages(sizes, n_actions)
        self.own = {level: Averages(sizes, n_actions) for level in range(1, n_levels + 1)}
        shapes = [(n, n_actions) for n in sizes[:-1]]
        self.bounds: dict[int, tuple[Table, Table]] = {
            level: (
                [np.zeros(shape) for shape in shapes],
                [np.full(shape, float(self.n_layers - k)) for k, shape in enumerate(shapes)],
            )
            for level in self.own
        }

    def active(self, level: int, k: int, x: int) -> list[int]:
        left = list(range(self.n_actions))
        for above in range(self.n_levels, level - 1, -1):
            lower, upper = (bound[k][x] for bound in self.bounds[above])
            kept = [a for a in left if lower[a] <= min(upper[b] for b in left)]
            left = kept or left
        return left

    def plan(self, level: int) -> Table:
        """Renew the bounds of a level; its policy."""
        lower, upper = self.bounds[level]
        least = [np.zeros(n) for n in self.sizes]
        most = [np.zeros(n) for n in self.sizes]
        policy = [np.zeros((n, self.n_actions)) for n in self.sizes[:-1]]
        for k in reversed(range(self.n_layers)):
            to_go = self.n_layers - k
            for x in range(self.sizes[k]):
                for a in range(self.n_actions):
                    low, high = [0.0], [float(to_go)]
                    for past, allowed in ((self.own[level], 1.0), (self.every, 2.0**level)):
                        n = past.visits[k][x, a]
                        if n:
                            width = np.sqrt(2 * self.log_term / n) + 2 * allowed * self.log_term / n
                            width *= self.scale * to_go
                            row, loss = past.moves[k][x, a] / n, past.losses[k][x, a] / n
                            low.append(loss + row @ least[k + 1] - width)
                            high.append(loss + row @ most[k + 1] + width)
                    lower[k][x, a], upper[k][x, a] = max(low), min(high)
                left = self.active(level, k, x)
                choice = min(left, key=lambda a, k=k, x=x: lower[k][x, a])
                policy[k][x, choice] = 1.0
                least[k][x] = lower[k][x, choice]
                most[k][x] = min(upper[k][x, a] for a in left)
        return policy

    def update(self, level: int, states: list[int], actions: list[int], losses: Array) -> None:
        for past in (self.every, self.own[level]):
            past.add(states, actions, losses)
        self.plan(level)
