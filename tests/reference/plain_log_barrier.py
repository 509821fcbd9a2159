"""The log barrier on triples: a conic solver, and UOB-Log-Barrier as printed with it."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from tests.reference.comp_uob import comp_uob, comp_uob_table
from tests.reference.conic import _flat
from tests.reference.instances import box_from_counts, centre_and_width
from tests.reference.plain_uob_reps import Counters, Episode
from tests.reference.tables import Array, Table, policy_of


def barrier_conic(
    cost: Table,
    lower: Table,
    upper: Table,
    barrier: Table,
    divided_by: Table | None = None,
    root: float = 0.0,
    entropy: float = 0.0,
    limited: list[tuple[Table, float]] | None = None,
) -> Table:
    """argmin <q, cost> - sum barrier(x, a) ln q(x, a, x') over the measures of a box.

    With an ``upper`` of pair tables it is that of balls: their centres and widths.

    ``divided_by`` gives the solver the variables q / divided_by, which are of order one.
    With  -root sum sqrt(q) + entropy sum (q ln q - q)  added, and constraints
    (pair table g, limit): <g, q> <= limit.
    """
    spent: list[Any] = [0 for _ in limited or []]
    unit = [np.ones_like(c) for c in cost] if divided_by is None else divided_by
    parts, constraints, objective, inflow = [], [], 0, np.ones(1)
    for k, layer in enumerate(cost):
        scaled = cp.Variable(_flat(layer).shape)
        q = cp.multiply(_flat(unit[k]), scaled)
        mass = cp.sum(q, axis=1, keepdims=True) @ np.ones((1, layer.shape[2]))
        if upper[k].ndim == 2:
            distance = cp.sum(cp.abs(q - cp.multiply(_flat(lower[k]), mass)), axis=1)
            constraints.append(distance <= cp.multiply(upper[k].ravel(), mass[:, 0]))
            low = high = np.zeros_like(_flat(lower[k]))
        else:
            low, high = _flat(lower[k]), _flat(upper[k])
        for bound, sign in ((low, 1.0), (high, -1.0)):  # only those that can hold
            row, column = np.nonzero(((bound > 0.0) & (bound < 1.0)) & (layer.shape[2] > 1))
            if row.size:
                limit = cp.multiply(bound[row, column], mass[row, column])
                constraints.append(sign * (q[row, column] - limit) >= 0)
        outflow = cp.sum(cp.reshape(cp.sum(q, axis=1), layer.shape[:2], order="C"), axis=1)
        constraints.append(outflow == inflow)
        inflow = cp.sum(q, axis=0)
        weights = np.repeat(barrier[k].reshape(-1, 1), layer.shape[2], axis=1)
        objective += cp.sum(cp.multiply(q, _flat(layer)))
        for i, (table, _) in enumerate(limited or []):
            spent[i] += cp.sum(cp.multiply(cp.sum(q, axis=1), table[k].ravel()))
        if weights.max() > 0.0:
            objective -= cp.sum(cp.multiply(weights, cp.log(scaled)))
        if root > 0.0:
            objective -= root * cp.sum(cp.sqrt(q))
        if entropy > 0.0:
            objective -= entropy * cp.sum(cp.entr(q) + q)
        parts.append(scaled)
    constraints += [paid <= limit for paid, (_, limit) in zip(spent, limited or [], strict=True)]
    problem = cp.Problem(cp.Minimize(objective), constraints)
    problem.solve(solver=cp.CLARABEL)  # at its own tolerances: at tighter ones it may give up
    assert problem.status == "optimal", problem.status
    return [
        np.asarray(q.value).reshape(layer.shape) * layer_unit
        for q, layer, layer_unit in zip(parts, cost, unit, strict=True)
    ]


def objective_of(q: Table, cost: Table, barrier: Table) -> float:
    """<q, cost> - sum barrier ln q."""
    return float(
        sum(
            (a * c).sum() - (b[:, :, None] * np.log(a)).sum()
            for a, c, b in zip(q, cost, barrier, strict=True)
        )
    )


class PlainUOBLogBarrier:
    """The learner, line by line."""

    def __init__(
        self,
        sizes: tuple[int, ...],
        n_actions: int,
        eta: float,
        growth: float,
        log_term: float,
        ahead: float,
    ) -> None:
        self.growth, self.log_term, self.ahead = growth, log_term, ahead
        self.counters = Counters(sizes, n_actions)
        self.occupancy: Table = [np.full(m.shape, 1.0 / m.size) for m in self.counters.transitions]
        self.rate = [np.full(n.shape, eta) for n in self.counters.visits]
        self.limit = [np.full(n.shape, ahead * n.size) for n in self.counters.visits]

    @property
    def policy(self) -> Table:
        return policy_of(self.occupancy)

    def update(self, episode: Episode) -> Array:
        """One episode; returns u_t of the visited pairs."""
        counters = self.counters
        counts = (counters.frozen_visits, counters.frozen_transitions, self.log_term)
        centre, width = centre_and_width(*counts)
        everywhere = comp_uob_table(self.policy, centre, width)
        for k, u in enumerate(everywhere):
            rare = 1.0 / u >= self.limit[k]
            self.limit[k] = np.where(rare, self.ahead / u, self.limit[k])
            self.rate[k] = np.where(rare, self.growth * self.rate[k], self.rate[k])
        visited = list(enumerate(zip(episode.states, episode.actions, strict=False)))
        bounds = np.array([comp_uob(self.policy, k, x, a, centre, width) for k, (x, a) in visited])
        barrier = [1.0 / rate for rate in self.rate]
        cost = [b[:, :, None] / q for b, q in zip(barrier, self.occupancy, strict=True)]
        for k, (x, a) in visited:
            cost[k][x, a] += episode.losses[k] / bounds[k]
        counters.record(episode)
        counts = (counters.frozen_visits, counters.frozen_transitions, self.log_term)
        self.occupancy = barrier_conic(cost, *box_from_counts(*counts), barrier, self.occupancy)
        return bounds
