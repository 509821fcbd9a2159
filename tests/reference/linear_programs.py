"""Linear programs for everything that the algorithm maximises greedily or by recursion.

The programs state the *definition* of each quantity and leave the work to HiGHS.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from tests.reference.tables import Array, Table, sizes_of


def _maximum(gain: Array, **constraints: object) -> float:
    """The optimum of a linear program over non-negative variables."""
    answer = linprog(-gain, method="highs", bounds=(0, None), **constraints)
    assert answer.status == 0, answer.message
    return -float(answer.fun)


def best_row(f: Array, lower: Array, upper: Array) -> float:
    """max <p, f> over distributions lower <= p <= upper: the problem that GREEDY solves."""
    answer = linprog(
        -f,
        A_eq=np.ones((1, len(f))),
        b_eq=[1.0],
        bounds=np.stack([lower, upper], axis=1),
        method="highs",
    )
    assert answer.status == 0, answer.message
    return -float(answer.fun)


def best_row_l1(f: Array, centre: Array, width: float) -> float:
    """max <p, f> over distributions with ||p - centre||_1 <= width; e bounds |p - centre|."""
    n = len(f)
    eye, none = np.eye(n), np.zeros((n, n))
    return _maximum(
        np.concatenate([f, np.zeros(n)]),
        A_eq=np.concatenate([np.ones(n), np.zeros(n)])[None],
        b_eq=[1.0],
        A_ub=np.block([[eye, -eye], [-eye, -eye], [none[:1], np.ones((1, n))]]),
        b_ub=np.concatenate([centre, -centre, [width]]),
    )


def best_row_of(f: Array, lower: Array, upper: Array, centre: Array, width: float) -> float:
    """max <p, f> over distributions with lower <= p <= upper and ||p - centre||_1 <= width.

    HiGHS's default accuracy of 1e-7 overstates some maxima by 3e-8, so it is asked for more.
    """
    n = len(f)
    eye, none = np.eye(n), np.zeros((n, n))
    answer = linprog(
        -np.concatenate([f, np.zeros(n)]),
        A_eq=np.concatenate([np.ones(n), np.zeros(n)])[None],
        b_eq=[1.0],
        A_ub=np.block([[eye, -eye], [-eye, -eye], [none[:1], np.ones((1, n))]]),
        b_ub=np.concatenate([centre, -centre, [width]]),
        bounds=np.concatenate(
            [np.stack([lower, upper], axis=1), np.stack([np.zeros(n), np.full(n, 2.0)], axis=1)]
        ),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert answer.status == 0, answer.message
    return -float(answer.fun)


class _Triples:
    """Where each q(x, a, x') sits in the vector of variables."""

    def __init__(self, table: Table) -> None:
        self.sizes = sizes_of(table)
        self.n_actions = table[0].shape[1]
        self.n_layers = len(table)
        counts = [0, *np.cumsum([layer.size for layer in table])]
        self.total = int(counts[-1])
        self.places: list[NDArray[np.int64]] = [
            np.arange(counts[k], counts[k + 1]).reshape(layer.shape)
            for k, layer in enumerate(table)
        ]

    def inflow(self, k: int, x: int) -> Array:
        """The linear form q(x) of a state in layer k >= 1."""
        form = np.zeros(self.total)
        form[self.places[k - 1][:, :, x]] = 1.0
        return form

    def rows(self) -> list[tuple[int, int, int]]:
        """Every (k, x, a)."""
        return [
            (k, x, a)
            for k in range(self.n_layers)
            for x in range(self.sizes[k])
            for a in range(self.n_actions)
        ]

    def policy_equations(self, policy: Table) -> tuple[Array, Array]:
        """q(x, a) = pi(a|x) q(x), with q(x_0) = 1: flow, mass and policy at once."""
        forms, values = [], []
        for k, x, a in self.rows():
            form = np.zeros(self.total)
            if k > 0:
                form -= policy[k][x, a] * self.inflow(k, x)
            form[self.places[k][x, a]] += 1.0
            forms.append(form)
            values.append(policy[k][x, a] if k == 0 else 0.0)
        return np.array(forms), np.array(values)

    def box_inequalities(self, lower: Table, upper: Table) -> Array:
        """lower q(x,a) - q(x,a,x') <= 0 and q(x,a,x') - upper q(x,a) <= 0, Appendix A.1."""
        forms = []
        for k, x, a in self.rows():
            row = self.places[k][x, a]
            for i, place in enumerate(row):
                above, below = np.zeros(self.total), np.zeros(self.total)
                above[row] -= upper[k][x, a, i]
                above[place] += 1.0
                below[row] += lower[k][x, a, i]
                below[place] -= 1.0
                forms += [above, below]
        return np.array(forms)

    def l1_inequalities(self, centre: Table, width: Table) -> Array:
        """The same with one more variable e per triple: |q - centre q(x,a)| <= e, sum e small."""
        forms = []
        for k, x, a in self.rows():
            row = self.places[k][x, a]
            budget = np.zeros(2 * self.total)
            budget[row] -= width[k][x, a]
            budget[self.total + row] = 1.0
            forms.append(budget)
            for i, place in enumerate(row):
                for sign in (1.0, -1.0):
                    form = np.zeros(2 * self.total)
                    form[row] -= sign * centre[k][x, a, i]
                    form[place] += sign
                    form[self.total + place] = -1.0
                    forms.append(form)
        return np.array(forms)

    def reachable(self, policy: Table, inequalities: Array, sign: float = 1.0) -> Table:
        """pi(a|x) max q(x) for every pair, one linear program per state, Eq. (9); sign -1: min."""
        extra = inequalities.shape[1] - self.total
        forms, values = self.policy_equations(policy)
        forms = np.pad(forms, ((0, 0), (0, extra)))
        table = [policy[0].copy()]
        for k in range(1, self.n_layers):
            best = [
                sign
                * _maximum(
                    sign * np.pad(self.inflow(k, x), (0, extra)),
                    A_eq=forms,
                    b_eq=values,
                    A_ub=inequalities,
                    b_ub=np.zeros(len(inequalities)),
                )
                for x in range(self.sizes[k])
            ]
            table.append(policy[k] * np.array(best)[:, None])
        return table


def upper_occupancy_lp(policy: Table, lower: Table, upper: Table) -> Table:
    """u(x, a) = max q(x, a) over occupancy measures with this policy and a kernel in the box."""
    triples = _Triples(lower)
    return triples.reachable(policy, triples.box_inequalities(lower, upper))


def lower_occupancy_lp(policy: Table, lower: Table, upper: Table) -> Table:
    """l(x, a) = min q(x, a) over the same measures."""
    triples = _Triples(lower)
    return triples.reachable(policy, triples.box_inequalities(lower, upper), -1.0)


def upper_occupancy_lp_l1(policy: Table, centre: Table, width: Table, floor: float = 0.0) -> Table:
    """The same over the product of the L1 balls, with no probability below ``floor``."""
    triples = _Triples(centre)
    above = [np.full_like(layer, floor) for layer in centre]
    below = [np.ones_like(layer) for layer in centre]
    limits = triples.box_inequalities(above, below)
    ball = triples.l1_inequalities(centre, width)
    return triples.reachable(
        policy, np.vstack([ball, np.pad(limits, ((0, 0), (0, triples.total)))])
    )


def best_fixed_policy_loss(transitions: Table, cumulative_loss: Table) -> float:
    """min <q, loss> over Delta(P), the comparator of Eq. (3); the variables are q(x, a)."""
    sizes, n_actions = sizes_of(transitions), transitions[0].shape[1]
    start = np.cumsum([0, *(n * n_actions for n in sizes[:-1])])
    forms, values = [], []
    for k in range(len(transitions)):
        for x in range(sizes[k]):
            form = np.zeros(start[-1])
            form[start[k] + x * n_actions : start[k] + (x + 1) * n_actions] = 1.0
            if k > 0:
                form[start[k - 1] : start[k]] -= transitions[k - 1][:, :, x].ravel()
            forms.append(form)
            values.append(1.0 if k == 0 else 0.0)
    cost = np.concatenate([layer.ravel() for layer in cumulative_loss])
    return -_maximum(-cost, A_eq=np.array(forms), b_eq=values)


def cheapest_measure(cost: Table, lower: Table, upper: Table) -> float:
    """min <q, cost> over Delta(box) for a cost on triples; the best row is free in every state.

    With cost = ln(q / weights) it certifies a projection: q is optimal exactly when
    <q, cost> is this minimum, and by convexity D(q) - min D is at most the difference.
    """
    value = np.zeros(1)
    for layer, lo, hi in zip(cost[::-1], lower[::-1], upper[::-1], strict=True):
        value = np.array(
            [
                min(
                    -best_row(-(layer[x, a] + value), lo[x, a], hi[x, a])
                    for a in range(lo.shape[1])
                )
                for x in range(lo.shape[0])
            ]
        )
    return float(value[0])
