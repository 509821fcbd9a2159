"""The dual of the projection exactly as in the paper's Appendix A.1, solved by L-BFGS-B.

Variables: mu+ and mu- on the triples whose bound can bind, beta on the states of layers
1 .. L - 1.  Only mu is sign-constrained: beta belongs to equations, so it is free (the printed
"mu, beta >= 0" is harmless because beta may be shifted on a whole layer).  The sum over y in B
covers both products, and with clipped bounds it reads mu+ upper - mu- lower.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from tests.reference.tables import Array, Table


@dataclass(frozen=True)
class SeedDual:
    """The occupancy measure q* = weights e^B / Z and the value -L + sum weights - sum ln Z."""

    occupancy: Table
    value: float


class _Problem:
    def __init__(self, weights: Table, lower: Table, upper: Table) -> None:
        self.log_weights = [np.log(w) for w in weights]
        self.lower, self.upper = lower, upper
        # A bound that cannot bind needs no multiplier; it would only add flat directions.
        self.has_plus = [hi < 1.0 for hi in upper]
        self.has_minus = [lo > 0.0 for lo in lower]
        self.n_plus = sum(int(m.sum()) for m in self.has_plus)
        self.n_minus = sum(int(m.sum()) for m in self.has_minus)
        self.sizes = [w.shape[0] for w in weights] + [1]
        self.n_beta = sum(self.sizes[1:-1])

    def unpack(self, v: Array) -> tuple[Table, Table, list[Array]]:
        plus = _scatter(v[: self.n_plus], self.has_plus)
        minus = _scatter(v[self.n_plus : self.n_plus + self.n_minus], self.has_minus)
        rest = v[self.n_plus + self.n_minus :]
        ends = np.cumsum(self.sizes[1:-1])
        inside = [rest[end - n : end] for n, end in zip(self.sizes[1:-1], ends, strict=True)]
        return plus, minus, [np.zeros(1), *inside, np.zeros(1)]

    def state(self, v: Array) -> tuple[float, Table]:
        """sum_k ln Z_k and the normalised measure at a dual point."""
        plus, minus, beta = self.unpack(v)
        total, table = 0.0, []
        for k, log_w in enumerate(self.log_weights):
            shared = (plus[k] * self.upper[k] - minus[k] * self.lower[k]).sum(axis=2, keepdims=True)
            exponent = log_w + beta[k + 1] - beta[k][:, None, None] + minus[k] - plus[k] + shared
            log_z = float(logsumexp(exponent))
            total += log_z
            table.append(np.exp(exponent - log_z))
        return total, table

    def value_and_gradient(self, v: Array) -> tuple[float, Array]:
        value, q = self.state(v)
        mass = [layer.sum(axis=2, keepdims=True) for layer in q]
        layers = range(len(q))
        plus = [(self.upper[k] * mass[k] - q[k])[self.has_plus[k]] for k in layers]
        minus = [(q[k] - self.lower[k] * mass[k])[self.has_minus[k]] for k in layers]
        beta = [q[k - 1].sum(axis=(0, 1)) - q[k].sum(axis=(1, 2)) for k in layers if k > 0]
        return value, np.concatenate([*plus, *minus, *beta])


def _scatter(values: Array, masks: list[np.ndarray]) -> Table:
    table, start = [], 0
    for mask in masks:
        layer = np.zeros(mask.shape)
        layer[mask] = values[start : start + int(mask.sum())]
        start += int(mask.sum())
        table.append(layer)
    return table


def _descend(problem: _Problem, start: Array, n_mu: int) -> Array:
    """L-BFGS-B, restarted: its line search sometimes gives up far from the minimum."""
    bounds = [(0.0, None)] * n_mu + [(None, None)] * problem.n_beta
    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-16, "gtol": 1e-12, "maxcor": 50}
    for _ in range(20):
        before = problem.value_and_gradient(start)[0]
        answer = minimize(
            problem.value_and_gradient,
            start,
            jac=True,
            bounds=bounds,
            method="L-BFGS-B",
            options=options,
        )
        start = answer.x
        if before - answer.fun <= 1e-14:
            break
    return start


def project_seed_dual(weights: Table, lower: Table, upper: Table) -> SeedDual:
    """Minimise sum_k ln Z_k(mu, beta) over mu >= 0 and free beta."""
    problem = _Problem(weights, lower, upper)
    n_mu = problem.n_plus + problem.n_minus
    start = np.zeros(n_mu + problem.n_beta)
    if start.size:
        start = _descend(problem, start, n_mu)
    total, q = problem.state(start)
    return SeedDual(q, -len(q) + float(sum(w.sum() for w in weights)) - total)
