"""Estimates from one number an episode: c, the sum of its losses divided by L.

With pi the policy of the episode, q(x) its occupancy and u(x) >= q(x) the upper bound,

    SUM_OWN     l^(x, a) = c (1{x, a} / q(x, a) - 1{x} / q(x))
    SUM_UPPER   l^(x, a) = c (1{x, a} - pi 1{x}) / (u(x) pi) + (1 - pi) (1{x} / u(x) - 1)

where pi = pi(a | x) and 1{.} says whether the episode went through.  Given x, what was lost before
x does not depend on a: the first estimates the advantage (Q - V) / L without bias, the second has
expectation  (q / u) ((Q - V) / L + 1 - pi) - (1 - pi),  which is never above (Q - V) / L.
"""

from __future__ import annotations

from typing import Any

from ...model.graph import Floats, Graph, owner_of
from ...model.log_storage import linear
from ...model.visits import Counts
from ...runtime.targets import kernel, leaf
from ...runtime.threads import barrier, shared
from .baseline import Baseline

SUM_OWN, SUM_UPPER = 3, 4


@leaf
def is_aggregate(baseline: Baseline) -> bool:
    """Whether the learner sees the sum of the losses alone."""
    return baseline.kind >= SUM_OWN


@kernel
def estimate_from_sum(
    graph: Graph, baseline: Baseline, issued: Any, visited: Any, path: Counts, losses: Floats
) -> None:
    """Write the estimates of all pairs; of the losses only their sum is used."""
    total = 0.0
    for k in range(losses.shape[0]):
        total += losses[k]
    mean = total / losses.shape[0]
    pessimistic = baseline.kind == SUM_UPPER
    for r in shared(0, baseline.estimate.shape[0]):
        baseline.estimate[r] = linear(issued.policy[r]) - 1.0 if pessimistic else 0.0
    barrier()
    for k in shared(0, path.shape[0]):
        # visited.bound is u(x_k, a_k) or q(x_k, a_k); of the state it is that over the policy.
        played = max(visited.bound[k], 1e-300)
        share = max(linear(issued.policy[path[k]]), 1e-300)
        first = owner_of(graph, path[k]) * graph.n_actions
        for r in range(first, first + graph.n_actions):
            baseline.estimate[r] -= mean * share / played
            if pessimistic:
                baseline.estimate[r] += (1.0 - linear(issued.policy[r])) * share / played
        baseline.estimate[path[k]] += mean / played
        visited.estimate[k] = baseline.estimate[path[k]]
    barrier()
    inner = 0.0
    for r in range(baseline.estimate.shape[0]):
        occupancy = linear(issued.mass[owner_of(graph, r)]) * linear(issued.policy[r])
        inner += occupancy * baseline.estimate[r]
    baseline.inner[0] = inner
