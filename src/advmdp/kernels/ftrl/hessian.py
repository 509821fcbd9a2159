"""Newton directions: the Hessian of -D over layers, formed, factored and solved.

With d = P(. | x, a) - e_x the Hessian is the sum over pairs of  d d^T / phi''(m): block tridiagonal
over the layers.  The first layer is one state: its line is eliminated here, layers 1 .. L - 1 are
the blocks of ``linear``.  Every state has pairs of its own, so the matrix is positive definite.
"""

from __future__ import annotations

from typing import Any

from ..linear.block_solve import solve_blocks
from ..model.graph import (
    Floats,
    Graph,
    is_scattered,
    layer_begin,
    layer_end,
    n_layers,
    row_begin,
    row_size,
    successor_of,
)
from ..runtime.indices import int64, place
from ..runtime.targets import kernel, leaf
from . import interface
from .dual import FixedDual
from .fixed_measure import FixedMeasure


@leaf
def add_outer(
    graph: Graph, r: int, bend: float, chance: Floats, out: Floats, at: int, there: int, n: int
) -> None:
    """Add  bend p p^T  of row r to the lower triangle of a block over the next layer."""
    begin = place(row_begin(graph, r))
    size = row_size(graph, r)
    if is_scattered(graph, r):
        for j in range(size):
            line = at + (successor_of(graph, r, j) - there) * n
            for i in range(j + 1):
                y = successor_of(graph, r, i) - there
                out[line + y] += bend * chance[begin + j] * chance[begin + i]
    else:
        first = int64(graph.first[r]) - there
        for j in range(size):
            line = place(at + (first + j) * n + first)
            pull = bend * chance[begin + j]
            for i in range(j + 1):
                out[line + i] += pull * chance[begin + i]


@leaf
def add_line(graph: Graph, r: int, factor: float, chance: Floats, out: Floats, shift: int) -> None:
    """Add  factor p  of row r to the successors' places in ``out``, shifted."""
    begin = place(row_begin(graph, r))
    size = row_size(graph, r)
    if is_scattered(graph, r):
        for j in range(size):
            out[shift + successor_of(graph, r, j)] += factor * chance[begin + j]
    else:
        target = place(shift + int64(graph.first[r]))
        for j in range(size):
            out[target + j] += factor * chance[begin + j]


@interface.add_state.register(FixedDual)
@leaf
def add_pairs(graph: Graph, x: int, k: int, measure: FixedMeasure, dual: FixedDual) -> None:
    """What the pairs of a state of layer k add to its own line and to the next layer."""
    entries = dual.blocks.entries
    last = n_layers(graph) - 1
    here = layer_begin(graph, k)
    there = layer_end(graph, k)
    n = 0 if k == last else layer_end(graph, k + 1) - there
    own = 0.0
    for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
        bend = dual.bend[r]
        own += bend
        if k == last:
            continue
        add_outer(
            graph, r, bend, measure.chance, entries, int64(dual.blocks.diagonal_at[k + 1]), there, n
        )
        if k == 0:
            add_line(graph, r, -bend, measure.chance, dual.root, 0)
        else:
            line = int64(dual.blocks.coupling_at[k]) + (x - here) * n
            add_line(graph, r, -bend, measure.chance, entries, line - there)
    if k == 0:
        dual.root[0] = own
    else:
        entries[int64(dual.blocks.diagonal_at[k]) + (x - here) * (there - here + 1)] += own


@kernel
def assemble(graph: Graph, measure: FixedMeasure, dual: Any) -> None:
    """Fill the blocks, and take the line of x_0 out of them."""
    entries = dual.blocks.entries
    for e in range(entries.shape[0]):
        entries[e] = 0.0
    for x in range(dual.root.shape[0]):
        dual.root[x] = 0.0
    for k in range(n_layers(graph)):
        here = layer_begin(graph, k)
        n = layer_end(graph, k) - here
        for x in range(here, here + n):
            if measure.reached[x] != 0:
                interface.add_state(graph, x, k, measure, dual)
            else:
                entries[int64(dual.blocks.diagonal_at[k]) + (x - here) * (n + 1)] = 1.0
    if n_layers(graph) > 1:
        here = layer_begin(graph, 1)
        n = layer_end(graph, 1) - here
        for j in range(n):
            line = place(int64(dual.blocks.diagonal_at[1]) + j * n)
            pull = dual.root[here + j] / dual.root[0]
            for i in range(j + 1):
                entries[line + i] -= pull * dual.root[here + i]


@kernel
def newton_direction(graph: Graph, dual: Any, factored: bool) -> None:
    """direction = -Hessian^{-1} gradient, for blocks that are assembled."""
    n_states = dual.gradient.shape[0]
    first = dual.gradient[0] / dual.root[0]
    for x in range(n_states):
        dual.value[x] = dual.gradient[x] - dual.root[x] * first
    dual.value[0] = 0.0
    solve_blocks(graph, dual.value, dual.blocks, dual.direction, factored)
    pull = 0.0
    if n_layers(graph) > 1:
        for x in range(layer_begin(graph, 1), layer_end(graph, 1)):
            pull += dual.root[x] * dual.direction[x]
    dual.direction[0] = -first - pull / dual.root[0]
    dual.direction[n_states - 1] = 0.0
