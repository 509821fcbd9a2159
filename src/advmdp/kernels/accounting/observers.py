"""Observers of a compiled run: they see everything and change nothing.

The loop calls ``observe_before`` and ``observe_after`` around every update and ``observe_end``
behind the last, with an observer of any type that has registered them; None observes nothing, and
costs nothing.  A run with an observer has the same bits as one without.
"""

from __future__ import annotations

from typing import Any

from ..model.graph import Graph
from ..runtime.dispatch import dispatched
from ..runtime.targets import leaf
from .ledger import Ledger, World


@leaf
def _see_nothing(graph: Graph, world: World, state: Any, ledger: Ledger, observer: Any) -> None:
    return


@dispatched("observer", default=_see_nothing)
def observe_before(graph: Graph, world: World, state: Any, ledger: Ledger, observer: Any) -> None:
    """The episode is played and accounted for; the learner has not learnt from it yet."""


@dispatched("observer", default=_see_nothing)
def observe_after(graph: Graph, world: World, state: Any, ledger: Ledger, observer: Any) -> None:
    """The learner has estimated the losses of the episode; its step is still pending."""


@dispatched("observer", default=_see_nothing)
def observe_end(graph: Graph, world: World, state: Any, ledger: Ledger, observer: Any) -> None:
    """All episodes of a slice are final."""
