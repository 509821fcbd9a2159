"""Factors kept as inverses, for a known transition: a direction is then a few small products.

A projection onto a known transition has no bounds whose activity changes from step to step, so that
the factors of an earlier episode serve for many: each step with them leaves some hundredth of the
flow residual.  What limits such a step is not arithmetic but one state waiting for the one before:
substitution through triangular blocks is a chain of all states.  With D_k the Schur complement of
layer k and G_k = D_k^{-1} C_k

    r_{k+1} -= G_k^T r_k        z_k = D_k^{-1} r_k - G_k z_{k+1}

is a chain of layers.  D_k^{-1} and G_k stand in ``KeptFactor.entries``, where the blocks have D_k
and C_k; making them costs about as much as a factorisation, so it is done when factors are kept.
A pivot that was lost to rounding is zero in them: its flat direction is not moved along.
"""

from __future__ import annotations

from ...lanes.line_products import sum_lines, take_dots, take_lines
from ...linear.block_system import Blocks
from ...model.graph import Floats, Graph, layer_begin, layer_end, n_layers
from ...runtime.indices import int64, place
from ...runtime.targets import kernel, leaf
from .kept_factor import KeptFactor

MOST_CHORDS = 4  # steps of one projection with old factors: more take longer than new factors


@leaf
def keeps_converging(done: int, absolute: float, before: float, tolerance: float) -> bool:
    """Whether few more steps like the last one, from ``before`` to ``absolute``, are enough."""
    left = absolute
    for _ in range(done, MOST_CHORDS):
        left *= absolute / before
    return done < MOST_CHORDS and left <= tolerance


@leaf
def invert_triangle(entries: Floats, at: int, n: int, line: Floats) -> None:
    """Replace a factored block by L^{-1}, with zeros above its diagonal; ``line`` is scratch."""
    for i in range(n):
        begin = place(at + i * n)
        inverse = entries[begin + i]
        for t in range(i):
            line[t] = entries[begin + t]
        for c in range(n):
            entries[begin + c] = 0.0
        take_lines(entries, begin, line, 0, entries, at, n, i, i)
        for c in range(i):
            entries[begin + c] *= inverse
        entries[begin + i] = inverse


@kernel
def keep_inverse(graph: Graph, blocks: Blocks, kept: KeptFactor) -> None:
    """Keep the inverses of factored blocks, which are overwritten."""
    entries = blocks.entries
    column = blocks.pull
    last = n_layers(graph) - 1
    for k in range(1, last + 1):
        n = layer_end(graph, k) - layer_begin(graph, k)
        width = layer_end(graph, k + 1) - layer_begin(graph, k + 1) if k < last else 0
        at = int64(blocks.diagonal_at[k])
        off = int64(blocks.coupling_at[k])
        invert_triangle(entries, at, n, column)
        for i in range(n):
            for t in range(n):
                column[t] = entries[at + t * n + i]
            sum_lines(kept.entries, at + i * n, column, 0, entries, at, n, n, n)
            sum_lines(kept.entries, off + i * width, column, 0, entries, off, width, n, width)
    for i in range(kept.is_there.shape[0]):
        kept.is_there[i] = 1


@kernel
def solve_kept(
    graph: Graph, gradient: Floats, kept: KeptFactor, blocks: Blocks, direction: Floats
) -> None:
    """direction = -Hessian^{-1} gradient, for the Hessian whose inverses are kept."""
    entries = kept.entries
    right = blocks.pull
    last = n_layers(graph) - 1
    for x in range(direction.shape[0]):
        right[x] = -gradient[x]
        direction[x] = 0.0
    for k in range(1, last):
        here = layer_begin(graph, k)
        there = layer_end(graph, k)
        width = layer_end(graph, k + 1) - there
        off = int64(blocks.coupling_at[k])
        take_lines(right, there, right, here, entries, off, width, there - here, width)
    for k in range(1, last + 1):
        here = layer_begin(graph, k)
        n = layer_end(graph, k) - here
        sum_lines(direction, here, right, here, entries, int64(blocks.diagonal_at[k]), n, n, n)
    for back in range(1, last):
        k = last - back
        here = layer_begin(graph, k)
        there = layer_end(graph, k)
        width = layer_end(graph, k + 1) - there
        off = int64(blocks.coupling_at[k])
        take_dots(direction, here, entries, off, direction, there, there - here, width)
