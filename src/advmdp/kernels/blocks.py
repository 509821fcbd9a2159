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

from .dual import IMPLICIT, POOLED, WRITTEN, Dual, Measure
from .graph import (
    Floats,
    Graph,
    gather,
    is_scattered,
    layer_begin,
    layer_end,
    n_layers,
    row_begin,
    row_size,
    successor_of,
)
from .indices import int64, place
from .targets import kernel, leaf, meet, shared

RIDGE = 1e-11
EMPTY = 1e-290  # a state with less flow than this takes no part


@leaf
def copy_transition(begin: int, size: int, measure: Measure, dual: Dual, written: bool) -> None:
    """near = p_beta of a row that is not implicit."""
    begin = place(begin)
    if written:
        for j in range(size):
            dual.near[j] = dual.work[begin + j]
    else:
        for j in range(size):
            dual.near[j] = max(measure.chance[begin + j], 0.0)


@leaf
def add_couplings(
    graph: Graph, k: int, measure: Measure, dual: Dual, coupling: Floats, at: int
) -> None:
    """C[k] = out inn^T - sum over actions of m p."""
    here = layer_begin(graph, k)
    there = layer_begin(graph, k + 1)
    width = layer_end(graph, k + 1) - there
    for x in range(here, layer_end(graph, k)):
        line = place(at + (x - here) * width)
        for j in range(width):
            coupling[line + j] = dual.mobile[x] * dual.inflow[place(there) + j]
        if dual.lift[x] > 0.0:
            continue  # held up by a floor: its flow does not react to its own beta
        pooled = place(row_begin(dual.pool.lines, x))
        for j in range(row_size(dual.pool.lines, x)):
            flow = dual.pool.lead[x] * dual.pool.table[pooled + j] * dual.tilt[place(there) + j]
            coupling[line + j] -= flow
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            if dual.holding[r] == POOLED:
                continue
            begin = row_begin(graph, r)
            size = row_size(graph, r)
            m = dual.row_mass[r]
            if dual.holding[r] == IMPLICIT:
                gather(graph, r, dual.tilt, dual.near)
                for j in range(size):
                    dual.near[j] *= m * dual.scale[r] * max(measure.chance[begin + j], 0.0)
            else:
                copy_transition(begin, size, measure, dual, dual.holding[r] == WRITTEN)
                for j in range(size):
                    dual.near[j] *= m
            if is_scattered(graph, r):
                for j in range(size):
                    coupling[line + successor_of(graph, r, j) - there] -= dual.near[j]
            else:
                target = place(line + int64(graph.first[r]) - there)
                for j in range(size):
                    coupling[target + j] -= dual.near[j]


@leaf
def add_row_curvature(
    graph: Graph,
    r: int,
    measure: Measure,
    dual: Dual,
    there: int,
    diagonal: Floats,
    at: int,
    n: int,
) -> None:
    """m p p^T + m dp/dbeta of a row that is not implicit (lower triangle).

    With p_g the entries of group g:  m p p^T + sum over g of m (diag(p_g) - p_g p_g^T / |p_g|).
    """
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    m = dual.row_mass[r]
    written = dual.holding[r] == WRITTEN
    copy_transition(begin, size, measure, dual, written)
    for g in range(2):
        mass = dual.group_mass[2 * r + g] if written else 0.0
        if g == 1 and mass == 0.0:
            break  # boxes have one group
        # the group's entries, divided by the root of their mass: no branch in the inner loop
        root = 1.0 / math.sqrt(mass) if mass > 0.0 else 0.0
        for j in range(size):
            in_group = dual.group[begin + j] == g + 1
            dual.together[j] = dual.near[j] * root if in_group else 0.0
        spread = 1.0 if g == 0 else 0.0
        for j in range(size):
            y = successor_of(graph, r, j) - there
            weight = spread * m * dual.near[j]
            pull = m * dual.together[j]
            if pull > 0.0:
                diagonal[at + y * n + y] += m * dual.near[j]
            if is_scattered(graph, r):
                for i in range(j + 1):
                    z = successor_of(graph, r, i) - there
                    diagonal[at + y * n + z] += weight * dual.near[i] - pull * dual.together[i]
            else:
                line = place(at + y * n + int64(graph.first[r]) - there)
                for i in range(j + 1):
                    diagonal[line + i] += weight * dual.near[i] - pull * dual.together[i]


@leaf
def block_places(graph: Graph, k: int) -> tuple[int, int]:
    """Where D[k] and C[k] begin."""
    at = 0
    off = 0
    for i in range(1, k):
        n = layer_end(graph, i) - layer_begin(graph, i)
        at += n * n
        off += n * (layer_end(graph, i + 1) - layer_begin(graph, i + 1))
    return at, off


