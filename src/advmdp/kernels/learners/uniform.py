"""A policy that never learns."""

from __future__ import annotations

from typing import NamedTuple

from ..model.graph import Floats, Graph
from ..model.visits import Counts
from ..runtime.storage import Lasting
from ..runtime.targets import kernel
from .interface import bandit_update


class FixedPolicy(NamedTuple):
    """The state of a learner that does not learn."""

    policy: Lasting[Floats]  # (R,)


@bandit_update(FixedPolicy)
@kernel
def update(graph: Graph, state: FixedPolicy, states: Counts, path: Counts, losses: Floats) -> None:
    """Nothing changes."""
