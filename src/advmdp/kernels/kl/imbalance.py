"""How far the flows are from being conserved, and where a line search begins.

One thread finds all of it in vector registers (``lanes/vectors``); several take turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..lanes.passes import inner
from ..lanes.vectors import Lanes, vectorised
from ..model.graph import Floats
from ..runtime.targets import kernel, leaf
from ..runtime.threads import MAY_SHARE, barrier, n_threads, reduce_max, shared
from .dual import Dual
from .linear.conjugate import Vectors

NEGLIGIBLE = 1e-200  # states with less flow are not asked for relative accuracy


def _size(lanes: Lanes, value: Any) -> Any:
    return lanes.larger(value, lanes.subtract(lanes.every(0.0), value))


def _compare_flows(lanes: Lanes, inflow: Any, outflow: Any, old: Any) -> Sequence[Any]:
    difference = lanes.subtract(inflow, outflow)
    high, low = lanes.larger(inflow, outflow), lanes.smaller(inflow, outflow)
    counts = lanes.less(lanes.every(NEGLIGIBLE), high)
    ratio = lanes.where(counts, lanes.over(high, low), lanes.every(1.0))
    return [_size(lanes, difference), ratio, difference]


@vectorised(_compare_flows, n_results=2, writes=[2], largest=True)
def compare_flows(
    inflow: Floats,
    inflow_begin: int,
    outflow: Floats,
    outflow_begin: int,
    gradient: Floats,
    begin: int,
    size: int,
) -> tuple[float, float]:
    """gradient = inflow - outflow; its largest entry, and the largest ratio of the two."""
    absolute = 0.0
    ratio = 0.0
    for j in range(size):
        difference = inflow[inflow_begin + j] - outflow[outflow_begin + j]
        gradient[begin + j] = difference
        absolute = max(absolute, abs(difference))
        high = max(inflow[inflow_begin + j], outflow[outflow_begin + j])
        low = min(inflow[inflow_begin + j], outflow[outflow_begin + j])
        if high > NEGLIGIBLE:
            ratio = max(ratio, high / low)
    return absolute, ratio


def _longest(lanes: Lanes, value: Any) -> Sequence[Any]:
    return [_size(lanes, value)]


@vectorised(_longest, largest=True)
def longest_entry(vector: Floats, begin: int, size: int) -> float:
    """The largest absolute value."""
    longest = 0.0
    for j in range(size):
        longest = max(longest, abs(vector[begin + j]))
    return longest


@kernel
def measure_imbalance(dual: Dual, gradient: Floats) -> tuple[float, float, float]:
    """The gradient, and its worst entry: absolute, relative to the flow, as a ratio."""
    absolute = 0.0
    ratio = 1.0  # the worst of larger flow / smaller flow
    n = gradient.shape[0]
    gradient[0] = 0.0
    gradient[n - 1] = 0.0
    if MAY_SHARE and n_threads() > 1:
        for x in shared(1, n - 1):
            inflow = dual.flows.inflow[x]
            outflow = dual.flows.outflow[x]
            gradient[x] = inflow - outflow
            absolute = max(absolute, abs(inflow - outflow))
            if max(inflow, outflow) > NEGLIGIBLE:
                ratio = max(ratio, max(inflow, outflow) / max(min(inflow, outflow), 1e-300))
        barrier()
        absolute = reduce_max(absolute)
        ratio = reduce_max(ratio)
    else:
        absolute, ratio = compare_flows(
            dual.flows.inflow, 1, dual.flows.outflow, 1, gradient, 1, n - 2
        )
        ratio = max(ratio, 1.0)
    return absolute, 1.0 - 1.0 / ratio, ratio


@leaf
def begin_line_search(dual: Dual, vectors: Vectors, longest_allowed: float) -> tuple[float, float]:
    """Make beta the base point; returns the slope along the direction and the first step."""
    n = dual.beta.shape[0]
    longest = 0.0
    slope = 0.0
    for x in shared(0, n):
        vectors.base[x] = dual.beta[x]
    if MAY_SHARE and n_threads() > 1:
        for x in shared(0, n):
            dual.term[x] = vectors.gradient[x] * vectors.direction[x]
            longest = max(longest, abs(vectors.direction[x]))
        barrier()
        longest = reduce_max(longest)
        for x in range(n):
            slope += dual.term[x]
    else:
        longest = longest_entry(vectors.direction, 0, n)
        slope = inner(vectors.gradient, 0, vectors.direction, 0, n)
    return slope, min(1.0, longest_allowed / max(longest, 1e-300))
