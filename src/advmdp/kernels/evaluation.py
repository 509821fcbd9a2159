"""One evaluation of the dual: G(beta), the flows, and the curvature times a vector."""

from __future__ import annotations

import math

from .dual import (
    CONSTANT,
    IMPLICIT,
    POOLED,
    SMALLEST,
    WRITTEN,
    Dual,
    Measure,
    solve_row,
    solve_row_in_logs,
)
from .graph import (
    Floats,
    Graph,
    gather,
    is_scattered,
    layer_begin,
    layer_end,
    layer_of,
    n_layers,
    owner_of,
    row_add,
    row_begin,
    row_dot,
    row_dot_and_add,
    row_part,
    row_size,
    successor_of,
)
from .indices import int64
from .passes import group_sums, inner
from .pool import line_dot, line_dot_and_add, sift_state, widest_tilt
from .rows import SIMPLEX, TransitionSet
from .signed import linear, logarithm
from .state_floor import push_flows, raise_states
from .targets import kernel, leaf, meet, n_threads, shared


@leaf
def solve_free_row(
    graph: Graph, r: int, measure: Measure, rows: TransitionSet, dual: Dual, at_zero: bool
) -> None:
    """The oracle of a row outside the pool: its share, not yet divided by the state's total.

    That is NaN if floats cannot hold it.  ``row_mass`` becomes its flow as a factor of its table,
    before Z_k; an implicit row's table is not divided by its growth.
    """
    if rows.kind[r] == SIMPLEX:
        growth = row_dot(graph, r, measure.chance, dual.tilt)
        dual.holding[r] = IMPLICIT
        dual.scale[r] = 1.0 / growth
    else:
        growth = solve_row(graph, r, measure, rows, dual, at_zero)
    weight = linear(measure.policy[r])
    dual.row_mass[r] = dual.pool.lead[owner_of(graph, r)] * weight
    if dual.holding[r] != IMPLICIT:
        dual.row_mass[r] *= growth
    dual.share[r] = weight * growth if growth > SMALLEST else math.nan


@leaf
def pour_row(graph: Graph, r: int, measure: Measure, dual: Dual) -> None:
    """Add the flow of a solved row to the inflows of its successors."""
    flow = dual.row_mass[r]
    if dual.holding[r] == IMPLICIT:
        row_add(graph, r, measure.chance, flow, dual.free_sum)
    elif dual.holding[r] == WRITTEN:
        row_add(graph, r, dual.work, flow, dual.other_sum)
    else:
        row_add(graph, r, measure.chance, flow, dual.other_sum)


@leaf
def open_state(x: int, measure: Measure, dual: Dual) -> None:
    """What the rows of a state are multiplied with; zero if floats cannot hold it."""
    usable = dual.tilt[x] > SMALLEST
    dual.pool.lead[x] = linear(measure.mass[x]) / dual.tilt[x] if usable else 0.0


@leaf
def close_state(graph: Graph, x: int, dual: Dual, line: float) -> None:
    """The outflow of a state, before it is divided by Z_k; NaN if floats cannot hold it."""
    factor = dual.pool.lead[x]
    total = line
    dual.pool.mass[x] = factor * line
    if dual.pool.others[x] > 0:
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            if dual.holding[r] != POOLED:
                total += dual.share[r]
    dual.total[x] = total
    usable = SMALLEST < total < math.inf and dual.tilt[x] > SMALLEST
    dual.outflow[x] = factor * total if usable else math.nan


@leaf
def sweep_alone(
    graph: Graph, measure: Measure, rows: TransitionSet, dual: Dual, at_zero: bool
) -> None:
    """Row oracles and flows of all states, each poured out at once while its rows are at hand."""
    for x in range(dual.beta.shape[0] - 1):
        sift_state(graph, x, measure, rows, dual, dual.widest[layer_of(graph, x)])
        open_state(x, measure, dual)
        line = line_dot_and_add(dual.pool, x, dual.tilt, dual.pool.lead[x], dual.free_sum)
        if dual.pool.others[x] > 0:
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                if dual.holding[r] != POOLED:
                    solve_free_row(graph, r, measure, rows, dual, at_zero)
                    pour_row(graph, r, measure, dual)
        close_state(graph, x, dual, line)


@leaf
def gather_flows(graph: Graph, y: int, measure: Measure, dual: Dual) -> None:
    """What is poured into state y, added up in the same order."""
    pool = dual.pool
    k = layer_of(graph, y) - 1
    free = 0.0
    other = 0.0
    for x in range(layer_begin(graph, k), layer_end(graph, k)):
        free += pool.lead[x] * row_part(pool.lines, x, pool.table, y)
        if pool.others[x] == 0:
            continue
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            if dual.holding[r] == POOLED:
                continue
            flow = dual.row_mass[r]
            if dual.holding[r] == IMPLICIT:
                free += flow * row_part(graph, r, measure.chance, y)
            elif dual.holding[r] == WRITTEN:
                other += flow * row_part(graph, r, dual.work, y)
            else:
                other += flow * row_part(graph, r, measure.chance, y)
    dual.free_sum[y] = free
    dual.other_sum[y] = other


