"""Newton directions by blocks that are formed and factored, in the way that suits the couplings."""

from __future__ import annotations

from typing import Any

from ...linear.block_solve import solve_blocks
from ...model.graph import Graph
from ...model.measure import Measure
from ...runtime.dispatch import dispatched
from ...runtime.targets import leaf
from ...runtime.threads import MAY_SHARE, n_threads
from ..known.sweep import only_policy_moves
from .block_entries import assemble_together
from .blocks import assemble_alone
from .known_blocks import assemble_known


@leaf
def by_full_blocks(
    couplings: Any, graph: Graph, measure: Measure, rows: Any, solver: Any, factored: bool
) -> None:
    """The Hessian of G, whatever the couplings."""
    vectors = solver.vectors
    if not factored:
        if MAY_SHARE and n_threads() > 1:
            assemble_together(graph, measure, solver.dual, solver.blocks)
        elif only_policy_moves(rows):
            assemble_known(graph, measure, solver.dual, solver.blocks)
        else:
            assemble_alone(graph, measure, solver.dual, solver.blocks)
    solve_blocks(graph, vectors.gradient, solver.blocks, vectors.direction, factored)


@dispatched("couplings", default=by_full_blocks)
def block_direction(
    couplings: Any, graph: Graph, measure: Measure, rows: Any, solver: Any, factored: bool
) -> None:
    """-Hessian^{-1} gradient; blocks that are ``factored`` already are used as they are."""