@kernel
def assemble(
    graph: Graph, measure: Measure, dual: Dual, diagonal: Floats, coupling: Floats
) -> None:
    """Fill the blocks D[1..L-1] and C[1..L-2]."""
    last = n_layers(graph) - 1
    for k in shared(1, last + 1):
        at, off = block_places(graph, k)
        before = layer_begin(graph, k - 1)
        here = layer_begin(graph, k)
        n = layer_end(graph, k) - here
        for i in range(n):
            line = place(at + i * n)
            for j in range(i + 1):
                diagonal[line + j] = -(dual.inflow[here + i] * dual.inflow[place(here) + j])
            diagonal[line + i] += dual.free_inflow[here + i]
        for r in range(before * graph.n_actions, here * graph.n_actions):
            is_free = dual.holding[r] == IMPLICIT or dual.holding[r] == POOLED
            if not is_free and dual.row_mass[r] > 0.0:
                add_row_curvature(graph, r, measure, dual, here, diagonal, at, n)
        for i in range(n):
            line = place(at + i * n)
            for j in range(i + 1):
                diagonal[line + j] -= dual.mobile[here + i] * dual.mobile[place(here) + j]
            flow = dual.outflow[here + i] + dual.inflow[here + i]
            diagonal[line + i] += dual.mobile[here + i] + RIDGE * flow
            if flow < EMPTY:
                diagonal[line + i] += 1.0
        if k < last:
            add_couplings(graph, k, measure, dual, coupling, off)
    meet()


@leaf
def factor_block(block: Floats, at: int, n: int) -> None:
    """In-place Cholesky of one lower triangle."""
    for i in range(n):
        line = place(at + i * n)
        for j in range(i):
            other = place(at + j * n)
            total = block[line + j]
            for t in range(j):
                total -= block[line + t] * block[other + t]
            block[line + j] = total / block[other + j]
        original = block[line + i]
        total = original
        for t in range(i):
            total -= block[line + t] * block[line + t]
        # a pivot lost to rounding belongs to a flat direction: do not move along it
        block[line + i] = math.sqrt(total) if total > 1e-14 * original else math.inf


@kernel
def factor_blocks(graph: Graph, diagonal: Floats, coupling: Floats) -> None:
    """Block elimination from the first layer to the last, in place: D = L L^T and L^{-1} C."""
    last = n_layers(graph) - 1
    at = 0
    off = 0
    for k in range(1, last + 1):
        n = layer_end(graph, k) - layer_begin(graph, k)
        width = layer_end(graph, k + 1) - layer_begin(graph, k + 1)
        factor_block(diagonal, at, n)
        if k < last:
            below = at + n * n
            for i in range(n):
                line = place(off + i * width)
                for t in range(i):
                    other = place(off + t * width)
                    pull = diagonal[place(at + i * n) + t]
                    for j in range(width):
                        coupling[line + j] -= pull * coupling[other + j]
                pivot = 1.0 / diagonal[at + i * n + i]
                for j in range(width):
                    coupling[line + j] *= pivot
                for y in range(width):
                    pull = coupling[line + y]
                    target = place(below + y * width)
                    for j in range(y + 1):
                        diagonal[target + j] -= pull * coupling[line + j]
            off += n * width
        at += n * n


@kernel
def solve_blocks(
    graph: Graph, gradient: Floats, diagonal: Floats, coupling: Floats, direction: Floats
) -> None:
    """direction = -Hessian^{-1} gradient, with the factors that ``factor_blocks`` left."""
    last = n_layers(graph) - 1
    at = 0
    off = 0
    for x in range(direction.shape[0]):
        direction[x] = -gradient[x]
    for k in range(1, last + 1):
        here = layer_begin(graph, k)
        there = layer_begin(graph, k + 1)
        n = there - here
        width = layer_end(graph, k + 1) - there
        for i in range(n):
            line = place(at + i * n)
            total = direction[here + i]
            for t in range(i):
                total -= diagonal[line + t] * direction[place(here) + t]
            direction[here + i] = total / diagonal[line + i]
        if k < last:
            for i in range(n):
                line = place(off + i * width)
                pull = direction[here + i]
                for j in range(width):
                    direction[place(there) + j] -= pull * coupling[line + j]
            off += n * width
        at += n * n
    for back in range(1, last + 1):
        k = last + 1 - back
        here = layer_begin(graph, k)
        there = layer_begin(graph, k + 1)
        n = there - here
        width = layer_end(graph, k + 1) - there
        at -= n * n
        if k < last:
            off -= n * width
            for i in range(n):
                line = place(off + i * width)
                for j in range(width):
                    direction[here + i] -= coupling[line + j] * direction[place(there) + j]
        for back_i in range(n):
            i = n - 1 - back_i
            line = place(at + i * n)
            direction[here + i] /= diagonal[line + i]
            for t in range(i):
                direction[place(here) + t] -= diagonal[line + t] * direction[here + i]
