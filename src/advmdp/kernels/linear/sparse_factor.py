"""Factors of a block-tridiagonal system in which a layer is coupled with few states of the next.

The same factors as those of ``block_solve``, for wider blocks of which one thread forms the upper
triangles.  Line i of L^{-1} C has no entries before those of the lines up to i of C, so that whole
strips of eight columns are left out (``block_system: Strips``): in a grid, where a state
leads to its neighbours, half of all.
"""

from __future__ import annotations

from ..lanes.line_tiles import eliminate_lines, subtract_products
from ..lanes.passes import inner
from ..lanes.vectors import N_LANES
from ..model.graph import Floats, Graph, layer_begin, layer_end, n_layers
from ..runtime.indices import int64, place
from ..runtime.targets import leaf
from .block_solve import inverse_root
from .block_system import Blocks, Strips


@leaf
def first_line(strips: Strips, k: int, column: int) -> int:
    """The line of L^{-1} C[k] from which on eight columns may have entries."""
    return int64(strips.top[int64(strips.at[k]) + column // N_LANES])


@leaf
def finish_coupling(
    blocks: Blocks, strips: Strips, k: int, first: int, height: int, n: int, width: int
) -> None:
    """Some lines of L^{-1} C[k] from ``first`` on, where there is anything."""
    at = int64(blocks.diagonal_at[k])
    off = int64(blocks.coupling_at[k])
    square = at + first * n + first
    for c in range(0, width, N_LANES):
        top = first_line(strips, k, c)
        if top <= first:
            eliminate_lines(
                blocks.entries, off + first * width + c, width, at + top * n + first, n,
                off + top * width + c, width, first - top, square, height, min(N_LANES, width - c),
            )  # fmt: skip


@leaf
def subtract_square(blocks: Blocks, strips: Strips, k: int, n: int, width: int) -> None:
    """Take (L^{-1} C[k])^T L^{-1} C[k] from the upper triangle of D[k + 1]."""
    off = int64(blocks.coupling_at[k])
    there = int64(blocks.diagonal_at[k + 1])
    for first in range(0, width, N_LANES):
        for c in range(first, width, N_LANES):
            top = max(first_line(strips, k, first), first_line(strips, k, c))
            subtract_products(
                blocks.entries, there + first * width + c, width, off + top * width + first, width,
                off + top * width + c, width, n - top, min(N_LANES, width - first),
                min(N_LANES, width - c),
            )  # fmt: skip


@leaf
def height_of(left: int) -> int:
    """How many of the lines that are left are taken together: eight, or the next power of two."""
    height = N_LANES
    for _ in range(N_LANES):
        height = height // 2 if height > left else height
    return height


@leaf
def factor_square(
    entries: Floats, square: int, stride: int, height: int, original: Floats, first: int
) -> None:
    """Cholesky of a few lines and as many columns, from which all lines before are taken."""
    square = place(square)
    for i in range(height):
        line = square + i * stride
        pivot = entries[line + i]
        for t in range(i):
            pivot -= entries[square + t * stride + i] * entries[square + t * stride + i]
        inverse = inverse_root(pivot, original[first + i])
        for j in range(i + 1, height):
            total = entries[line + j]
            for t in range(i):
                total -= entries[square + t * stride + i] * entries[square + t * stride + j]
            entries[line + j] = total * inverse
        entries[line + i] = inverse


@leaf
def factor_sparse_block(graph: Graph, k: int, blocks: Blocks, strips: Strips) -> None:
    """Factor D[k], with L^{-1} C[k], and take from D[k + 1] what that leaves.

    What is subtracted from eight lines of D and of C are the lines before, side by side in memory.
    The square on the diagonal of the eight is factored by itself; in all their other columns they
    stay in registers while the lines before are subtracted, and while they are finished with what
    they owe one another.
    """
    entries = blocks.entries
    n = layer_end(graph, k) - layer_begin(graph, k)
    width = layer_end(graph, k + 1) - layer_end(graph, k) if k + 1 < n_layers(graph) else 0
    at = int64(blocks.diagonal_at[k])
    first = 0
    for _ in range(n):
        if first == n:
            break
        height = height_of(n - first)
        square = place(at + first * n + first)
        rest = first + height
        for i in range(height):
            blocks.original[first + i] = entries[square + i * n + i]
        subtract_products(entries, square, n, at + first, n, at + first, n, first, height, height)
        factor_square(entries, square, n, height, blocks.original, first)
        eliminate_lines(
            entries, square + height, n, at + first, n, at + rest, n, first, square, height,
            n - rest,
        )  # fmt: skip
        finish_coupling(blocks, strips, k, first, height, n, width)
        first = rest
    if width > 0:
        subtract_square(blocks, strips, k, n, width)


@leaf
def substitute_upper(graph: Graph, blocks: Blocks, direction: Floats) -> None:
    """direction = L^{-T} direction, with the upper triangles."""
    entries = blocks.entries
    last = n_layers(graph) - 1
    for back in range(1, last + 1):
        k = last + 1 - back
        here = layer_begin(graph, k)
        there = layer_end(graph, k)
        n = there - here
        width = layer_end(graph, k + 1) - there if k < last else 0
        at = int64(blocks.diagonal_at[k])
        off = int64(blocks.coupling_at[k])
        for back_i in range(n):
            i = n - 1 - back_i
            line = at + i * n + i
            after = inner(entries, off + i * width, direction, there, width)
            after += inner(entries, line + 1, direction, here + i + 1, n - 1 - i)
            direction[here + i] = (direction[here + i] - after) * entries[line]
