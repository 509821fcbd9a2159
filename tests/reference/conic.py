"""The projection of Eq. (11) handed to a general conic solver, straight from its constraints.

A duality gap g leaves an error of order sqrt(g) in the entries, because the divergence is flat at
its minimum: expect 1e-9 in the divergence and 1e-5 in the entries.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import cvxpy as cp
import numpy as np

from tests.reference.tables import Array, Table

Rows = Callable[[int, "cp.Expression", "cp.Expression"], list["cp.Constraint"]]


def project_conic(weights: Table, lower: Table, upper: Table) -> Table:
    """argmin D(q || weights) over Delta(box); entries with upper = 0 stay zero."""

    def rows(k: int, q: cp.Expression, mass: cp.Expression) -> list[cp.Constraint]:
        lo, hi = _flat(lower[k]), _flat(upper[k])
        # An interval of no length is an equation: as two inequalities it would have no interior.
        fixed = (hi - lo < 1e-13).astype(float)
        return [
            cp.multiply(fixed, q - cp.multiply(lo, mass)) == 0,
            cp.multiply(1 - fixed, q - cp.multiply(lo, mass)) >= 0,
            cp.multiply(1 - fixed, cp.multiply(hi, mass) - q) >= 0,
        ]

    return _solve(weights, rows)


def project_conic_l1(weights: Table, centre: Table, width: Table) -> Table:
    """argmin D(q || weights) over Delta(product of L1 balls)."""

    def rows(k: int, q: cp.Expression, mass: cp.Expression) -> list[cp.Constraint]:
        distance = cp.sum(cp.abs(q - cp.multiply(_flat(centre[k]), mass)), axis=1)
        return [distance <= cp.multiply(width[k].ravel(), mass[:, 0])]

    return _solve(weights, rows)


def project_conic_mixed(
    weights: Table, lower: Table, upper: Table, centre: Table, width: Table
) -> Table:
    """argmin D(q || weights) over rows with bounds and L1 balls; a width of 2 is no ball."""

    def rows(k: int, q: cp.Expression, mass: cp.Expression) -> list[cp.Constraint]:
        lo, hi, radius = _flat(lower[k]), _flat(upper[k]), width[k].ravel()
        fixed, ball = (hi - lo < 1e-13).astype(float), radius < 2.0
        constraints = [
            cp.multiply(fixed, q - cp.multiply(lo, mass)) == 0,
            cp.multiply(1 - fixed, q - cp.multiply(lo, mass)) >= 0,
            cp.multiply(1 - fixed, cp.multiply(hi, mass) - q) >= 0,
        ]
        if ball.any():
            distance = cp.sum(cp.abs(q - cp.multiply(_flat(centre[k]), mass)), axis=1)
            constraints.append(distance[ball] <= cp.multiply(radius[ball], mass[ball, 0]))
        return constraints

    return _solve(weights, rows)


def best_row_conic(log_w: Array, lower: Array, upper: Array, centre: Array, width: float) -> float:
    """max <p, log_w> - <p, ln p> over the distributions of one row with bounds and a ball."""
    p = cp.Variable(len(log_w), nonneg=True)
    constraints = [cp.sum(p) == 1, p >= lower, p <= upper]
    if width < 2.0:
        constraints.append(cp.norm1(p - centre) <= width)
    problem = cp.Problem(cp.Maximize(p @ log_w + cp.sum(cp.entr(p))), constraints)
    _solve_tightly(problem)
    return float(problem.value)


def _flat(layer: Array) -> Array:
    """One line per (x, a)."""
    return layer.reshape(-1, layer.shape[2])


def _solve(weights: Table, rows: Rows) -> Table:
    parts: list[cp.Variable] = []
    constraints: list[cp.Constraint] = []
    objective = 0
    for k, layer in enumerate(weights):
        w = _flat(layer)
        q = cp.Variable(w.shape, nonneg=True)
        outflow = cp.sum(cp.reshape(cp.sum(q, axis=1), layer.shape[:2], order="C"), axis=1)
        mass = cp.sum(q, axis=1, keepdims=True) @ np.ones((1, w.shape[1]))
        constraints += [cp.sum(q) == 1, *rows(k, q, mass)]  # Eq. (1) and the set
        if parts:
            constraints.append(cp.sum(parts[-1], axis=0) == outflow)  # Eq. (2)
        # A zero weight forces a zero: the solver gets a harmless weight and an equation instead.
        absent = (w == 0).astype(float)
        constraints.append(cp.multiply(absent, q) == 0)
        objective += cp.sum(cp.kl_div(q, w + absent))
        parts.append(q)
    problem = cp.Problem(cp.Minimize(objective), constraints)
    _solve_tightly(problem)
    return [
        np.maximum(np.asarray(q.value), 0.0).reshape(layer.shape)
        for q, layer in zip(parts, weights, strict=True)
    ]


def _solve_tightly(problem: cp.Problem) -> None:
    with warnings.catch_warnings():
        # "May be inaccurate" is expected at this tolerance; callers compare values.
        warnings.simplefilter("ignore")
        problem.solve(
            solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11, max_iter=200
        )
    assert problem.status in ("optimal", "optimal_inaccurate"), problem.status
