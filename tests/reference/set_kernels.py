"""The questions to a set, compiled as kernels ask them: implementations are inlined into these."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

import advmdp as am
from advmdp.kernels.kl.dual import Dual
from advmdp.kernels.kl.row_oracle import solve_any_row, solve_any_row_in_logs
from advmdp.kernels.model.graph import layer_of, owner_of
from advmdp.kernels.model.log_storage import TINY
from advmdp.kernels.model.measure import Measure
from advmdp.kernels.planning.linear_maximum import (
    largest_probability_of,
    maximum_over_row,
    sort_layer,
)
from advmdp.kernels.runtime.targets import CPU_OPTIONS
from advmdp.kernels.sets import interface
from advmdp.kernels.sets.held import POINT, SCALED, WRITTEN, gain_of, log_scale_of
from advmdp.steps.workspace import new_measure, new_reach, new_solver
from tests.reference.tables import Array

compiled = njit(**CPU_OPTIONS)


@compiled
def _maximum(graph: Any, r: int, rows: Any, reach: Any) -> float:
    k = layer_of(graph, owner_of(graph, r))
    sort_layer(graph, k + 1, reach)
    return maximum_over_row(graph, r, k, rows, reach)


def maximum(layout: am.Layout, r: int, rows: Any, value: Array) -> float:
    """max <p, value> over row r, for a vector over states."""
    reach = new_reach(layout)
    reach.value[:] = value
    return float(_maximum(layout.graph(), r, rows, reach))


@compiled
def largest_probability(graph: Any, r: int, target: int, rows: Any) -> float:
    return largest_probability_of(graph, r, target, rows)


@compiled
def contains_row(graph: Any, r: int, transition: Any, rows: Any, tolerance: float) -> bool:
    return interface.contains_row(graph, r, transition, rows, tolerance)


@compiled
def learns_from_counts(rows: Any) -> bool:
    return interface.learns_from_counts(rows)


@compiled
def has_tightness(rows: Any) -> bool:
    return interface.has_tightness(rows)


@compiled
def row_tightness(graph: Any, r: int, chance: Any, rows: Any) -> float:
    return interface.row_tightness(graph, r, chance, rows)


@compiled
def stays_inside(graph: Any, r: int, chance: Any, tilt: Any, rows: Any, held: Any) -> bool:
    return interface.stays_inside(graph, r, chance, tilt, rows, held)


@compiled
def common_bounds(rows: Any, low: Any, high: Any) -> None:
    interface.common_bounds(rows, low, high)


@compiled
def log_scale_to_contain(
    graph: Any, r: int, transition: Any, visits: Any, log_term: float, rows: Any
) -> float:
    return interface.log_scale_to_contain(graph, r, transition, visits, log_term, rows)


@compiled
def rebuild_row(graph: Any, r: int, visits: Any, log_term: float, rows: Any) -> None:
    interface.rebuild_row(graph, r, visits, log_term, rows)


@compiled
def _solve(graph: Any, r: int, measure: Any, rows: Any, dual: Any) -> float:
    return solve_any_row(graph, r, measure, rows, dual, False)


@compiled
def _gain(held: Any, r: int) -> float:
    return gain_of(held, r)


@compiled
def _log_scale(held: Any, r: int, g: int) -> float:
    return log_scale_of(held, r, g)


class RowProblem:
    """max <p, beta> - KL(p || p~) over row r, and how its solution is held."""

    def __init__(self, layout: am.Layout, r: int, log_chance: Array, beta: Array) -> None:
        """``log_chance`` is ln p~ over the row, ``beta`` a vector over states."""
        self.layout, self.r = layout, r
        self.begin, self.end = (int(e) for e in layout.row_start[r : r + 2])
        self.successors = layout.entry_successors()[self.begin : self.end]
        self.measure: Measure = new_measure(layout)
        stored = np.where(log_chance >= np.log(TINY), np.exp(log_chance), log_chance)
        self.measure.chance[self.begin : self.end] = stored
        self.log_chance = log_chance
        self.dual: Dual = new_solver(layout).dual
        self.set_beta(beta)

    def set_beta(self, beta: Array) -> None:
        self.dual.beta[:] = beta
        self.dual.tilt[:] = np.exp(beta)
        self.log_w = self.log_chance + beta[self.successors]

    def guess(self, rng: np.random.Generator) -> None:
        """What an earlier projection may have left: it must not matter."""
        held = self.dual.held
        held.holding[self.r] = rng.choice([SCALED, WRITTEN])
        held.scale[self.r] = 10.0 ** rng.uniform(-3.0, 3.0)

    def solve(self, rows: Any) -> bool:
        """On the fast path; False if floats cannot hold it."""
        growth = float(_solve(self.layout.graph(), self.r, self.measure, rows, self.dual))
        if growth <= 0.0:
            return False
        assert np.isclose(np.log(growth), self.gain, rtol=1e-12, atol=1e-12)
        return True

    def solve_in_logs(self, rows: Any) -> None:
        solve_any_row_in_logs(self.layout.graph(), self.r, self.measure, rows, self.dual)

    @property
    def gain(self) -> float:
        """The value of the row problem."""
        return float(_gain(self.dual.held, self.r))

    @property
    def log_p(self) -> Array:
        """ln p_beta; an entry too small for ``work`` is c w of its group."""
        held, r = self.dual.held, self.r
        if held.holding[r] == POINT:
            return np.log(np.maximum(self.measure.chance[self.begin : self.end], 1e-300))
        if held.holding[r] == SCALED:
            return np.asarray(self.log_w + np.log(held.scale[r]))
        work, group = (part[self.begin : self.end] for part in (held.work, held.group))
        found = np.log(np.maximum(work, TINY))
        for j in np.flatnonzero((work < TINY) & (group > 0)):
            found[j] = self.log_w[j] + _log_scale(held, r, int(group[j]))
        return found

    @property
    def jacobian(self) -> Array:
        """d p / d beta as the groups have it."""
        held, r, n = self.dual.held, self.r, self.end - self.begin
        if held.holding[r] == POINT:
            return np.zeros((n, n))
        p, group, masses = np.exp(self.log_p), np.ones(n), [1.0, 0.0]
        if held.holding[r] == WRITTEN:
            group = held.group[self.begin : self.end]
            masses = held.group_mass[2 * r : 2 * r + 2].tolist()
        total = np.zeros((n, n))
        for g, mass in enumerate(masses, 1):
            part = np.where(group == g, p, 0.0)
            if mass > 0.0:
                total += np.diag(part) - np.outer(part, part) / mass
        return total
