"""Making a solved dual the new occupancy measure, exactly in the set, with its certificate."""

from __future__ import annotations

import math
from typing import Any

from ..lanes.passes import sum_and_low
from ..lanes.row_blocks import HAS_BLOCKS, tilt_rows
from ..model.flow import are_alike, forward_shared, pour_layer
from ..model.graph import (
    Floats,
    Graph,
    entry_of,
    gather,
    layer_begin,
    layer_end,
    layer_of,
    n_layers,
    owner_of,
    row_add,
    row_begin,
    row_dot_and_low,
    row_size,
    row_tilt,
)
from ..model.log_storage import TINY, from_log, linear, logarithm
from ..model.measure import Measure
from ..model.row_status import is_bound, is_free
from ..runtime.indices import int64
from ..runtime.targets import FOR_CUDA, kernel, leaf
from ..runtime.threads import MAY_SHARE, barrier, n_threads, shared
from ..sets.held import (
    gain_of,
    hold_scaled,
    is_merged,
    is_point,
    is_scaled,
    is_written,
    log_scale_of,
)
from ..sets.interface import has_tightness, known_matrices
from .dual import Dual
from .known.passes import close_gap
from .known.sweep import forward_known, has_matrices, only_policy_moves
from .merged.carried_lines import (
    ORDINARY,
    add_to_line,
    clear_line,
    find_growths,
    is_carried,
    leave_out,
    note_weight,
)
from .merged.merged_rows import may_be_merged, note_tightness
from .packs import is_clipped, spell_out, write_solutions


@leaf
def commit_tiny(graph: Graph, r: int, measure: Measure, dual: Dual) -> None:
    """Entries of ``work`` that are too small for it as logarithms."""
    begin = row_begin(graph, r)
    gather(graph, r, dual.beta, dual.held.near)
    for j in range(row_size(graph, r)):
        e = begin + j
        if dual.held.work[e] < TINY:
            log_value = logarithm(measure.chance[e]) + dual.held.near[j]
            if is_scaled(dual.held, r):
                dual.held.work[e] = from_log(log_value + math.log(dual.held.scale[r]))
            elif dual.held.group[e] > 0:
                log_scale = log_scale_of(dual.held, r, int64(dual.held.group[e]))
                dual.held.work[e] = from_log(log_value + log_scale)


@leaf
def hold_share(graph: Graph, r: int, x: int, growth: float, measure: Measure, dual: Dual) -> None:
    """The scale and the share of a merged row."""
    if is_merged(dual.held, r):
        hold_scaled(dual.held, r, 1.0 / growth)
        dual.flows.share[r] = linear(measure.policy[r]) * growth / dual.flows.total[x]


@leaf
def commit_row(graph: Graph, r: int, x: int, measure: Measure, dual: Dual) -> None:
    """Replace p~ by p_beta, and find the share of a merged row."""
    if is_point(dual.held, r):
        return
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    if not is_written(dual.held, r):
        # tilts are at most one, so what is not tiny before it is scaled is not so after it either
        growth, tiny = row_dot_and_low(graph, r, measure.chance, dual.tilt, TINY)
        hold_share(graph, r, x, growth, measure, dual)
        if tiny == 0.0:
            row_tilt(graph, r, measure.chance, dual.tilt, dual.held.scale[r], measure.chance)
            return
        row_tilt(graph, r, measure.chance, dual.tilt, dual.held.scale[r], dual.held.work)
    _, low = sum_and_low(dual.held.work, begin, size, TINY)
    if low > 0.0:
        spell_out(graph, r, dual)
        commit_tiny(graph, r, measure, dual)
    for j in range(size):
        measure.chance[begin + j] = dual.held.work[begin + j]


@leaf
def commit_choice(graph: Graph, r: int, x: int, measure: Measure, dual: Dual) -> None:
    """Replace pi~ by the policy of the solution."""
    if dual.flows.share[r] >= TINY:
        measure.policy[r] = dual.flows.share[r]
    else:
        spell_out(graph, r, dual)
        gain = gain_of(dual.held, r)
        log_total = (
            math.log(dual.flows.total[x]) if dual.flows.total[x] > 0.0 else dual.flows.log_total[x]
        )
        measure.policy[r] = from_log(logarithm(measure.policy[r]) + gain - log_total)