@leaf
def sweep_together(
    graph: Graph, measure: Measure, rows: TransitionSet, dual: Dual, at_zero: bool
) -> None:
    """The same by several threads: a state, a row, a state, and a successor at a time."""
    n = dual.beta.shape[0]
    for x in shared(0, n - 1):
        sift_state(graph, x, measure, rows, dual, dual.widest[layer_of(graph, x)])
        open_state(x, measure, dual)
    meet()
    for r in shared(0, dual.share.shape[0]):
        if dual.holding[r] != POOLED:
            solve_free_row(graph, r, measure, rows, dual, at_zero)
    meet()
    for x in shared(0, n - 1):
        close_state(graph, x, dual, line_dot(dual.pool, x, dual.tilt))
    for y in shared(1, n):
        gather_flows(graph, y, measure, dual)
    meet()


@leaf
def normalise(graph: Graph, dual: Dual) -> None:
    """Z_k and its logarithm for every layer (NaN if floats cannot hold it), and true flows."""
    n = dual.beta.shape[0]
    pool = dual.pool
    for k in shared(0, n_layers(graph)):
        z = 0.0
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            z += dual.outflow[x]
        dual.shrink[k] = 1.0 / z
        dual.log_z[k] = math.log(z) if SMALLEST < z < math.inf else math.nan
    meet()
    for x in shared(0, n - 1):
        shrink = dual.shrink[layer_of(graph, x)]
        dual.outflow[x] *= shrink
        dual.mobile[x] = dual.outflow[x]
        dual.lift[x] = 0.0
        pool.lead[x] *= shrink
        pool.mass[x] *= shrink
        if pool.others[x] > 0:
            part = 1.0 / dual.total[x]
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                if dual.holding[r] != POOLED:
                    dual.share[r] *= part
                    dual.row_mass[r] = dual.outflow[x] * dual.share[r]
    for x in shared(1, n):
        shrink = dual.shrink[layer_of(graph, x) - 1]
        dual.free_inflow[x] = dual.free_sum[x] * dual.tilt[x] * shrink
        dual.inflow[x] = dual.free_inflow[x] + dual.other_sum[x] * shrink
    meet()


@leaf
def sweep(graph: Graph, measure: Measure, rows: TransitionSet, dual: Dual, at_zero: bool) -> None:
    """Row oracles, flows and ``log_z`` of all layers."""
    for k in shared(0, n_layers(graph)):
        dual.widest[k] = widest_tilt(graph, k + 1, dual)
    meet()
    if n_threads() == 1:
        sweep_alone(graph, measure, rows, dual, at_zero)
    else:
        sweep_together(graph, measure, rows, dual, at_zero)
    normalise(graph, dual)


@kernel
def sweep_layer_in_logs(
    graph: Graph, k: int, measure: Measure, rows: TransitionSet, dual: Dual
) -> float:
    """The same on the safe path; returns ln Z_k."""
    top = -math.inf
    for x in range(layer_begin(graph, k), layer_end(graph, k)):
        most = -math.inf
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            solve_row_in_logs(graph, r, measure, rows, dual)
            dual.share[r] = logarithm(measure.policy[r]) + dual.gain[r]
            most = max(most, dual.share[r])
        total = 0.0
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            dual.share[r] = math.exp(dual.share[r] - most)
            total += dual.share[r]
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            dual.share[r] /= total
        dual.log_total[x] = most + math.log(total)
        dual.total[x] = 0.0
        dual.pool.others[x] = graph.n_actions
        dual.pool.lead[x] = 0.0
        dual.pool.mass[x] = 0.0
        dual.outflow[x] = logarithm(measure.mass[x]) - dual.beta[x] + dual.log_total[x]
        top = max(top, dual.outflow[x])
    z = 0.0
    for x in range(layer_begin(graph, k), layer_end(graph, k)):
        dual.outflow[x] = math.exp(dual.outflow[x] - top)
        z += dual.outflow[x]
    for x in range(layer_begin(graph, k), layer_end(graph, k)):
        dual.outflow[x] /= z
        dual.mobile[x] = dual.outflow[x]
        dual.lift[x] = 0.0
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            flow = dual.outflow[x] * dual.share[r]
            if dual.holding[r] == CONSTANT:
                row_add(graph, r, measure.chance, flow, dual.other_sum)
            else:
                row_add(graph, r, dual.work, flow, dual.other_sum)
    for x in range(layer_begin(graph, k + 1), layer_end(graph, k + 1)):
        dual.free_inflow[x] = 0.0
        dual.inflow[x] = dual.other_sum[x]
    return top + math.log(z)


