"""The largest occupancies of the states of a path, in the way that suits the layout and the set."""

from __future__ import annotations

from typing import Any

from ..model.graph import Floats, Graph
from ..model.visits import Counts
from ..runtime.targets import kernel
from .linear_maximum import Reach
from .occupancy_lanes import fills_lanes, largest_on_path
from .occupancy_packs import fills_packs, largest_in_packs
from .upper_occupancy import largest_state_occupancy


@kernel
def bounds_of_path(
    graph: Graph, states: Counts, policy: Floats, rows: Any, reach: Reach, printed: bool
) -> None:
    """The largest occupancy of ``states[k]`` in ``reach.bound[k]``; ``printed`` as a paper prints
    it."""
    out = reach.bound
    if not printed and fills_lanes(reach.lanes, rows):
        largest_on_path(graph, states, policy, rows, reach.lanes, out)
    elif not printed and fills_packs(reach.packs, rows):
        largest_in_packs(graph, states, policy, rows, reach.packs, reach.order, reach.value, out)
    else:
        for k in range(out.shape[0]):
            out[k] = largest_state_occupancy(graph, states[k], k, policy, rows, reach, printed)
