"""What a set of transitions answers for one of its rows that is neither free nor known."""

from __future__ import annotations

from typing import Any

from ...model.graph import Graph
from ...runtime.dispatch import dispatched
from ..regulariser import Regulariser
from .dual import TripleDual


@dispatched("rows")
def solve_bound_row(
    graph: Graph, r: int, regulariser: Regulariser, rows: Any, dual: TripleDual
) -> float:
    """The minimum of a row, its minimiser and curvature in ``dual``; NaN outside the domain."""
