"""What every learner does with an episode: found by the type of its state, when compiling.

A learner's kernel file declares a NamedTuple of arrays, its *state*.  The loops of ``accounting``
ask it for the policy (``current_policy``), hand it an episode (``begin_update``), solve what that
left pending (``solve_pending``) and make it final (``settle_update``); an episode whose step cannot
be certified is taken back with ``undo_update``.  Most learners need one function:

    @bandit_update(MyState)          # or full_update: it is then handed the losses of all rows
    @kernel
    def update(graph, state, states, path, losses): ...

for a state with a field ``policy`` (a vector over rows); for everything else there are defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..model.graph import Floats, Graph
from ..model.visits import Counts
from ..runtime.dispatch import Borrowed, dispatched
from ..runtime.targets import kernel, leaf
from ..steps.interface import COOPERATIVE

F = TypeVar("F", bound=Callable[..., Any])

FULL_INFORMATION: set[type] = set()
"""States that are handed the losses of all rows."""


def is_cooperative(state: Any) -> bool:
    """Whether several threads may play a run of this learner."""
    return {type(state), type(getattr(state, "step", state))} <= COOPERATIVE


# ---------------------------------------------------------------------- the update


@leaf
def _its_policy(state: Any) -> Borrowed:
    return Borrowed(state.policy)


@dispatched("state", default=_its_policy, returns_record=True)
def current_policy(state: Any) -> Borrowed:
    """pi_t over rows, in log storage."""


@dispatched("state", inline=False)
def begin_update(
    graph: Graph,
    state: Any,
    states: Counts,
    path: Counts,
    path_losses: Floats,
    all_losses: Floats,
) -> bool:
    """Learn from an episode played with ``current_policy``; True if a step is pending.

    ``all_losses`` may be empty unless the learner has full information.
    """


@leaf
def _nothing_pending(graph: Graph, state: Any, in_logs: bool | None) -> bool:
    return True


@dispatched("state", default=_nothing_pending)
def solve_pending(graph: Graph, state: Any, in_logs: bool | None) -> bool:
    """Solve the pending step (``steps``), on the safe path if ``in_logs``; False if uncertified."""


@leaf
def _nothing_to_settle(graph: Graph, state: Any) -> None:
    return


@dispatched("state", default=_nothing_to_settle)
def settle_update(graph: Graph, state: Any) -> None:
    """The episode is final."""


@leaf
def _nothing_to_undo(graph: Graph, state: Any, states: Counts, path: Counts) -> None:
    return


@dispatched("state", default=_nothing_to_undo)
def undo_update(graph: Graph, state: Any, states: Counts, path: Counts) -> None:
    """Take back ``begin_update`` of an episode that is not final."""


def bandit_update(state: type) -> Callable[[F], F]:
    """Register the update of a learner that sees the losses of its own path, and no others."""

    def register(update: F) -> F:
        def begin(
            graph: Graph,
            state: Any,
            states: Counts,
            path: Counts,
            path_losses: Floats,
            all_losses: Floats,
        ) -> bool:
            update(graph, state, states, path, path_losses)
            return False

        begin_update.register(state)(begin)
        return update

    return register


def full_update(state: type) -> Callable[[F], F]:
    """Register the update of a learner that sees the losses of all pairs."""

    def register(update: F) -> F:
        def begin(
            graph: Graph,
            state: Any,
            states: Counts,
            path: Counts,
            path_losses: Floats,
            all_losses: Floats,
        ) -> bool:
            update(graph, state, states, path, all_losses)
            return False

        begin_update.register(state)(begin)
        FULL_INFORMATION.add(state)
        return update

    return register


@kernel
def update(
    graph: Graph,
    state: Any,
    states: Counts,
    path: Counts,
    path_losses: Floats,
    all_losses: Floats,
) -> bool:
    """One whole update; False when its step is pending for the safe path."""
    if begin_update(graph, state, states, path, path_losses, all_losses) and not solve_pending(
        graph, state, None
    ):
        return False
    settle_update(graph, state)
    return True


@kernel
def finish_safely(graph: Graph, state: Any) -> bool:
    """The pending step on the safe path."""
    if not solve_pending(graph, state, True):
        return False
    settle_update(graph, state)
    return True


# ---------------------------------------------------------------------- what the accounting reads


@leaf
def _no_iterate(graph: Graph, state: Any, losses: Floats) -> float:
    return 0.0


@dispatched("state", default=_no_iterate)
def iterate_loss(graph: Graph, state: Any, losses: Floats) -> float:
    """<q^_t, losses> for the learner's own occupancy measure q^_t, before the update."""


@leaf
def _no_estimates(
    state: Any, path: Counts, losses: Floats, iterate: float, total: Floats, inner: float
) -> float:
    return inner


@dispatched("state", default=_no_estimates)
def add_estimates(
    state: Any, path: Counts, losses: Floats, iterate: float, total: Floats, inner: float
) -> float:
    """Add the estimates l^_t of the last update to ``total`` (R,), and <q^_t, l^_t> to ``inner``.

    Returns the sum; ``iterate`` is <q^_t, l_t>, which is the same under full information.
    """


@leaf
def _no_certificate(state: Any, counts: NDArray[np.int64], worst: Floats) -> None:
    return


@dispatched("state", default=_no_certificate)
def add_certificate(state: Any, counts: NDArray[np.int64], worst: Floats) -> None:
    """Add the certificate of the last step: four counts, their number, and two maxima."""


@leaf
def _no_epoch(state: Any) -> tuple[int, float]:
    return 0, 0.0


@dispatched("state", default=_no_epoch)
def epoch_and_width(state: Any) -> tuple[int, float]:
    """What an evaluation point shows of a learner: its epoch, and how much its set leaves open."""
