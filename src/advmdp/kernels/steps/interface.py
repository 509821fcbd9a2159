"""What every regularised step answers: how an iterate moves, found by the type of its record.

A step keeps the iterate q_t as a ``Measure`` in a field ``measure`` and moves it in two acts:

    add_path_losses, add_losses   take eta times the (estimated) losses into the objective
    solve_step                    the minimiser over the set, committed when certified

An episode that cannot be certified is taken back with ``remove_path_losses`` or ``remove_losses``.
To add a step: a record, these functions registered for it, and a learner that is made with it; the
loops, the batches and the store find it by its type.  ``tests/test_every_step.py`` has the list of
properties.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model.graph import Floats, Graph
from ..model.measure import Measure
from ..model.visits import Counts, Visits
from ..runtime.dispatch import dispatched
from ..runtime.storage import Lasting
from ..runtime.targets import leaf

# Places in ``Certificate.counts``.
ITERATIONS, EVALUATIONS, PRODUCTS, SAFE = 0, 1, 2, 3
# Places in ``Certificate.figures``.
RESIDUAL, GAP, VALUE = 0, 1, 2


COOPERATIVE: set[type] = set()
"""Steps and learners' states whose kernels several threads may run (``runtime/threads``)."""


class Certificate(NamedTuple):
    """How the last step was solved."""

    counts: Lasting[NDArray[np.int64]]  # (4,) iterations, evaluations, Hessian products, safe path
    figures: Lasting[Floats]  # (3,) flow residual, duality gap, dual value


@dispatched("step")
def add_path_losses(graph: Graph, step: Any, path: Counts, losses: Floats, eta: float) -> None:
    """Add eta times the losses (L,) of the visited rows to the objective."""


@dispatched("step")
def add_losses(graph: Graph, step: Any, losses: Floats, eta: float) -> None:
    """Add eta times the losses (R,) of all rows to the objective."""


@dispatched("step")
def remove_path_losses(graph: Graph, step: Any, path: Counts) -> None:
    """Take back ``add_path_losses``, as long as nothing was solved since."""


@dispatched("step")
def remove_losses(graph: Graph, step: Any) -> None:
    """Take back ``add_losses``, as long as nothing was solved since."""


@leaf
def _no_hints(graph: Graph, step: Any, heard: Floats, coming: Floats, eta: float) -> None:
    return


@dispatched("step", default=_no_hints)
def replace_hint(graph: Graph, step: Any, heard: Floats, coming: Floats, eta: float) -> None:
    """Take eta times a hint (R,) out of the objective, and that of the coming episode in.

    Called after ``add_losses`` of the same episode, and taken back with it.  A step without this
    function belongs to learners without hints.
    """


@dispatched("step", inline=False)
def pull_towards(
    graph: Graph, step: Any, rows: Any, first: Measure, share: float, before: Measure
) -> None:
    """Make the iterate q^share first^(1 - share), as weights of the coming step onto ``rows``.

    ``before`` takes the iterate as it was.  For learners that change their rate: a step without
    this function belongs to no such learner.
    """


@dispatched("step", inline=False)
def solve_step(graph: Graph, step: Any, rows: Any, in_logs: bool | None) -> bool:
    """Move the iterate to the minimiser over the set; False, and nothing moved, if not certified.

    ``in_logs`` is None on the fast path and True on the safe one: the compiler drops the branch of
    an argument that is None.
    """


@dispatched("step", returns_record=True)
def certificate_of(step: Any) -> Certificate:
    """The certificate of the last solution."""


@leaf
def _nothing_to_forget(step: Any) -> None:
    return


@dispatched("step", default=_nothing_to_forget)
def forget_everything(step: Any) -> None:
    """The iterate was set by somebody else: drop what the last solution found out about rows."""


@leaf
def _nothing(graph: Graph, step: Any, rows: Any, visits: Visits) -> None:
    return


@leaf
def _nothing_to_note(step: Any, path: Counts) -> None:
    return


@dispatched("step", default=_nothing_to_note)
def note_only_path(step: Any, path: Counts) -> None:
    """Since the last solution nothing has changed but what ``add_path_losses`` has just added."""


@dispatched("step", default=_nothing)
def forget_bounds(graph: Graph, step: Any, rows: Any, visits: Visits) -> None:
    """The rows of the counters listed in ``visits`` have new bounds, those of ``rows``.

    Called before the losses of the episode that opened the epoch are added.
    """


@leaf
def _nothing_to_observe(graph: Graph, step: Any, policy: Floats, rows: Any, reach: Any) -> None:
    return


@dispatched("step", default=_nothing_to_observe)
def observe_episode(graph: Graph, step: Any, policy: Floats, rows: Any, reach: Any) -> None:
    """The policy and the set of an episode, before its losses and counts: rates may follow them.

    ``reach`` is the work space of upper occupancy bounds.
    """


@leaf
def _only_with_losses(step: Any) -> bool:
    return False


@dispatched("step", default=_only_with_losses)
def moves_without_losses(step: Any) -> bool:
    """Whether the iterate moves in an episode without losses, inside an epoch."""