@kernel
def log_inflow(graph: Graph, y: int, measure: Measure) -> float:
    """ln q(y) from the layer before, for a state whose mass no float holds."""
    k = layer_of(graph, y) - 1
    first = layer_begin(graph, k) * graph.n_actions
    last = layer_end(graph, k) * graph.n_actions
    top = -math.inf
    total = 0.0
    for r in range(first, last):
        e = entry_of(graph, r, y)
        if e < 0:
            continue
        flow = logarithm(measure.mass[owner_of(graph, r)]) + logarithm(measure.policy[r])
        flow += logarithm(measure.chance[e])
        if flow > top:  # the sum is kept relative to its largest term
            total = total * math.exp(top - flow) + 1.0
            top = flow
        elif flow > -math.inf:
            total += math.exp(flow - top)
    return top + math.log(total) if total > 0.0 else -math.inf


@kernel
def recover_lost_masses(graph: Graph, measure: Measure) -> None:
    """Masses that have underflowed to zero, as logarithms.

    A weight of zero could never come back; a set that later leads into such a state would leave
    the next step without a solution.
    """
    for x in range(1, measure.mass.shape[0] - 1):
        if measure.mass[x] == 0.0:
            measure.mass[x] = from_log(log_inflow(graph, x, measure))
    barrier()


@leaf
def finish_pair(graph: Graph, r: int, x: int, measure: Measure, rows: Any, dual: Dual) -> None:
    """What is known of row r, now that it is the solution."""
    if is_written(dual.held, r):
        dual.held.scale[r] = 1.0
    if is_clipped(dual, r):
        dual.held.tight[r] = 1.0  # what ``row_tightness`` would find
    elif has_tightness(rows) and is_bound(rows, r):
        note_tightness(graph, r, measure, rows, dual, dual.widest[layer_of(graph, x)])


@leaf
def commit_pair(graph: Graph, r: int, x: int, measure: Measure, rows: Any, dual: Dual) -> None:
    """Make the solution of row r the new transition and policy."""
    commit_row(graph, r, x, measure, dual)
    commit_choice(graph, r, x, measure, dual)
    finish_pair(graph, r, x, measure, rows, dual)


@leaf
def pour_out(graph: Graph, r: int, x: int, measure: Measure, dual: Dual) -> None:
    """Add what flows out of a row to its successors."""
    flow = dual.term[x] * linear(measure.policy[r])
    row_add(graph, r, measure.chance, flow, dual.term)


@leaf
def commit_and_pour(graph: Graph, r: int, x: int, measure: Measure, rows: Any, dual: Dual) -> None:
    """``commit_pair``, and what flows out of the row while it is at hand."""
    commit_pair(graph, r, x, measure, rows, dual)
    pour_out(graph, r, x, measure, dual)


@leaf
def begin_plain(graph: Graph, r: int, x: int, measure: Measure, rows: Any, dual: Dual) -> bool:
    """Policy and scale of a row that is only tilted and stays in its line; False of others."""
    held = dual.held
    inside = is_free(rows, r) or (has_tightness(rows) and is_bound(rows, r))
    if not inside or is_written(held, r) or is_point(held, r):
        return False
    if dual.merged.capped[r] != row_size(graph, r) * ORDINARY:
        return False  # some entry may be tiny
    hold_share(graph, r, x, dual.merged.growth[r], measure, dual)
    commit_choice(graph, r, x, measure, dual)
    note_weight(r, measure.policy[r], dual)
    return True


@leaf
def end_plain(
    graph: Graph, begin: int, end: int, x: int, measure: Measure, rows: Any, dual: Dual
) -> None:
    """Tilt rows begin .. end - 1 of state x, and add them to its line."""
    if begin == end:
        return
    merged = dual.merged
    tilt_rows(
        measure.chance, row_begin(graph, begin), dual.tilt, int64(graph.first[begin]),
        dual.held.scale, merged.weight, begin, merged.table, row_begin(merged.lines, x),
        end - begin, row_size(graph, begin),
    )  # fmt: skip
    for r in range(begin, end):
        finish_pair(graph, r, x, measure, rows, dual)


