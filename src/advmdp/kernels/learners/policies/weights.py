"""Exponential weights in one state: the improvement step that all policy optimisation shares."""

from __future__ import annotations

import math

from ...model.graph import Floats, Graph
from ...runtime.targets import kernel, leaf


@leaf
def weigh_actions(policy: Floats, score: Floats, rate: float, x: int, n_actions: int) -> None:
    """policy(. | x) proportional to e^{-rate score}; the least score becomes zero.

    Scores are sums of estimates, not logarithms of the policy: a probability that underflows keeps
    its memory, and the rate may change from episode to episode.
    """
    begin = x * n_actions
    least = math.inf
    for r in range(begin, begin + n_actions):
        least = min(least, score[r])
    total = 0.0
    for r in range(begin, begin + n_actions):
        score[r] -= least
        policy[r] = math.exp(-rate * score[r])
        total += policy[r]
    for r in range(begin, begin + n_actions):
        policy[r] /= total


@kernel
def forget_scores(graph: Graph, policy: Floats, score: Floats) -> None:
    """Begin again: the uniform policy."""
    for r in range(policy.shape[0]):
        policy[r] = 1.0 / graph.n_actions
        score[r] = 0.0
