"""Making a solved dual the new occupancy measure, exactly in the set, with its certificate."""

from __future__ import annotations

import math

from ..model.flow import forward_shared
from ..model.graph import (
    Graph,
    gather,
    layer_of,
    owner_of,
    row_begin,
    row_dot_and_low,
    row_size,
    row_tilt,
)
from ..model.log_storage import TINY, from_log, linear, logarithm
from ..runtime.indices import int64
from ..runtime.passes import sum_and_low
from ..runtime.targets import kernel, leaf
from ..runtime.threads import barrier, shared
from ..sets.rows import BOX, TransitionSet
from .dual import CONSTANT, IMPLICIT, POOLED, WRITTEN, Dual, Measure, gain_of, log_scale_of
from .merged_rows import note_tightness


@leaf
def commit_tiny(graph: Graph, r: int, measure: Measure, dual: Dual) -> None:
    """Entries of ``work`` that are too small for it as logarithms."""
    begin = row_begin(graph, r)
    gather(graph, r, dual.beta, dual.near)
    for j in range(row_size(graph, r)):
        e = begin + j
        if dual.work[e] < TINY:
            log_value = logarithm(measure.chance[e]) + dual.near[j]
            if dual.holding[r] == IMPLICIT:
                dual.work[e] = from_log(log_value + math.log(dual.scale[r]))
            elif dual.group[e] > 0:
                log_scale = log_scale_of(dual, r, int64(dual.group[e]))
                dual.work[e] = from_log(log_value + log_scale)


@leaf
def commit_row(graph: Graph, r: int, x: int, measure: Measure, dual: Dual) -> None:
    """Replace p~ by p_beta, and find the share of a pooled row."""
    if dual.holding[r] == CONSTANT:
        return
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    if dual.holding[r] != WRITTEN:
        # tilts are at most one, so what is not tiny before it is scaled is not so after it either
        growth, tiny = row_dot_and_low(graph, r, measure.chance, dual.tilt, TINY)
        if dual.holding[r] == POOLED:
            dual.scale[r] = 1.0 / growth
            dual.share[r] = linear(measure.policy[r]) * growth / dual.total[x]
            dual.holding[r] = IMPLICIT
        if tiny == 0.0:
            row_tilt(graph, r, measure.chance, dual.tilt, dual.scale[r], measure.chance)
            return
        row_tilt(graph, r, measure.chance, dual.tilt, dual.scale[r], dual.work)
    _, low = sum_and_low(dual.work, begin, size, TINY)
    if low > 0.0:
        commit_tiny(graph, r, measure, dual)
    for j in range(size):
        measure.chance[begin + j] = dual.work[begin + j]


@leaf
def commit_choice(r: int, x: int, measure: Measure, dual: Dual) -> None:
    """Replace pi~ by the policy of the solution."""
    if dual.share[r] >= TINY:
        measure.policy[r] = dual.share[r]
    else:
        gain = gain_of(dual, r)
        log_total = math.log(dual.total[x]) if dual.total[x] > 0.0 else dual.log_total[x]
        measure.policy[r] = from_log(logarithm(measure.policy[r]) + gain - log_total)


@kernel
def commit(graph: Graph, measure: Measure, rows: TransitionSet, dual: Dual) -> float:
    """Make the projection the new measure, exactly in the set; returns the duality gap.

    With q the measure of (p_beta, pi) and o the outflow of the dual solution, the gap
    D(q || q~) - dual value telescopes to  sum over states of  q(x) ln(q(x) / o(x)).
    """
    n = measure.mass.shape[0] - 1
    for r in shared(0, measure.policy.shape[0]):
        x = owner_of(graph, r)
        commit_row(graph, r, x, measure, dual)
        commit_choice(r, x, measure, dual)
        if dual.holding[r] == WRITTEN:
            dual.scale[r] = 1.0
        if rows.kind[r] == BOX:
            note_tightness(graph, r, measure, rows, dual, dual.widest[layer_of(graph, x)])
    barrier()
    forward_shared(graph, measure.chance, measure.policy, measure.mass, dual.row_mass)
    for x in shared(0, n):
        q = measure.mass[x]
        o = dual.outflow[x]
        dual.term[x] = 0.0
        if q > 0.0 and o > 0.0:
            dual.term[x] = q * math.log(q / o) - (q - o) + dual.lift[x] * (q - o)
        if q < TINY:
            measure.mass[x] = logarithm(q) if q > 0.0 else 0.0
    barrier()
    gap = 0.0
    for x in range(n):
        gap += dual.term[x]
    return gap
