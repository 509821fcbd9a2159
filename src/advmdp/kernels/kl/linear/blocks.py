"""Newton directions for narrow layers: the block-tridiagonal Hessian, formed and factored.

Layer k of G couples only beta_k and beta_{k+1}.  With out and inn the flows of the states and m, p
the masses and transitions of the rows, layer k adds

    D[k]    += diag(out) - out out^T
    C[k]     = out inn^T - sum over actions of m p          (the coupling of k and k + 1)
    D[k+1]  += sum of (m p p^T + m dp/dbeta) - inn inn^T

where an unclipped row's bracket is just m diag(p).  Only lower triangles are kept.

Adding a constant to beta on a whole layer changes nothing (the gauge of the dual), and rows with
fixed transitions can leave more flat directions.  A ridge of a tiny part of each state's own flow
makes the factorisation safe and leaves the direction unchanged where it matters.
"""

from __future__ import annotations

import math

from ...lanes.line_sums import subtract_rows
from ...lanes.outer_products import add_outer_products
from ...linear.block_system import Blocks
from ...model.graph import (
    Floats,
    Graph,
    is_scattered,
    layer_begin,
    layer_end,
    layer_of,
    n_layers,
    row_begin,
    row_size,
    successor_of,
)
from ...model.measure import Measure
from ...runtime.indices import int64, place
from ...runtime.targets import kernel, leaf
from ...sets.held import is_merged, is_scaled, is_written
from ..dual import Dual
from ..packs import slot_of, write_curvature

RIDGE = 1e-11
EMPTY = 1e-290  # a state with less flow than this takes no part


@leaf
def prepare_row(graph: Graph, r: int, measure: Measure, dual: Dual) -> None:
    """p_beta of a row that is not implicit in ``work``, and in ``together`` its first group.

    That is divided by the root of its mass: the curvature then needs no branch.
    """
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    if is_written(dual.held, r):
        mass = dual.held.group_mass[2 * r]
        root = 1.0 / math.sqrt(mass) if mass > 0.0 else 0.0
        for j in range(size):
            in_group = dual.held.group[begin + j] == 1
            dual.together[begin + j] = dual.held.work[begin + j] * root if in_group else 0.0
    else:
        for j in range(size):
            dual.held.work[begin + j] = max(measure.chance[begin + j], 0.0)
            dual.together[begin + j] = 0.0


@leaf
def add_second_group(
    graph: Graph, r: int, position: int, dual: Dual, there: int, diagonal: Floats, line: int
) -> None:
    """The entries of a ball that have come down move together as well."""
    begin = row_begin(graph, r)
    if dual.held.group[begin + position] != 2:
        return
    root = 1.0 / math.sqrt(dual.held.group_mass[2 * r + 1])
    y = successor_of(graph, r, position) - there
    m = dual.flows.row_mass[r]
    pull = m * (dual.held.work[begin + position] * root)
    if pull > 0.0:
        diagonal[line + y] += m * dual.held.work[begin + position]
    for i in range(position + 1):
        if dual.held.group[begin + i] == 2:
            z = successor_of(graph, r, i) - there
            diagonal[line + z] -= pull * (dual.held.work[begin + i] * root)


@leaf
def add_row_curvature(
    graph: Graph, r: int, position: int, dual: Dual, there: int, diagonal: Floats, line: int
) -> None:
    """The line of one successor in  m p p^T + m dp/dbeta  of a row that is not implicit.

    With p_g the entries of group g:  m p p^T + sum over g of m (diag(p_g) - p_g p_g^T / |p_g|).
    """
    begin = place(row_begin(graph, r))
    m = dual.flows.row_mass[r]
    weight = m * dual.held.work[begin + position]
    pull = m * dual.together[begin + position]
    if is_scattered(graph, r):
        if pull > 0.0:
            diagonal[line + successor_of(graph, r, position) - there] += weight
        for i in range(position + 1):
            z = successor_of(graph, r, i) - there
            diagonal[line + z] += (
                weight * dual.held.work[begin + i] - pull * dual.together[begin + i]
            )
    else:
        target = place(line + int64(graph.first[r]) - there)
        if pull > 0.0:
            diagonal[target + position] += weight
        for i in range(position + 1):
            part = weight * dual.held.work[begin + i] - pull * dual.together[begin + i]
            diagonal[target + i] += part