@kernel
def evaluate(
    graph: Graph,
    measure: Measure,
    rows: TransitionSet,
    dual: Dual,
    at_zero: bool,
    in_logs: bool | None,
) -> float:
    """G(beta) and everything in ``dual``; NaN when the fast path cannot hold the numbers.

    ``at_zero`` says that beta is zero: rows that lie in their sets need no oracle there.

    ``in_logs`` is True or None, not False: the compiler drops the branch of an argument that is
    None, so the safe path is compiled only when it is first needed.
    """
    for x in shared(0, dual.beta.shape[0]):
        dual.free_sum[x] = 0.0
        dual.other_sum[x] = 0.0
    meet()
    if in_logs is None:
        sweep(graph, measure, rows, dual, at_zero)
    else:
        for k in range(n_layers(graph)):
            dual.widest[k] = widest_tilt(graph, k + 1, dual)
            dual.log_z[k] = sweep_layer_in_logs(graph, k, measure, rows, dual)
    total = 0.0
    for k in range(n_layers(graph)):
        total += dual.log_z[k]
        if rows.least > 0.0 and k > 0:
            total += raise_states(graph, k, rows.least, dual)
            push_flows(graph, k, measure, dual)
    if rows.least > 0.0 or in_logs is not None:
        for x in range(layer_begin(graph, n_layers(graph))):
            if dual.pool.others[x] > 0:
                for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                    dual.row_mass[r] = dual.outflow[x] * dual.share[r]
    return total if abs(total) < math.inf else math.nan


@leaf
def own_part(group: int, value: float, one: float, two: float) -> float:
    """How far an entry's value is from the mean of its group; clipped entries have none."""
    centre = one if group == 1 else two
    return value - centre if group > 0 else 0.0


@leaf
def written_row_times(
    graph: Graph, r: int, dual: Dual, vector: Floats, here: float, out: Floats
) -> float:
    """The part of a written row in ``curvature_times``; returns what it takes from its state."""
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    near = int64(graph.first[r])
    if is_scattered(graph, r):
        gather(graph, r, vector, dual.near)
        dot, one, two = group_sums(dual.work, begin, dual.near, 0, dual.group, begin, size)
    else:
        dot, one, two = group_sums(dual.work, begin, vector, near, dual.group, begin, size)
    if one != 0.0:
        one /= dual.group_mass[2 * r]
    if two != 0.0:
        two /= dual.group_mass[2 * r + 1]
    m = dual.row_mass[r]
    excess = dot - here
    if is_scattered(graph, r):
        for j in range(size):
            part = excess + own_part(dual.group[begin + j], dual.near[j], one, two)
            out[successor_of(graph, r, j)] += m * dual.work[begin + j] * part
    elif dual.group_mass[2 * r + 1] > 0.0:
        for j in range(size):
            part = excess + own_part(dual.group[begin + j], vector[near + j], one, two)
            out[near + j] += m * dual.work[begin + j] * part
    else:  # the rows of a box have one group
        for j in range(size):
            own = vector[near + j] - one if dual.group[begin + j] > 0 else 0.0
            out[near + j] += m * dual.work[begin + j] * (excess + own)
    return m * excess


@kernel
def curvature_times(
    graph: Graph, measure: Measure, dual: Dual, v: Floats, out: Floats, tilted: Floats, sums: Floats
) -> None:
    """out = (Hessian of G) v, for v = 0 on the first and the last layer, without forming it.

    Layer k contributes the variance over its rows of  d(x,a) = <p(.|x,a), v> - v(x)  and the
    rows' own curvature.  For an implicit row the two collapse to  m p(x') (v(x') - v(x) - mean d):
    one pass over p~, and one over a line for all pooled rows of a state.
    """
    pool = dual.pool
    for x in range(v.shape[0]):
        out[x] = 0.0
        sums[x] = 0.0
        tilted[x] = dual.tilt[x] * v[x]
    for k in range(n_layers(graph)):
        begin = layer_begin(graph, k)
        end = layer_end(graph, k)  # where the next layer begins
        mean = inner(dual.inflow, end, v, end, layer_end(graph, k + 1) - end)
        mean -= inner(dual.mobile, begin, v, begin, end - begin)
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            moves = dual.lift[x] == 0.0  # a state held up by a floor ignores its own beta
            here = mean + (v[x] if moves else 0.0)
            lead = pool.lead[x]
            dot = line_dot_and_add(pool, x, tilted, lead * here, sums)
            if moves:
                out[x] -= lead * dot - pool.mass[x] * here
            if pool.others[x] == 0:
                continue
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                if dual.holding[r] == POOLED:
                    continue
                m = dual.row_mass[r]
                if dual.holding[r] == IMPLICIT:
                    factor = m * dual.scale[r]
                    dot = row_dot_and_add(graph, r, measure.chance, tilted, factor * here, sums)
                    pull = factor * dot - m * here
                elif dual.holding[r] == WRITTEN:
                    pull = written_row_times(graph, r, dual, v, here, out)
                else:
                    pull = m * (row_dot(graph, r, measure.chance, v) - here)
                    row_add(graph, r, measure.chance, pull, out)
                if moves:
                    out[x] -= pull
        for x in range(layer_begin(graph, k + 1), layer_end(graph, k + 1)):
            out[x] += dual.free_inflow[x] * v[x] - dual.tilt[x] * sums[x]
