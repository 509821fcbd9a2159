"""A block-tridiagonal system, factored in place and solved (see ``blocks``)."""

from __future__ import annotations

import math

from .blocks import Blocks
from .graph import Floats, Graph, layer_begin, layer_end, n_layers
from .indices import int64, place
from .targets import kernel, leaf, meet, shared


@leaf
def factor_block(block: Floats, at: int, n: int) -> None:
    """In-place Cholesky of one lower triangle, a column at a time; one over each pivot is kept."""
    for j in range(n):
        other = place(at + j * n)
        original = block[other + j]
        total = original
        for t in range(j):
            total -= block[other + t] * block[other + t]
        # a pivot lost to rounding belongs to a flat direction: do not move along it
        inverse = 1.0 / math.sqrt(total) if total > 1e-14 * original else 0.0
        for i in shared(j + 1, n):
            line = place(at + i * n)
            total = block[line + j]
            for t in range(j):
                total -= block[line + t] * block[other + t]
            block[line + j] = total * inverse
        meet()
        block[other + j] = inverse


@kernel
def factor_blocks(graph: Graph, blocks: Blocks) -> None:
    """Block elimination from the first layer to the last, in place: D = L L^T and L^{-1} C."""
    diagonal = blocks.diagonal
    coupling = blocks.coupling
    last = n_layers(graph) - 1
    for k in range(1, last + 1):
        n = layer_end(graph, k) - layer_begin(graph, k)
        width = layer_end(graph, k + 1) - layer_begin(graph, k + 1)
        at = int64(blocks.diagonal_at[k])
        off = int64(blocks.coupling_at[k])
        factor_block(diagonal, at, n)
        if k == last:
            return
        for i in range(n):
            line = place(off + i * width)
            for t in range(i):
                other = place(off + t * width)
                pull = diagonal[place(at + i * n) + t]
                for j in shared(0, width):
                    coupling[line + j] -= pull * coupling[other + j]
            inverse = diagonal[at + i * n + i]
            for j in shared(0, width):
                coupling[line + j] *= inverse
        meet()
        for y in shared(0, width):
            target = place(int64(blocks.diagonal_at[k + 1]) + y * width)
            for i in range(n):
                line = place(off + i * width)
                pull = coupling[line + y]
                for j in range(y + 1):
                    diagonal[target + j] -= pull * coupling[line + j]
        meet()


@kernel
def solve_blocks(graph: Graph, gradient: Floats, blocks: Blocks, direction: Floats) -> None:
    """direction = -Hessian^{-1} gradient, with the factors that ``factor_blocks`` left."""
    diagonal = blocks.diagonal
    coupling = blocks.coupling
    last = n_layers(graph) - 1
    for x in shared(0, direction.shape[0]):
        direction[x] = -gradient[x]
    meet()
    for k in range(1, last + 1):
        here = layer_begin(graph, k)
        there = layer_begin(graph, k + 1)
        n = there - here
        at = int64(blocks.diagonal_at[k])
        for i in range(n):
            found = direction[here + i] * diagonal[at + i * n + i]
            direction[here + i] = found
            for t in shared(i + 1, n):
                direction[place(here) + t] -= diagonal[place(at + i) + t * n] * found
            meet()
        if k < last:
            width = layer_end(graph, k + 1) - there
            for i in range(n):
                line = place(int64(blocks.coupling_at[k]) + i * width)
                pull = direction[here + i]
                for j in shared(0, width):
                    direction[place(there) + j] -= pull * coupling[line + j]
            meet()
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
                    direction[here + i] -= coupling[line + j] * direction[place(there) + j]
            meet()
        for back_i in range(n):
            i = n - 1 - back_i
            line = place(at + i * n)
            found = direction[here + i] * diagonal[line + i]
            direction[here + i] = found
            for t in shared(0, i):
                direction[place(here) + t] -= diagonal[line + t] * found
            meet()
