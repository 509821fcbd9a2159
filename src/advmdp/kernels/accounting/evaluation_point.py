"""An evaluation point of a run: what the best fixed policy would have paid so far."""

from __future__ import annotations

from ..model.flow import best_response, expected_loss, forward_shared
from ..model.graph import Graph
from ..runtime.targets import kernel
from .ledger import Ledger, World

# Places in the figures of an evaluation point: the four sums of the ledger, the best policy's loss
# and what the estimates say of it, the learner's epoch and mean width.
SUMS, BEST, BEST_ESTIMATED, EPOCH, WIDTH, N_FIGURES = 0, 4, 5, 6, 7, 8


@kernel
def judge(graph: Graph, world: World, ledger: Ledger) -> tuple[float, float]:
    """The total loss of the best fixed policy, and what the estimates say that it is.

    Works in the ledger's arrays for the current episode, which the next one fills anew.
    """
    best = best_response(graph, world.transitions, ledger.total, ledger.mass, ledger.losses)
    forward_shared(graph, world.transitions, ledger.losses, ledger.mass, ledger.flow)
    return best, expected_loss(graph, ledger.losses, ledger.mass, ledger.estimated)
