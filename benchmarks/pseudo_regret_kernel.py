"""A compiled observer: regret against the policy that is best for the mean losses.

With losses l_t of mean mu, independent of the past,

    pseudo-regret   sum over t of  <q_t - q*, mu>,   q* best for mu

has the expectation of  sum of <q_t - q*, l_t>,  the regret as long as q* is also best in hindsight,
without the noise of  sum of <q_t - q*, l_t - mu>.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from advmdp.kernels.accounting.ledger import Ledger, World
from advmdp.kernels.accounting.observers import observe_before
from advmdp.kernels.learners.interface import current_policy
from advmdp.kernels.model.flow import expected_loss
from advmdp.kernels.model.graph import Floats, Graph
from advmdp.kernels.runtime.storage import Common, Lasting, Number
from advmdp.kernels.runtime.targets import kernel


class MeanObserver(NamedTuple):
    """The running sum."""

    mean: Common[Floats]  # (R,) mu
    best: Number[float]  # <q*, mu>
    sums: Lasting[Floats]  # (1,) pseudo-regret so far


@observe_before.register(MeanObserver)
@kernel
def add_excess(
    graph: Graph, world: World, state: Any, ledger: Ledger, observer: MeanObserver
) -> None:
    """The expected loss of the played policy, less that of the best."""
    policy = current_policy(state).array
    observer.sums[0] += expected_loss(graph, policy, ledger.mass, observer.mean) - observer.best
