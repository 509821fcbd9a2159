"""Probabilities that may be smaller than any float: *log storage*.

Mirror descent multiplies: after long runs policies and transition estimates reach e^{-10000}, and
their logarithms must survive because a later loss can bring them back.  One float64 holds both
cases: a positive number is the probability, a negative one is its logarithm (used below 1e-200).
Sums read ``linear``; only the rare tiny entries pay for a logarithm.
"""

from __future__ import annotations

import math

from ..runtime.targets import leaf

TINY = 1e-200


@leaf
def linear(value: float) -> float:
    return max(value, 0.0)


@leaf
def logarithm(value: float) -> float:
    """The logarithm of a stored probability; -inf for an exact zero."""
    if value > 0.0:
        return math.log(value)
    if value < 0.0:
        return value
    return -math.inf


@leaf
def from_log(log_value: float) -> float:
    """A logarithm as a stored probability; an exact zero stays zero."""
    value = math.exp(log_value)
    if value >= TINY or log_value == -math.inf:
        return value
    return log_value