@leaf
def has_second_group(dual: Dual, r: int) -> bool:
    return bool(dual.held.group_mass[2 * r + 1] > 0.0) and is_written(dual.held, r)


@leaf
def is_explicit(dual: Dual, r: int) -> bool:
    """Whether a row has a curvature of its own."""
    is_free = is_scaled(dual.held, r) or is_merged(dual.held, r)
    return not is_free and bool(dual.flows.row_mass[r] > 0.0)


@leaf
def line_of(graph: Graph, x: int, k: int, blocks: Blocks) -> int:
    """Where the line of a state of layer k begins in D[k]."""
    here = layer_begin(graph, k)
    n = layer_end(graph, k) - here
    return place(int64(blocks.diagonal_at[k]) + (x - here) * n)


@leaf
def begin_diagonal(graph: Graph, x: int, k: int, dual: Dual, blocks: Blocks) -> None:
    """The line of a state in D[k]: what comes from the layer before, without the rows' own part."""
    here = place(layer_begin(graph, k))
    line = line_of(graph, x, k, blocks)
    for j in range(x - here + 1):
        blocks.entries[line + j] = -(dual.flows.inflow[x] * dual.flows.inflow[here + j])
    blocks.entries[line + x - here] += dual.flows.free_inflow[x]


@leaf
def end_diagonal(graph: Graph, x: int, k: int, dual: Dual, blocks: Blocks) -> None:
    """The line of a state in D[k]: what comes from its own layer."""
    here = place(layer_begin(graph, k))
    line = line_of(graph, x, k, blocks)
    for j in range(x - here + 1):
        blocks.entries[line + j] -= dual.flows.mobile[x] * dual.flows.mobile[here + j]
    flow = dual.flows.outflow[x] + dual.flows.inflow[x]
    blocks.entries[line + x - here] += dual.flows.mobile[x] + RIDGE * flow
    if flow < EMPTY:
        blocks.entries[line + x - here] += 1.0


@leaf
def subtract_row(
    graph: Graph, r: int, table: Floats, factor: float, out: Floats, shift: int
) -> None:
    """Take ``factor * table`` from the successors' places in ``out``, shifted."""
    begin = place(row_begin(graph, r))
    size = row_size(graph, r)
    if is_scattered(graph, r):
        for j in range(size):
            out[shift + successor_of(graph, r, j)] -= table[begin + j] * factor
    else:
        target = place(shift + int64(graph.first[r]))
        for j in range(size):
            out[target + j] -= table[begin + j] * factor


@leaf
def lies_in_step(graph: Graph, r: int, first: int, width: int) -> bool:
    """Whether row r, and every row since ``first``, leads to all ``width`` states.

    Kernels that take chosen rows find them by their numbers: row r begins (r - first) widths after
    the first.  A shorter row in between, though it is not chosen itself, would shift that.
    """
    apart = row_begin(graph, r) - row_begin(graph, first)
    return row_size(graph, r) == width and apart == (r - first) * width


@leaf
def subtract_full_rows(
    graph: Graph, x: int, width: int, dual: Dual, coupling: Floats, line: int
) -> bool:
    """The same for all explicit rows of a state at once; False if they are not alike."""
    count = 0
    for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
        if is_explicit(dual, r):
            dual.chosen[count] = r
            count += 1
            if not lies_in_step(graph, r, dual.chosen[0], width):
                return False
        elif is_scaled(dual.held, r):
            return False
    if count > 0:
        shift = row_begin(graph, dual.chosen[0]) - dual.chosen[0] * width
        subtract_rows(
            coupling, line, dual.held.work, dual.flows.row_mass, dual.chosen, count, shift, width
        )
    return True


