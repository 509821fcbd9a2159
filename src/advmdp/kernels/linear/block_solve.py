"""A block-tridiagonal system, factored in place and solved (see ``block_system``).

The factors of a block are those of D = L L^T, with one over each pivot in its place, and L^{-1} C.
One thread finishes eight lines when it comes to them; several eliminate one column after the other,
from all entries at once and from the right-hand side.  Both subtract in the same order.
"""

from __future__ import annotations

import math

from ..lanes.line_sums import subtract_lines
from ..lanes.line_tiles import subtract_products
from ..lanes.vectors import N_LANES
from ..model.graph import Floats, Graph, layer_begin, layer_end, n_layers
from ..runtime.indices import int64, place
from ..runtime.targets import kernel, leaf
from ..runtime.threads import MAY_SHARE, barrier, n_threads, shared
from .block_system import Blocks


@leaf
def inverse_root(pivot: float, original: float) -> float:
    """A pivot lost to rounding belongs to a flat direction: zero, do not move along it."""
    return 1.0 / math.sqrt(pivot) if pivot > 1e-14 * original else 0.0


@leaf
def mirror(entries: Floats, at: int, n: int, down: bool) -> None:
    """Copy the lower triangle of a block to the upper one, or back (``down``)."""
    for i in range(1, n):
        for j in range(i):
            if down:
                entries[at + i * n + j] = entries[at + j * n + i]
            else:
                entries[at + j * n + i] = entries[at + i * n + j]


@leaf
def factor_lines(entries: Floats, at: int, n: int, off: int, width: int, original: Floats) -> None:
    """Cholesky of one mirrored block in place, and L^{-1} C, eight lines of both at a time.

    Line i of the upper triangle is column i of L: what is subtracted from it, and from line i of C,
    are the lines before, and these lie side by side in memory.  Of eight lines those before them
    are subtracted together; then each is finished with what the eight owe one another.  A line is
    taken from the column on at which its eight begin: what is below the diagonal nobody reads
    before it gets the copy.
    """
    for first in range(0, n, N_LANES):
        height = min(N_LANES, n - first)
        top = place(at + first * n)
        for i in range(first, first + height):
            original[i] = entries[at + i * n + i]
        subtract_products(
            entries, top + first, n, at + first, n, at + first, n, first, height, n - first
        )
        subtract_products(
            entries, off + first * width, width, at + first, n, off, width, first, height, width
        )
        for i in range(first, first + height):
            line = place(at + i * n)
            pivot = entries[line + i]
            for t in range(first, i):
                pivot -= entries[at + t * n + i] * entries[at + t * n + i]
            inverse = inverse_root(pivot, original[i])
            subtract_lines(
                entries, line + first, top + i, n, top + first, n, i - first, n - first, inverse
            )
            entries[line + i] = inverse
            subtract_lines(
                entries, off + i * width, top + i, n, off + first * width, width,
                i - first, width, inverse,
            )  # fmt: skip
    mirror(entries, at, n, True)


@kernel
def factor_alone(graph: Graph, blocks: Blocks) -> None:
    """Block elimination from the first layer to the last, in place."""
    entries = blocks.entries
    last = n_layers(graph) - 1
    if last > 0:
        n = layer_end(graph, 1) - layer_begin(graph, 1)
        mirror(entries, int64(blocks.diagonal_at[1]), n, False)
    for k in range(1, last + 1):
        n = layer_end(graph, k) - layer_begin(graph, k)
        width = layer_end(graph, k + 1) - layer_begin(graph, k + 1) if k < last else 0
        off = int64(blocks.coupling_at[k])
        factor_lines(entries, int64(blocks.diagonal_at[k]), n, off, width, blocks.original)
        if k == last:
            return
        there = int64(blocks.diagonal_at[k + 1])
        mirror(entries, there, width, False)
        for first in range(0, width, N_LANES):
            subtract_products(
                entries, there + first * width + first, width, off + first, width,
                off + first, width, n, min(N_LANES, width - first), width - first,
            )  # fmt: skip


