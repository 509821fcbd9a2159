"""The running account of a run: expected loss, regret, and the four terms it splits into.

With q_t = q^{P, pi_t}, q^_t the learner's own measure and l^_t its loss estimates, Section 4 of the
paper writes the regret against q* as

    R_T = ERROR + BIAS1 + REG + BIAS2
        = sum <q_t - q^_t, l_t> + sum <q^_t, l_t - l^_t>
        + sum <q^_t - q*, l^_t> + sum <q*, l^_t - l_t>.

The sums that do not involve q* are kept as numbers, those that do as vectors over pairs, so that
every evaluation point can be judged against its own best policy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.evaluation.comparator import Comparator, best_fixed_policy
from advmdp.kernels.accounting.ledger import (
    ESTIMATED,
    EXPECTED,
    ITERATE,
    PROJECTIONS,
    REALISED,
    WORST_GAP,
    WORST_RESIDUAL,
    Ledger,
)
from advmdp.kernels.steps.interface import EVALUATIONS, ITERATIONS, PRODUCTS, SAFE
from advmdp.layout import Floats
from advmdp.world.mdp import LayeredMDP


@dataclass(frozen=True)
class Decomposition:
    """The four terms of the regret at each evaluation point; they add up to it."""

    error: Floats
    bias1: Floats
    reg: Floats
    bias2: Floats

    def total(self) -> Floats:
        """ERROR + BIAS1 + REG + BIAS2."""
        return self.error + self.bias1 + self.reg + self.bias2


@dataclass(frozen=True)
class SolverStatistics:
    """What the projections of a run cost, and their certificates."""

    projections: int
    iterations: int
    evaluations: int
    products: int
    safe_paths: int
    worst_residual: float
    worst_gap: float


@dataclass(frozen=True)
class EvaluationPoint:
    """The account after some episodes."""

    expected_loss: float
    realised_loss: float
    best_loss: float
    terms: tuple[float, float, float, float]

    @property
    def regret(self) -> float:
        """Expected loss minus that of the best fixed policy so far."""
        return self.expected_loss - self.best_loss


def new_ledger(mdp: LayeredMDP) -> Ledger:
    """An empty account."""
    layout = mdp.layout
    return Ledger(
        sums=np.zeros(4),
        total=np.zeros(layout.n_rows),
        estimated=np.zeros(layout.n_rows),
        counts=np.zeros(5, dtype=np.int64),
        worst=np.zeros(2),
        losses=np.zeros(layout.n_rows),
        mass=np.zeros(layout.n_states),
        flow=np.zeros(layout.n_rows),
        states=np.zeros(layout.n_layers + 1, dtype=np.int64),
        path=np.zeros(layout.n_layers, dtype=np.int64),
        path_losses=np.zeros(layout.n_layers),
    )


def evaluate_now(mdp: LayeredMDP, ledger: Ledger) -> tuple[EvaluationPoint, Comparator]:
    """The account now, against the best fixed policy of the losses so far."""
    best = best_fixed_policy(mdp, ledger.total)
    sums = ledger.sums
    best_estimated = float(
        np.sum(best.occupancy * ledger.estimated)
    )  # not by BLAS, whose threads split sums
    error, bias1, reg, bias2 = (float(term) for term in four_terms(sums, best.loss, best_estimated))
    point = EvaluationPoint(
        float(sums[EXPECTED]), float(sums[REALISED]), best.loss, (error, bias1, reg, bias2)
    )
    return point, best


def four_terms(sums: Any, best_loss: Any, best_estimated: Any) -> tuple[Any, Any, Any, Any]:
    """ERROR, BIAS1, REG, BIAS2 from the ledger's sums and the best policy's <q*, l>, <q*, l^>."""
    return (
        sums[EXPECTED] - sums[ITERATE],
        sums[ITERATE] - sums[ESTIMATED],
        sums[ESTIMATED] - best_estimated,
        best_estimated - best_loss,
    )


def solver_statistics(ledger: Ledger) -> SolverStatistics:
    """The ledger's solver counters in readable form."""
    counts: NDArray[np.int64] = ledger.counts
    return SolverStatistics(
        projections=int(counts[PROJECTIONS]),
        iterations=int(counts[ITERATIONS]),
        evaluations=int(counts[EVALUATIONS]),
        products=int(counts[PRODUCTS]),
        safe_paths=int(counts[SAFE]),
        worst_residual=float(ledger.worst[WORST_RESIDUAL]),
        worst_gap=float(ledger.worst[WORST_GAP]),
    )
