"""Making a solved dual the new occupancy measure, exactly in the set, with its certificate."""

from __future__ import annotations

import math

from .dual import CONSTANT, IMPLICIT, WRITTEN, Dual, Measure, write_weights
from .flow import forward
from .graph import Graph, gather, int64, row_begin, row_size
from .signed import TINY, from_log, logarithm
from .targets import kernel, leaf


@leaf
def commit_row(graph: Graph, r: int, measure: Measure, dual: Dual) -> None:
    """Replace p~ by p_beta."""
    if dual.holding[r] == CONSTANT:
        return
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    log_scale = 0.0
    if dual.holding[r] == IMPLICIT:
        gather(graph, r, dual.tilt, dual.near)
        smallest = math.inf
        for j in range(size):
            smallest = min(smallest, measure.chance[begin + j] * dual.near[j])
        if smallest * dual.scale[r] >= TINY:  # the common case: nothing is or gets tiny
            for j in range(size):
                measure.chance[begin + j] *= dual.scale[r] * dual.near[j]
            return
        for j in range(size):
            dual.near[j] *= dual.scale[r]
        write_weights(begin, size, measure.chance, dual.near, dual.work)
    tiny = 0
    for j in range(size):
        tiny += dual.work[begin + j] < TINY
    if tiny > 0:
        gather(graph, r, dual.beta, dual.near)
        if dual.holding[r] == IMPLICIT:
            log_scale = math.log(dual.scale[r])
        for j in range(size):
            e = begin + j
            if dual.work[e] < TINY:
                log_value = logarithm(measure.chance[e]) + dual.near[j]
                if dual.holding[r] == IMPLICIT:
                    dual.work[e] = from_log(log_value + log_scale)
                elif dual.group[e] > 0:
                    log_scale = dual.log_scale[2 * r + int64(dual.group[e]) - 1]
                    dual.work[e] = from_log(log_value + log_scale)
    for j in range(size):
        measure.chance[begin + j] = dual.work[begin + j]


@kernel
def commit(graph: Graph, measure: Measure, dual: Dual) -> float:
    """Make the projection the new measure, exactly in the set; returns the duality gap.

    With q the measure of (p_beta, pi) and o the outflow of the dual solution, the gap
    D(q || q~) - dual value telescopes to  sum over states of  q(x) ln(q(x) / o(x)).
    """
    for r in range(measure.policy.shape[0]):
        if dual.share[r] >= TINY:
            measure.policy[r] = dual.share[r]
        else:
            gain = -math.log(dual.scale[r]) if dual.holding[r] == IMPLICIT else dual.gain[r]
            total = dual.log_total[r // graph.n_actions]
            measure.policy[r] = from_log(logarithm(measure.policy[r]) + gain - total)
        commit_row(graph, r, measure, dual)
        if dual.holding[r] == WRITTEN:
            dual.scale[r] = 1.0
    forward(graph, measure.chance, measure.policy, measure.mass)
    gap = 0.0
    for x in range(measure.mass.shape[0] - 1):
        q = measure.mass[x]
        o = dual.outflow[x]
        if q > 0.0 and o > 0.0:
            gap += q * math.log(q / o) - (q - o) + dual.lift[x] * (q - o)
        if q < TINY:
            measure.mass[x] = logarithm(q) if q > 0.0 else 0.0
    return gap
