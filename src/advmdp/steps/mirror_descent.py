"""The mirror-descent step: KL projection onto the measures whose transition lies in a set.

    argmin over q in Delta(P) of D(q || weights),          Eq. (project_update)

solved through the dual in beta (see ``advmdp.kernels.kl.dual``) and certified: the result is
exactly feasible, and its duality gap says how far from optimal it can be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from advmdp.checks.arguments import instance
from advmdp.errors import InvalidInput, UncertifiedStep
from advmdp.kernels.kl.projection import project as project_measure
from advmdp.kernels.kl.safe.continuation import project_safely
from advmdp.kernels.kl.weights import project_weights
from advmdp.kernels.model.measure import join
from advmdp.kernels.runtime.targets import machine_code
from advmdp.layout import Floats, Layout, Table
from advmdp.one_thread import OneThread
from advmdp.steps.confidence import ConfidenceSet
from advmdp.steps.spare import Spare
from advmdp.steps.workspace import new_measure, new_solver

# Of ``project_weights``: all its arrays are made in this package, so their types never change.
_MACHINE_CODE: dict[tuple[type, bool | None, type], Callable[..., tuple[bool, float]]] = {}


class Projection(NamedTuple):
    """A certified projection."""

    occupancy: Table
    """The projected measure, a triple table; its flow is conserved to rounding."""
    flow_residual: float
    """Largest |inflow - outflow| of the dual solution, before the exact finish."""
    divergence: float
    """D(occupancy || weights), Eq. (KL); infinite if the weights' sum is beyond all floats."""
    dual_value: float
    """The dual value: a lower bound on every feasible divergence."""
    duality_gap: float
    """divergence - dual_value, from the flows alone: exact where the two would cancel."""
    iterations: int
    evaluations: int
    products: int
    """Hessian-vector products (wide layers only)."""
    safe_path: bool
    """Whether the slow path in logarithms was needed."""
    converged: bool


class Projector:
    """A projection with its work space, to be used many times on one layout.

    A projector serves one thread at a time: ``project`` raises ``InvalidInput`` while another
    thread is inside.  Give every thread its own.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = instance(layout, Layout, "layout")
        self._graph = layout.graph()
        self._solver = new_solver(layout)
        self._measure = new_measure(layout)
        self._one_thread = OneThread("project")

    def project(
        self,
        weights: Any = None,
        confidence: ConfidenceSet | None = None,
        *,
        log_weights: Any = None,
    ) -> Projection:
        """The KL projection of positive weights; raises ``UncertifiedStep`` rather than guess.

        With ``log_weights`` instead of ``weights``, a triple table of logarithms, the weights may
        differ by any number of orders of magnitude.
        """
        with self._one_thread:
            return self._project(weights, confidence, log_weights)

    def _project(self, weights: Any, confidence: Any, log_weights: Any) -> Projection:
        layout, graph, solver, measure = self.layout, self._graph, self._solver, self._measure
        instance(confidence, ConfidenceSet, "confidence")
        if confidence.layout is not layout and confidence.layout != layout:
            raise InvalidInput("project: the set belongs to another layout; build both on one")
        if (weights is None) == (log_weights is None):
            raise InvalidInput("give either weights or log_weights", field="weights")
        in_logs = log_weights is not None
        if in_logs:
            table = layout.flat_triples(log_weights, "log_weights")
        else:
            table = layout.gather_triples(weights, "weights")
        arguments = (graph, table, measure, confidence.rows, solver, in_logs)
        which = (type(confidence.rows), solver.wide, type(solver.couplings))
        if which not in _MACHINE_CODE:
            _MACHINE_CODE[which] = machine_code(project_weights, *arguments)
        certified, cost = _MACHINE_CODE[which](*arguments)
        if not certified:
            if not in_logs:
                _refuse_improper(layout, table)
            certified = self._project_safely(confidence)
            join(graph, measure, table)
        residual, gap, value = solver.certificate.figures.tolist()
        iterations, evaluations, products, safe_path = solver.certificate.counts.tolist()
        if not certified:
            raise UncertifiedStep(
                f"projection: flow residual {residual:.1e} after {iterations} iterations; "
                "check that the set is not empty and that the weights span fewer magnitudes"
            )
        dual_value = cost - value
        return Projection(
            occupancy=layout.triples(table),
            flow_residual=residual,
            divergence=dual_value + gap,
            dual_value=dual_value,
            duality_gap=gap,
            iterations=iterations,
            evaluations=evaluations,
            products=products,
            safe_path=bool(safe_path),
            converged=True,
        )

    def _project_safely(self, confidence: ConfidenceSet) -> bool:
        """What the fast path has left as it was: in logarithms, on the states that matter."""
        work = (self._graph, self._measure, confidence.rows, self._solver)
        missing = confidence.unreached()
        if missing.any() and confidence.rows.least_occupancy == 0.0:
            # Their multipliers would have to go to infinity; without weight they take no part.
            self._measure.mass[missing] = 0.0
            if project_measure(*work, None):
                return True
        return bool(project_safely(*work))


def _refuse_improper(layout: Layout, table: Floats) -> None:
    """Say which weight is not a positive number, if there is one."""
    flat = layout.flat_triples(table, "weights")
    if not flat.min() > 0.0:
        row = int(layout.entry_rows()[np.flatnonzero(flat <= 0)[0]])
        raise InvalidInput(
            f"weights: not positive at {layout.name_of_row(row)}; "
            "a triple that cannot happen is left out of the layout's successors"
        )


_SPARE = Spare(Projector)


def project(
    weights: Any = None,
    confidence: ConfidenceSet | None = None,
    *,
    log_weights: Any = None,
) -> Projection:
    """The KL projection of positive weights onto the measures of a set.

    Parameters
    ----------
    weights
        A triple table of positive numbers.
    confidence
        The set of transitions.
    log_weights
        The logarithms of the weights, given instead of them: ``weights`` that differ by more than
        300 orders of magnitude.

    >>> from advmdp.steps.confidence import AnyTransition
    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=1)
    >>> weights = [np.array([[[1.0, 3.0]]]), np.array([[[3.0]], [[1.0]]])]
    >>> result = project(weights, AnyTransition(layout))
    >>> result.occupancy[0].round(6), result.converged
    (array([[[0.5, 0.5]]]), True)

    A potential of 1,000 on one state is e^1000 in the weights, and changes nothing:

    >>> logs = [np.log(w) for w in weights]
    >>> logs[0][0, 0, 0] += 1000.0
    >>> logs[1][0] -= 1000.0
    >>> project(log_weights=logs, confidence=AnyTransition(layout)).occupancy[0].round(6)
    array([[[0.5, 0.5]]])
    """
    layout = instance(confidence, ConfidenceSet, "confidence").layout
    projector = _SPARE.borrow(layout)
    answer = projector.project(weights, confidence, log_weights=log_weights)
    _SPARE.give_back(layout, projector)
    return answer