@leaf
def commit_with_line(graph: Graph, x: int, measure: Measure, rows: Any, dual: Dual) -> None:
    """``commit_and_pour`` for the rows of a state, and the line that comes of them.

    What flows out of the rows in the line is read off the line.
    """
    clear_line(x, dual)
    begin = x * graph.n_actions
    find_growths(graph, begin, begin + graph.n_actions, measure, dual)
    for r in range(begin, begin + graph.n_actions):
        if not begin_plain(graph, r, x, measure, rows, dual):
            end_plain(graph, begin, r, x, measure, rows, dual)
            commit_pair(graph, r, x, measure, rows, dual)
            if may_be_merged(rows, r, dual):
                note_weight(r, measure.policy[r], dual)
                add_to_line(graph, r, x, measure, dual)
            else:
                leave_out(r, dual)
                pour_out(graph, r, x, measure, dual)
            begin = r + 1
    end_plain(graph, begin, (x + 1) * graph.n_actions, x, measure, rows, dual)
    row_add(dual.merged.lines, x, dual.merged.table, dual.term[x], dual.term)


@leaf
def commit_layer(graph: Graph, k: int, measure: Measure, rows: Any, dual: Dual) -> None:
    """``commit_pair`` for the rows of layer k, and what flows out of them all together."""
    for r in range(layer_begin(graph, k) * graph.n_actions, layer_end(graph, k) * graph.n_actions):
        commit_pair(graph, r, owner_of(graph, r), measure, rows, dual)
    pour_layer(graph, k, measure.chance, measure.policy, dual.term, dual.flows.row_mass)


@leaf
def commit_and_forward(graph: Graph, measure: Measure, rows: Any, dual: Dual) -> None:
    """``commit_pair`` and ``forward`` in one pass: a row is poured out while it is at hand."""
    for y in range(measure.mass.shape[0]):
        dual.term[y] = 0.0
    dual.term[0] = 1.0
    if HAS_BLOCKS and are_alike(graph):
        for k in range(n_layers(graph)):
            commit_layer(graph, k, measure, rows, dual)
    else:
        for x in range(measure.mass.shape[0] - 1):
            if is_carried(x, dual):
                commit_with_line(graph, x, measure, rows, dual)
            else:
                for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                    commit_and_pour(graph, r, x, measure, rows, dual)
    for y in range(measure.mass.shape[0]):
        measure.mass[y] = dual.term[y]


@leaf
def has_tiny(mass: Floats) -> bool:
    """Whether some state has less than a sum can hold."""
    tiny = False
    for x in range(mass.shape[0]):
        tiny = tiny or mass[x] < TINY
    return tiny


@kernel
def commit(graph: Graph, measure: Measure, rows: Any, dual: Dual) -> float:
    """Make the projection the new measure, exactly in the set; returns the duality gap.

    With q the measure of (p_beta, pi) and o the outflow of the dual solution, the gap
    D(q || q~) - dual value telescopes to  sum over states of  q(x) ln(q(x) / o(x)).
    """
    n = measure.mass.shape[0] - 1
    write_solutions(graph, dual)
    matrices = known_matrices(measure.chance, rows)
    if only_policy_moves(rows) and has_matrices(matrices):
        for r in range(measure.policy.shape[0]):
            commit_choice(graph, r, owner_of(graph, r), measure, dual)
        forward_known(graph, measure, matrices, dual.flows.row_mass)
    elif MAY_SHARE and n_threads() > 1:
        for r in shared(0, measure.policy.shape[0]):
            commit_pair(graph, r, owner_of(graph, r), measure, rows, dual)
        barrier()
        forward_shared(graph, measure.chance, measure.policy, measure.mass, dual.flows.row_mass)
    else:
        commit_and_forward(graph, measure, rows, dual)
    if not FOR_CUDA and rows.least_occupancy == 0.0:
        gap, far = close_gap(measure.mass, 0, dual.flows.outflow, 0, n)
        if far == 0.0 and not has_tiny(measure.mass):
            return gap
    for x in shared(0, n):
        q = measure.mass[x]
        o = dual.flows.outflow[x]
        dual.term[x] = 0.0
        if q > 0.0 and o > 0.0:
            dual.term[x] = q * math.log(q / o) - (q - o) + dual.flows.lift[x] * (q - o)
        if q < TINY:
            measure.mass[x] = logarithm(q) if q > 0.0 else 0.0
    barrier()
    recover_lost_masses(graph, measure)
    gap = 0.0
    for x in range(n):
        gap += dual.term[x]
    return gap
