"""Follow the perturbed optimistic policy on plain tables, with the bonuses handed in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tests.reference.plain_stochastic import Averages, cheapest_in_ball
from tests.reference.tables import Array, Table


class PlainFPOP:
    """Neu, Gyorgy and Szepesvari 2012: ``values`` are those of the policy to be played."""

    def __init__(
        self,
        sizes: tuple[int, ...],
        n_actions: int,
        *,
        support: list[NDArray[np.bool_]],
        log_term: float,
    ) -> None:
        self.support, self.log_term = support, log_term
        self.now = Averages(sizes, n_actions)
        self.frozen = Averages(sizes, n_actions)
        self.total = [np.zeros((n, n_actions)) for n in sizes[:-1]]
        self.epoch = 1

    def update(self, states: list[int], actions: list[int], losses: Array) -> None:
        flat = np.split(np.asarray(losses), np.cumsum([t.size for t in self.total])[:-1])
        self.total = [t + new.reshape(t.shape) for t, new in zip(self.total, flat, strict=True)]
        self.now.add(states, actions, np.zeros(len(actions)))
        doubled = any(
            (now >= np.maximum(1, 2 * before))[now > before].any()
            for now, before in zip(self.now.visits, self.frozen.visits, strict=True)
        )
        if doubled:
            self.epoch += 1
            self.frozen.visits = [n.copy() for n in self.now.visits]
            self.frozen.moves = [m.copy() for m in self.now.moves]

    def values(self, noise: Table) -> Table:
        """Q(x, a) = S - Y + min <p, V> over the balls of the epoch."""
        value, table = np.zeros(1), []
        for k in reversed(range(self.now.n_layers)):
            q = self.total[k] - noise[k]
            for x, a in np.ndindex(*q.shape):
                n, open_to = self.frozen.visits[k][x, a], self.support[k][x, a]
                if n == 0:
                    q[x, a] += value[open_to].min()
                else:
                    width = np.sqrt(2 * open_to.sum() * self.log_term / n)
                    centre = self.frozen.moves[k][x, a][open_to] / n
                    q[x, a] += cheapest_in_ball(value[open_to], centre, width)
            table.append(q)
            value = q.min(axis=1)
        return table[::-1]
