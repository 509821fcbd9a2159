"""A policy that never learns."""

from __future__ import annotations

from typing import NamedTuple

from .graph import Floats, Graph
from .learning import bandit_update
from .targets import kernel
from .visits import Counts


class FixedPolicy(NamedTuple):
    """The state of a learner that does not learn."""

    policy: Floats  # (R,)


@bandit_update(FixedPolicy)
@kernel
def update(graph: Graph, state: FixedPolicy, states: Counts, path: Counts, losses: Floats) -> None:
    """Nothing changes."""
