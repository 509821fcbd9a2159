"""Reference solvers for what the package solves by itself; extra ``advmdp[oracles]``.

Each model states a definition and leaves the solution to a general solver.  All vectors are flat:
q over entries, the policy over rows.
"""

from __future__ import annotations

import importlib
import warnings
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from advmdp.layout import Floats, Layout
from advmdp.steps.confidence import BoxSet

REMEDY = "install advmdp[oracles]"
PROGRAMME = dict.fromkeys(("primal_feasibility_tolerance", "dual_feasibility_tolerance"), 1e-10)
"""The smallest that HiGHS accepts; at its default of 1e-7 it overstates some maxima by 3e-8."""


def missing(*modules: str) -> str:
    """A message that names a solver that is not installed; empty when all are."""
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError:
            return f"not compared with {module}, which is not here: {REMEDY}"
    return ""


def _optimize() -> Any:
    return importlib.import_module("scipy.optimize")


class Incidence(NamedTuple):
    """0/1 matrices over entries: the pair of an entry, the state it enters, the state it leaves."""

    rows: Floats  # (R, E)
    inflow: Floats  # (S, E)
    outflow: Floats  # (S, E)


def incidence(layout: Layout) -> Incidence:
    """The incidence matrices of a layout."""
    entries = np.arange(layout.n_entries)
    row = layout.entry_rows()
    rows = np.zeros((layout.n_rows, layout.n_entries))
    inflow, outflow = (np.zeros((layout.n_states, layout.n_entries)) for _ in range(2))
    rows[row, entries] = 1.0
    inflow[layout.entry_successors(), entries] = 1.0
    outflow[row // layout.n_actions, entries] = 1.0
    return Incidence(rows, inflow, outflow)


def best_row(values: Floats, lower: Floats, upper: Floats) -> float:
    """max <p, values> over distributions p between the bounds, the problem of GREEDY."""
    box = np.stack([lower, upper], axis=1)
    answer = _optimize().linprog(
        -values, A_eq=np.ones((1, len(values))), b_eq=[1.0], bounds=box, options=PROGRAMME
    )
    return -float(answer.fun)


def upper_occupancy(layout: Layout, policy: Floats, box: BoxSet) -> Floats:
    """max q(x, a) over measures with this policy and a transition in the box, Eq. (UOB)."""
    rows, inflow, _ = incidence(layout)
    state_of_row = np.arange(layout.n_rows) // layout.n_actions
    # q(x, a) = pi(a|x) q(x), where q(x) is the inflow, or 1 in the first state
    equations = rows - policy[:, None] * inflow[state_of_row]
    ends = np.where(state_of_row == 0, policy, 0.0)
    row_mass = rows[layout.entry_rows()]  # q(x, a) of each entry's row
    eye = np.eye(layout.n_entries)
    low, high = layout.flat_triples(box.lower), layout.flat_triples(box.upper)
    sides = np.concatenate([eye - high[:, None] * row_mass, low[:, None] * row_mass - eye])
    most = np.ones(layout.n_states - 1)
    for x in range(1, layout.n_states - 1):
        answer = _optimize().linprog(
            -inflow[x],
            A_ub=sides,
            b_ub=np.zeros(len(sides)),
            A_eq=equations,
            b_eq=ends,
            options=PROGRAMME,
        )
        most[x] = -float(answer.fun)
    bound: Floats = policy * most[state_of_row]
    return bound


def divergence(q: Floats, weights: Floats) -> float:
    """D(q || weights), Eq. (KL), with 0 ln 0 = 0."""
    seen = q > 0.0
    return float((q[seen] * np.log(q[seen] / weights[seen])).sum() - q.sum() + weights.sum())


CONIC_TOLERANCES = (1e-11, 1e-9, 1e-8)
"""Asked of Clarabel in turn: it fails on some instances rather than return an inaccurate answer."""


def conic_projection(layout: Layout, weights: Floats, box: BoxSet) -> Floats | None:
    """The projection from its linear constraints, by Clarabel; None where the solver fails."""
    cp: Any = importlib.import_module("cvxpy")
    rows, inflow, outflow = incidence(layout)
    q: Any = cp.Variable(layout.n_entries, nonneg=True)
    mass = rows[layout.entry_rows()] @ q
    low, high = layout.flat_triples(box.lower), layout.flat_triples(box.upper)
    layers = layout.row_layer[layout.entry_rows()]
    constraints = [cp.sum(q[layers == k]) == 1 for k in range(layout.n_layers)]
    constraints += [(inflow - outflow)[1:-1] @ q == 0] if layout.n_states > 2 else []
    binding = (low > 0.0, high < 1.0)
    if binding[0].any():
        constraints.append(q[binding[0]] >= cp.multiply(low[binding[0]], mass[binding[0]]))
    if binding[1].any():
        constraints.append(q[binding[1]] <= cp.multiply(high[binding[1]], mass[binding[1]]))
    problem = cp.Problem(cp.Minimize(cp.sum(cp.kl_div(q, weights))), constraints)
    for tolerance in CONIC_TOLERANCES:
        options = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), tolerance)
        # Ignore its warning "may be inaccurate": the caller compares values itself.
        with warnings.catch_warnings(), suppress(cp.SolverError):
            warnings.simplefilter("ignore")
            problem.solve(solver=cp.CLARABEL, **options)
            break
    if q.value is None:
        return None
    return np.maximum(np.asarray(q.value, dtype=np.float64), 0.0)


