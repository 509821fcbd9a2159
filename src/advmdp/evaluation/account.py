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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from advmdp.kernels.accounting.evaluation_point import (
    BEST,
    N_FIGURES,
    NEVER,
    SUMS,
    Points,
    note_account,
)
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
from advmdp.kernels.runtime.targets import machine_code
from advmdp.kernels.steps.interface import EVALUATIONS, ITERATIONS, PRODUCTS, SAFE
from advmdp.layout import Floats, Layout
from advmdp.world.mdp import LayeredMDP

MOST_POINTS, MOST_PRODUCTS = 1024, 2**16
"""How much is noted before it is taken out: points, and points times pairs."""


@dataclass(frozen=True)
class Decomposition:
    """The four terms of the regret at each evaluation point; they add up to it."""

    error: Floats
    """What the true transition makes other than the learner's own measure."""
    bias1: Floats
    """What the loss estimates miss of the learner's own loss."""
    reg: Floats
    """The regret of the learner's measures for the estimated losses."""
    bias2: Floats
    """What the estimates overstate of the best policy's loss."""

    def total(self) -> Floats:
        """ERROR + BIAS1 + REG + BIAS2."""
        return self.error + self.bias1 + self.reg + self.bias2


@dataclass(frozen=True)
class SolverStatistics:
    """What the projections of a run cost, and their certificates."""

    projections: int
    """Steps that were solved."""
    iterations: int
    """Iterations of the solver in all of them."""
    evaluations: int
    """Evaluations of its objective, a pass over all triples each."""
    products: int
    """Products with the Hessian where it is not factored."""
    safe_paths: int
    """Projections that needed the slower path, in logarithms."""
    worst_residual: float
    """The largest flow residual of any of them."""
    worst_gap: float
    """The largest duality gap."""


class Terms(NamedTuple):
    """The four terms of a ``Decomposition`` at one evaluation point."""

    error: float
    bias1: float
    reg: float
    bias2: float


@dataclass(frozen=True)
class EvaluationPoint:
    """The account after some episodes."""

    expected_loss: float
    """Sum of <q_t, l_t>."""
    realised_loss: float
    """Sum of the losses on the trajectories drawn."""
    best_loss: float
    """Total loss of the best fixed policy so far."""
    terms: Terms
    """What the regret consists of, for learners that estimate losses."""

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


class Evaluator:
    """Compares a ledger with the best fixed policy of the losses so far.

    Evaluation points are noted one after the other, here or in the compiled loop, and taken out
    together: a run that is looked at after every episode is hardly slower.
    """

    def __init__(self, mdp: LayeredMDP, ledger: Ledger) -> None:
        layout = mdp.layout
        self._world = (layout.graph(), np.array(mdp.flat), ledger)
        self.room = max(1, min(MOST_POINTS, MOST_PRODUCTS // layout.n_rows))
        """For so many points."""
        self.points, self._single = (new_points(layout, room) for room in (self.room, 1))
        self._note = machine_code(note_account, *self._world, self.points)

    def note(self) -> None:
        """The account now is that of the next point, for which there must be room."""
        self._note(*self._world, self.points)

    def now(self) -> EvaluationPoint:
        """The account now; nothing is noted."""
        self._note(*self._world, self._single)
        return point_of(*figures_of(self._single)[0].tolist())


def new_points(layout: Layout, room: int) -> Points:
    """Room for evaluation points, none of which is expected or noted."""
    return Points(
        at=np.full(room, NEVER),
        found=np.zeros(1, dtype=np.int64),
        figures=np.zeros((room, N_FIGURES)),
        products=np.zeros((room, layout.n_rows)),
        policy=np.zeros(layout.n_rows),
        mass=np.zeros(layout.n_states),
    )


def figures_of(points: Points) -> Floats:
    """Expected, realised and best loss and the four terms of all points noted; none is left."""
    n_points, points.found[0] = int(points.found[0]), 0
    figures = points.figures[:n_points].T
    best_estimated = np.sum(points.products[:n_points], axis=1)  # not by BLAS: threads split sums
    sums, best = figures[SUMS : SUMS + 4], figures[BEST]
    terms = four_terms(sums, best, best_estimated)
    return np.stack([sums[EXPECTED], sums[REALISED], best, *terms], axis=1)


def point_of(expected: float, realised: float, best: float, *terms: float) -> EvaluationPoint:
    """An evaluation point from its seven figures."""
    return EvaluationPoint(expected, realised, best, Terms(*terms))


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
