"""The projection of Eq. (11) to full double precision, for small instances and tame weights.

Writing q(x, a, x') = m(x, a) p(x'|x, a) and eliminating the multipliers of the confidence set
leaves an unconstrained convex function of beta on the states of layers 1 .. L - 1,

    G(beta) = sum_k ln sum_{x, a} exp(psi(x, a) - beta(x)),
    psi(x, a) = max over p in the row's set of sum p (ln w + beta(x') - ln p),

whose gradient is inflow - outflow.  Quasi-Newton steps come close and a root finder on the
gradient finishes.  One state per layer is pinned: shifting beta on a whole layer changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq, minimize, root
from scipy.special import logsumexp, softmax

from tests.reference.tables import Array, Table, flow_error, occupancy

RowSolver = Callable[[int, int, int, Array], Array]  # k, x, a, ln w + beta -> p


def box_row(log_w: Array, lower: Array, upper: Array) -> Array:
    """The maximiser over lower <= p <= upper: p = clip(c w, lower, upper) with sum p = 1.

    The sum is piecewise linear and increasing in c, with kinks where an entry meets a bound.
    """
    present = np.isfinite(log_w)
    if not present.all():  # a zero weight is an entry outside the declared support
        row = np.zeros_like(log_w)
        row[present] = box_row(log_w[present], lower[present], upper[present])
        return row
    w = np.exp(log_w - log_w.max())
    kinks = np.unique(np.concatenate([[0.0], lower / w, upper / w]))
    sums = np.clip(kinks[:, None] * w, lower, upper).sum(axis=1)
    last = int(np.searchsorted(sums, 1.0))
    if last == 0:
        return lower
    if last == len(kinks):
        return upper
    share = (1.0 - sums[last - 1]) / (sums[last] - sums[last - 1])
    c = kinks[last - 1] + share * (kinks[last] - kinks[last - 1])
    return np.clip(c * w, lower, upper)


def l1_row(log_w: Array, centre: Array, width: float) -> Array:
    """The maximiser over ||p - centre||_1 <= width.

    Outside the ball, entries above the centre are a w, entries below are b w, the rest stay, and
    the mass moved up and the mass moved down are both width / 2.
    """
    w = softmax(log_w)
    if np.abs(w - centre).sum() <= width:
        return w
    half = width / 2.0

    def scale(moved: Callable[[float], float]) -> float:
        return float(np.exp(brentq(lambda s: moved(np.exp(s)) - half, -700, 700, xtol=1e-15)))

    a = scale(lambda s: np.maximum(s * w - centre, 0.0).sum())
    b = scale(lambda s: np.maximum(centre - s * w, 0.0).sum())
    return np.maximum(np.minimum(centre, b * w), a * w)


class _Dual:
    def __init__(self, weights: Table, solve_row: RowSolver) -> None:
        with np.errstate(divide="ignore"):
            self.log_w = [np.log(w) for w in weights]
        self.solve_row = solve_row
        self.sizes = [w.shape[0] for w in weights] + [1]

    def beta(self, free: Array) -> list[Array]:
        table, start = [np.zeros(1)], 0
        for n in self.sizes[1:-1]:
            table.append(np.concatenate([[0.0], free[start : start + n - 1]]))
            start += n - 1
        return [*table, np.zeros(1)]

    def state(self, free: Array) -> tuple[float, Table, Table]:
        """G, the row masses m and the kernel p at a dual point."""
        beta = self.beta(free)
        total, masses, kernels = 0.0, [], []
        for k, log_w in enumerate(self.log_w):
            p, psi = np.zeros_like(log_w), np.zeros(log_w.shape[:2])
            for x, a in np.ndindex(psi.shape):
                tilted = log_w[x, a] + beta[k + 1]
                row = p[x, a] = self.solve_row(k, x, a, tilted)
                used = row > 0
                psi[x, a] = (row[used] * (tilted[used] - np.log(row[used]))).sum()
            exponent = psi - beta[k][:, None]
            log_z = float(logsumexp(exponent))
            total += log_z
            masses.append(np.exp(exponent - log_z))
            kernels.append(p)
        return total, masses, kernels

    def gradient(self, masses: Table, kernels: Table) -> Array:
        """inflow - outflow on the states that are not pinned."""
        parts = [np.zeros(0)]
        for k in range(1, len(masses)):
            inflow = np.einsum("xa,xay->y", masses[k - 1], kernels[k - 1])
            parts.append((inflow - masses[k].sum(axis=1))[1:])
        return np.concatenate(parts)

    def value_and_gradient(self, free: Array) -> tuple[float, Array]:
        value, masses, kernels = self.state(free)
        return value, self.gradient(masses, kernels)


def project_rows(weights: Table, solve_row: RowSolver, tolerance: float = 1e-11) -> Table:
    """argmin D(q || weights) over occupancy measures whose rows lie in the sets of solve_row."""
    dual = _Dual(weights, solve_row)
    free = np.zeros(sum(n - 1 for n in dual.sizes[1:-1]))
    if free.size:
        options = {"maxiter": 5000, "ftol": 1e-16, "gtol": 1e-6, "maxcor": 30}
        free = minimize(
            dual.value_and_gradient, free, jac=True, method="L-BFGS-B", options=options
        ).x
        polished = root(lambda v: dual.value_and_gradient(v)[1], free, tol=1e-15).x
        free = min(free, polished, key=lambda v: np.abs(dual.value_and_gradient(v)[1]).max())
    _, masses, kernels = dual.state(free)
    raw = [m[:, :, None] * p for m, p in zip(masses, kernels, strict=True)]
    assert flow_error(raw) <= tolerance, f"the oracle stopped at residual {flow_error(raw):.1e}"
    # The same measure, played forward: exactly an occupancy measure with rows in the sets.
    policy = [m / m.sum(axis=1, keepdims=True) for m in masses]
    return occupancy(kernels, policy)


def project_reduced(weights: Table, lower: Table, upper: Table) -> Table:
    """The projection on Delta(box)."""
    return project_rows(weights, lambda k, x, a, v: box_row(v, lower[k][x, a], upper[k][x, a]))


def project_reduced_l1(weights: Table, centre: Table, width: Table) -> Table:
    """The projection on Delta(product of L1 balls)."""
    return project_rows(weights, lambda k, x, a, v: l1_row(v, centre[k][x, a], width[k][x, a]))
