"""An evaluation point of a run: what the best fixed policy would have paid so far."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..learners.interface import epoch_and_width
from ..model.flow import best_response, expected_loss, forward, forward_shared
from ..model.graph import Floats, Graph
from ..model.visits import Counts
from ..runtime.storage import Scratch
from ..runtime.targets import kernel
from .ledger import Ledger, World

# Places in the figures of an evaluation point: the four sums of the ledger, the best policy's loss
# and what the estimates say of it, the learner's epoch and mean width.
SUMS, BEST, BEST_ESTIMATED, EPOCH, WIDTH, N_FIGURES = 0, 4, 5, 6, 7, 8
NEVER = 2**62
"""An evaluation point that no run comes to."""


class Points(NamedTuple):
    """The next evaluation points of a run on the CPU, and what was found at those behind it."""

    at: Scratch[Counts]  # (P,) numbers of episodes, increasing; NEVER behind the last
    found: Scratch[Counts]  # (1,) how many were noted
    figures: Scratch[Floats]  # (P, N_FIGURES), BEST_ESTIMATED excepted
    products: Scratch[Floats]  # (P, R) q*(x, a) times the sum of its estimates
    policy: Scratch[Floats]  # (R,) the best policy
    mass: Scratch[Floats]  # (S,) q*(x)


@kernel
def judge(graph: Graph, world: World, ledger: Ledger) -> tuple[float, float]:
    """The total loss of the best fixed policy, and what the estimates say that it is.

    Works in the ledger's arrays for the current episode, which the next one fills anew.
    """
    best = best_response(graph, world.transitions, ledger.total, ledger.mass, ledger.losses)
    forward_shared(graph, world.transitions, ledger.losses, ledger.mass, ledger.flow)
    return best, expected_loss(graph, ledger.losses, ledger.mass, ledger.estimated)


@kernel
def note_account(graph: Graph, transitions: Floats, ledger: Ledger, points: Points) -> None:
    """The account at the next evaluation point, all but the sum over ``products``.

    NumPy adds that up for many points at once, in pairs, as it does for a single one.
    """
    place = points.found[0]
    for i in range(4):
        points.figures[place, SUMS + i] = ledger.sums[i]
    points.figures[place, BEST] = best_response(
        graph, transitions, ledger.total, points.mass, points.policy
    )
    forward(graph, transitions, points.policy, points.mass)
    r = 0
    for x in range(points.mass.shape[0] - 1):
        for _ in range(graph.n_actions):
            points.products[place, r] = points.policy[r] * points.mass[x] * ledger.estimated[r]
            r += 1
    points.found[0] = place + 1


@kernel
def note_point(graph: Graph, world: World, ledger: Ledger, points: Points, state: Any) -> None:
    """The account at the next evaluation point, and what it shows of the learner."""
    place = points.found[0]
    epoch, width = epoch_and_width(state)
    points.figures[place, EPOCH] = epoch
    points.figures[place, WIDTH] = width
    note_account(graph, world.transitions, ledger, points)