@leaf
def fill_coupling(
    graph: Graph, x: int, k: int, measure: Measure, dual: Dual, blocks: Blocks
) -> None:
    """The line of a state in  C[k] = out inn^T - sum over actions of m p."""
    there = place(layer_begin(graph, k + 1))
    width = layer_end(graph, k + 1) - there
    coupling = blocks.entries
    line = place(int64(blocks.coupling_at[k]) + (x - layer_begin(graph, k)) * width)
    for j in range(width):
        coupling[line + j] = dual.flows.mobile[x] * dual.flows.inflow[there + j]
    if dual.flows.lift[x] > 0.0:
        return  # held up by a floor: its flow does not react to its own beta
    if dual.merged.others[x] < graph.n_actions:
        line_of_state = place(row_begin(dual.merged.lines, x))
        for j in range(row_size(dual.merged.lines, x)):
            flow = dual.merged.lead[x] * dual.merged.table[line_of_state + j] * dual.tilt[there + j]
            coupling[line + j] -= flow
    if dual.merged.others[x] == 0:
        return
    if subtract_full_rows(graph, x, width, dual, coupling, line):
        return
    for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
        if is_scaled(dual.held, r):
            for j in range(row_size(graph, r)):  # one that could have been merged: sparse layouts
                y = successor_of(graph, r, j)
                p = max(measure.chance[row_begin(graph, r) + j], 0.0)
                flow = dual.tilt[y] * (dual.flows.row_mass[r] * dual.held.scale[r] * p)
                coupling[line + y - there] -= flow
        elif is_explicit(dual, r):
            subtract_row(graph, r, dual.held.work, dual.flows.row_mass[r], coupling, line - there)


@leaf
def choose_rows(graph: Graph, k: int, measure: Measure, dual: Dual) -> tuple[int, bool]:
    """List the rows of layer k that have a curvature of their own; how many, and if all are plain.

    A plain row leads to every state of the next layer and has one group; between two of them lie
    rows of the same length.
    """
    there = layer_begin(graph, k + 1)
    n = layer_end(graph, k + 1) - there
    count = 0
    plain = True
    write_curvature(graph, k, dual)
    for r in range(layer_begin(graph, k) * graph.n_actions, there * graph.n_actions):
        if is_explicit(dual, r):
            if slot_of(dual, r) < 0:
                prepare_row(graph, r, measure, dual)
            dual.chosen[count] = r
            count += 1
            plain = plain and lies_in_step(graph, r, dual.chosen[0], n)
            plain = plain and not has_second_group(dual, r)
    return count, plain


@leaf
def add_plain_rows(graph: Graph, k: int, count: int, dual: Dual, blocks: Blocks) -> None:
    """The curvature of the chosen rows of layer k, a tile of the block at a time."""
    n = layer_end(graph, k + 1) - layer_begin(graph, k + 1)
    begin = int64(blocks.diagonal_at[k + 1])
    shift = row_begin(graph, dual.chosen[0]) - dual.chosen[0] * n
    add_outer_products(
        blocks.entries, begin, dual.held.work, dual.together, dual.flows.row_mass, dual.chosen,
        count, shift, n,
    )  # fmt: skip


@leaf
def add_rows(graph: Graph, measure: Measure, dual: Dual, blocks: Blocks) -> None:
    """The rows' own curvature."""
    diagonal = blocks.entries
    for k in range(n_layers(graph) - 1):
        there = layer_begin(graph, k + 1)
        n = layer_end(graph, k + 1) - there
        at = int64(blocks.diagonal_at[k + 1])
        count, plain = choose_rows(graph, k, measure, dual)
        if plain and count > 0:
            add_plain_rows(graph, k, count, dual, blocks)
            continue
        for i in range(count):
            r = dual.chosen[i]
            for j in range(row_size(graph, r)):
                line = place(at + (successor_of(graph, r, j) - there) * n)
                add_row_curvature(graph, r, j, dual, there, diagonal, line)
            if has_second_group(dual, r):
                for j in range(row_size(graph, r)):
                    line = place(at + (successor_of(graph, r, j) - there) * n)
                    add_second_group(graph, r, j, dual, there, diagonal, line)


@kernel
def assemble_alone(graph: Graph, measure: Measure, dual: Dual, blocks: Blocks) -> None:
    """Fill the blocks D[1..L-1] and C[1..L-2]."""
    last = n_layers(graph) - 1
    for x in range(1, layer_end(graph, last)):
        begin_diagonal(graph, x, layer_of(graph, x), dual, blocks)
    add_rows(graph, measure, dual, blocks)
    for x in range(1, layer_end(graph, last)):
        k = layer_of(graph, x)
        end_diagonal(graph, x, k, dual, blocks)
        if k < last:
            fill_coupling(graph, x, k, measure, dual, blocks)
