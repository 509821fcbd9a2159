"""An occupancy measure as the kernels hold it: transition, policy and state masses."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..runtime.storage import Lasting
from ..runtime.targets import kernel
from .graph import Floats, Graph, row_scale
from .log_storage import linear


class Measure(NamedTuple):
    """q(x, a, x') = mass(x) policy(a | x) chance(x' | x, a), all three in log storage."""

    chance: Lasting[Floats]  # (E,) P^q(x' | x, a)
    policy: Lasting[Floats]  # (R,) pi^q(a | x)
    mass: Lasting[Floats]  # (S,) q(x)


@kernel
def join(graph: Graph, measure: Any, out: Floats) -> None:
    """out = q = mass * policy * chance over entries, of a record with these three."""
    for r in range(measure.policy.shape[0]):
        flow = linear(measure.mass[r // graph.n_actions]) * linear(measure.policy[r])
        row_scale(graph, r, measure.chance, flow, out)


@kernel
def copy_measure(source: Measure, target: Measure) -> None:
    """Of one layout."""
    for e in range(source.chance.shape[0]):
        target.chance[e] = source.chance[e]
    for r in range(source.policy.shape[0]):
        target.policy[r] = source.policy[r]
    for x in range(source.mass.shape[0]):
        target.mass[x] = source.mass[x]