@leaf
def eliminate(graph: Graph, k: int, p: int, end: int, blocks: Blocks, direction: Floats) -> None:
    """Take the column of state p of layer k out of all entries before ``end``."""
    entries = blocks.entries
    pull = blocks.pull
    here = layer_begin(graph, k)
    there = layer_end(graph, k)
    n = there - here
    after = there if k == n_layers(graph) - 1 else layer_end(graph, k + 1)
    at = int64(blocks.diagonal_at[k])
    column = p - here
    pivot = at + column * n + column
    line = int64(blocks.coupling_at[k]) + column * (after - there)
    inverse = inverse_root(entries[pivot], blocks.original[p])
    found = direction[p] * inverse
    for x in shared(here, after):
        factor = 0.0
        if x > p:
            slot = at + (x - here) * n + column if x < there else line + x - there
            factor = entries[slot] * inverse
            entries[slot] = factor
            direction[x] -= factor * found
        pull[x] = factor
    barrier()
    direction[p] = found
    entries[pivot] = inverse
    # What is done already is pulled at with zero, and above the diagonal nobody looks.
    for e in shared(at, end):
        entries[e] -= pull[int64(blocks.slot_row[e])] * pull[int64(blocks.slot_column[e])]
    barrier()


@kernel
def factor_together(graph: Graph, blocks: Blocks, direction: Floats) -> None:
    """``factor_alone`` and ``substitute_forward`` in one, for several threads."""
    last = n_layers(graph) - 1
    for k in range(1, last + 1):
        here = layer_begin(graph, k)
        n = layer_end(graph, k) - here
        for x in shared(here, here + n):
            slot = int64(blocks.diagonal_at[k]) + (x - here) * (n + 1)
            blocks.original[x] = blocks.entries[slot]
        barrier()
        end = blocks.entries.shape[0]
        if k + 1 < last:
            end = int64(blocks.coupling_at[k + 1])
        for p in range(here, here + n):
            eliminate(graph, k, p, end, blocks, direction)


@leaf
def substitute_in_layer(graph: Graph, k: int, blocks: Blocks, direction: Floats) -> None:
    """``direction = L^{-1} direction`` in layer k, and what the next layer loses by it.

    A column of L is a line of the upper triangle; factors that threads made are not mirrored.
    """
    entries = blocks.entries
    here = layer_begin(graph, k)
    there = layer_begin(graph, k + 1)
    n = there - here
    at = int64(blocks.diagonal_at[k])
    for i in range(n):
        found = direction[here + i] * entries[at + i * n + i]
        direction[here + i] = found
        if MAY_SHARE:
            for t in shared(i + 1, n):
                direction[place(here) + t] -= entries[place(at + i) + t * n] * found
        else:
            for t in range(i + 1, n):
                direction[place(here) + t] -= entries[place(at + i * n) + t] * found
        barrier()
    if k + 1 < n_layers(graph):
        width = layer_end(graph, k + 1) - there
        for i in range(n):
            line = place(int64(blocks.coupling_at[k]) + i * width)
            pull = direction[here + i]
            for j in shared(0, width):
                direction[place(there) + j] -= pull * entries[line + j]
        barrier()


@leaf
def substitute_forward(graph: Graph, blocks: Blocks, direction: Floats) -> None:
    """direction = L^{-1} direction."""
    for k in range(1, n_layers(graph)):
        substitute_in_layer(graph, k, blocks, direction)


@leaf
def substitute_back(graph: Graph, blocks: Blocks, direction: Floats) -> None:
    """direction = L^{-T} direction."""
    entries = blocks.entries
    last = n_layers(graph) - 1
    for back in range(1, last + 1):
        k = last + 1 - back
        here = layer_begin(graph, k)
        there = layer_begin(graph, k + 1)
        n = there - here
        at = int64(blocks.diagonal_at[k])
        if k < last:
            width = layer_end(graph, k + 1) - there
            for i in shared(0, n):
                line = place(int64(blocks.coupling_at[k]) + i * width)
                for j in range(width):
                    direction[here + i] -= entries[line + j] * direction[place(there) + j]
            barrier()
        for back_i in range(n):
            i = n - 1 - back_i
            line = place(at + i * n)
            found = direction[here + i] * entries[line + i]
            direction[here + i] = found
            for t in shared(0, i):
                direction[place(here) + t] -= entries[line + t] * found
            barrier()


@leaf
def begin_direction(gradient: Floats, direction: Floats) -> None:
    """The right-hand side of a Newton step."""
    for x in shared(0, direction.shape[0]):
        direction[x] = -gradient[x]
    barrier()


@kernel
def solve_blocks(
    graph: Graph, gradient: Floats, blocks: Blocks, direction: Floats, factored: bool
) -> None:
    """direction = -Hessian^{-1} gradient; the blocks are factored first if they are not yet."""
    begin_direction(gradient, direction)
    if MAY_SHARE and n_threads() > 1 and not factored:
        factor_together(graph, blocks, direction)
    else:
        if not factored:
            factor_alone(graph, blocks)
        substitute_forward(graph, blocks, direction)
    substitute_back(graph, blocks, direction)