class PaperDual(NamedTuple):
    """The optimum of the dual of Appendix A.1 and the measure that belongs to it."""

    value: float
    occupancy: Floats


class _LogPartition(NamedTuple):
    """sum_k ln Z_k of Appendix A.1 as a function of the point (mu+, mu-, beta)."""

    layout: Layout
    log_weights: Floats
    centre: Floats
    width: Floats
    rows: Floats
    flow: Floats
    """Inflow minus outflow of the inner states; beta of the first and the last is zero."""

    def at(self, point: Floats) -> tuple[float, Floats]:
        """The value, and the measure of the exponents."""
        layout, n = self.layout, len(self.log_weights)
        row = layout.entry_rows()
        layer = layout.row_layer[row]
        plus, minus, beta = point[:n], point[n : 2 * n], point[2 * n :]
        shared = self.rows @ ((plus - minus) * self.centre + (plus + minus) * self.width)
        exponent = self.log_weights + beta @ self.flow + minus - plus + shared[row]
        value, q = 0.0, np.zeros(n)
        for k in range(layout.n_layers):
            here = layer == k
            top = exponent[here].max()
            z = np.exp(exponent[here] - top).sum()
            value += float(top + np.log(z))
            q[here] = np.exp(exponent[here] - top) / z
        return value, q

    def with_gradient(self, point: Floats) -> tuple[float, Floats]:
        """The value and its gradient."""
        value, q = self.at(point)
        mass = (self.rows @ q)[self.layout.entry_rows()]
        centre, width = self.centre, self.width
        parts = [mass * (centre + width) - q, q - mass * (centre - width), self.flow @ q]
        return value, np.concatenate(parts)


def paper_dual(
    layout: Layout, weights: Floats, centre: Floats, width: Floats, *, free_beta: bool
) -> PaperDual:
    """min of sum_k ln Z_k over mu >= 0 and beta, which is free or, as printed, not negative.

    ``centre`` and ``width`` are P-bar and epsilon of every triple.
    """
    rows, inflow, outflow = incidence(layout)
    flow, n = (inflow - outflow)[1:-1], layout.n_entries
    objective = _LogPartition(layout, np.log(weights), centre, width, rows, flow)
    ends = [(0.0, None)] * (2 * n) + [(None if free_beta else 0.0, None)] * len(flow)
    point = np.zeros(2 * n + len(flow))
    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-16, "gtol": 1e-11, "maxcor": 50}
    for _ in range(20):  # restarted: the line search sometimes stops early
        before = objective.at(point)[0]
        answer = _optimize().minimize(
            objective.with_gradient,
            point,
            jac=True,
            bounds=ends,
            method="L-BFGS-B",
            options=options,
        )
        point = answer.x
        if before - objective.at(point)[0] <= 1e-13:
            break
    value, q = objective.at(point)
    return PaperDual(-layout.n_layers + float(weights.sum()) - value, q)
