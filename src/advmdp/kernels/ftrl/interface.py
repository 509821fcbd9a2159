"""What the Newton search asks of a problem, found by the type of its dual.

A dual has the fields of ``FixedDual`` that ``newton`` and ``hessian`` name: reduced costs and their
slopes, flows, gradient, direction, the blocks, a certificate.
"""

from __future__ import annotations

from typing import Any

from ..model.graph import Graph
from ..runtime.dispatch import dispatched
from .fixed_measure import FixedMeasure


@dispatched("dual", inline=False)
def evaluate(
    graph: Graph, measure: FixedMeasure, regulariser: Any, dual: Any, step: float
) -> float:
    """The sum over rows of their minima at  reduced + step * slope;  NaN outside the domain.

    Fills the minimisers, and inflow and outflow of every state.
    """


@dispatched("dual")
def find_slopes(
    graph: Graph, measure: FixedMeasure, regulariser: Any, dual: Any
) -> tuple[float, float]:
    """The slopes of the reduced costs; that of -D, and the longest step inside the domain."""


@dispatched("dual")
def add_state(graph: Graph, x: int, k: int, measure: FixedMeasure, dual: Any) -> None:
    """Add what the rows of a state of layer k say to the Hessian of -D (``hessian``)."""


@dispatched("dual")
def commit(graph: Graph, measure: FixedMeasure, regulariser: Any, dual: Any) -> float:
    """Make the minimisers the new measure, exact in its flow; returns the duality gap."""


@dispatched("dual")
def judge(
    dual: Any, trial: float, value: float, step: float, descent: float, residual: float
) -> float:
    """The part of a step to try next; one if its trial is accepted.

    ``value`` and ``descent`` are -D and its slope at the base point, ``residual`` is the trial's.
    """
