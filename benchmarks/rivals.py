"""General solvers for the same projection: conic ones through CVXPY, and L-BFGS-B on a dual.

The conic model is the sparse one: a variable for the mass of each row, and a bound only where it
can bind.  (Writing row masses as sums of triples instead makes every bound as long as a row.)
``as_written`` gives the constraints as the paper prints them instead: both bounds for every triple,
against the sum of its row, and in the dual a multiplier for each.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.optimize import minimize
from tests.reference.seed_dual import _Problem as SeedDualProblem
from tests.reference.tables import Table

from benchmarks.instances import Instance

TIME_LIMIT = 60.0  # seconds for SCS, which otherwise polishes for ever
LINE_SEARCH = {"maxiter": 5000, "maxfun": 10_000, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 30}


@dataclass(frozen=True)
class Attempt:
    """What a rival did with one instance."""

    occupancy: Table | None
    total: float  # seconds from the tables to the answer
    own: float  # seconds that the solver itself reports
    status: str


Rival = Callable[[Instance], Attempt]


def conic_model(instance: Instance, *, as_written: bool) -> tuple[cp.Problem, list[cp.Variable]]:
    """Eq. (1), Eq. (2) and the box, with exponential cones for the divergence."""
    triples: list[cp.Variable] = []
    constraints: list[cp.Constraint] = []
    objective: Any = 0
    for weights, low, high in zip(instance.weights, instance.lower, instance.upper, strict=True):
        n_states, n_actions, width = weights.shape
        n_rows = n_states * n_actions
        low, high = low.reshape(n_rows, width), high.reshape(n_rows, width)
        q = cp.Variable((n_rows, width))
        mass: Any = cp.sum(q, axis=1)
        if not as_written:
            mass = cp.Variable(n_rows)
            constraints.append(cp.sum(q, axis=1) == mass)
        constraints.append(cp.sum(mass) == 1)
        row, column = np.nonzero((low > 0.0) | as_written)
        if row.size:
            constraints.append(q[row, column] >= cp.multiply(low[row, column], mass[row]))
        row, column = np.nonzero((high < 1.0) | as_written)
        if row.size:
            constraints.append(q[row, column] <= cp.multiply(high[row, column], mass[row]))
        if triples:
            outflow = cp.sum(cp.reshape(mass, (n_states, n_actions), order="C"), axis=1)
            constraints.append(cp.sum(triples[-1], axis=0) == outflow)
        objective += cp.sum(cp.kl_div(q, weights.reshape(n_rows, width)))
        triples.append(q)
    return cp.Problem(cp.Minimize(objective), constraints), triples


def conic(solver: str, *, as_written: bool = False, **options: float) -> Rival:
    """A conic solver with its usual tolerances unless told otherwise."""

    def attempt(instance: Instance) -> Attempt:
        begin = time.perf_counter()
        problem, triples = conic_model(instance, as_written=as_written)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the accuracy is measured, not announced
                problem.solve(solver=solver, **options)
        except cp.SolverError as error:
            return Attempt(None, time.perf_counter() - begin, np.nan, f"failed: {error}")
        total = time.perf_counter() - begin
        stats = problem.solver_stats
        own = (stats.solve_time or np.nan) + (stats.setup_time or 0.0)
        if triples[0].value is None:
            return Attempt(None, total, own, problem.status)
        answer = [
            np.asarray(q.value).reshape(weights.shape)
            for q, weights in zip(triples, instance.weights, strict=True)
        ]
        return Attempt(answer, total, own, problem.status)

    return attempt


def seed_dual(instance: Instance, *, as_written: bool = False) -> Attempt:
    """One run of L-BFGS-B on the paper's own dual in (mu, beta), from zero."""
    begin = time.perf_counter()
    problem = SeedDualProblem(instance.weights, instance.lower, instance.upper)
    if as_written:
        problem.has_plus = problem.has_minus = [np.ones(w.shape, bool) for w in instance.weights]
        problem.n_plus = problem.n_minus = sum(w.size for w in instance.weights)
    n_mu = problem.n_plus + problem.n_minus
    middle = time.perf_counter()
    answer = minimize(
        problem.value_and_gradient,
        np.zeros(n_mu + problem.n_beta),
        jac=True,
        bounds=[(0.0, None)] * n_mu + [(None, None)] * problem.n_beta,
        method="L-BFGS-B",
        options=LINE_SEARCH,
    )
    end = time.perf_counter()
    occupancy = problem.state(answer.x)[1]
    status = "optimal" if answer.status == 0 else str(answer.message)
    return Attempt(occupancy, time.perf_counter() - begin, end - middle, status)


RIVALS: dict[str, Rival] = {
    "Clarabel": conic("CLARABEL"),
    "ECOS": conic("ECOS"),
    "SCS": conic("SCS", eps_abs=1e-7, eps_rel=1e-7, time_limit_secs=TIME_LIMIT),
    "L-BFGS-B": seed_dual,
}
# SCS takes a minute for each of these and is never the quickest.
RIVALS_AS_WRITTEN: dict[str, Rival] = {
    "Clarabel": conic("CLARABEL", as_written=True),
    "ECOS": conic("ECOS", as_written=True),
    "L-BFGS-B": partial(seed_dual, as_written=True),
}
