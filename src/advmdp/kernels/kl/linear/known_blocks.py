"""The Hessian of a known transition: ``blocks`` where every row keeps its distribution.

With out and inn the flows of the states and m, p the masses and transitions of the rows,

    D[k] = diag(out) - out out^T + sum over the rows of layer k - 1 of m p p^T - inn inn^T
    C[k] = out inn^T - sum over the rows of layer k of m p.

Both outer products are written at once, line by line; what a row adds is found from its successors
of positive probability, so that a support costs the same whether it was declared or not.
"""

from __future__ import annotations

from ...linear.block_system import Blocks
from ...model.graph import (
    Graph,
    layer_begin,
    layer_end,
    n_layers,
    row_begin,
    row_size,
    successor_of,
)
from ...model.measure import Measure
from ...runtime.indices import int64, place
from ...runtime.targets import kernel, leaf
from ..dual import Dual
from .blocks import EMPTY, RIDGE


@leaf
def begin_layer(graph: Graph, k: int, dual: Dual, blocks: Blocks) -> None:
    """D[k] and C[k] without the rows; above the diagonal nobody looks."""
    flows = dual.flows
    here = place(layer_begin(graph, k))
    there = place(layer_end(graph, k))
    n = there - here
    width = layer_end(graph, k + 1) - there if k + 1 < n_layers(graph) else 0
    for i in range(n):
        line = place(int64(blocks.diagonal_at[k]) + i * n)
        out = flows.outflow[here + i]
        inn = flows.inflow[here + i]
        for j in range(n):
            outer = out * flows.outflow[here + j] + inn * flows.inflow[here + j]
            blocks.entries[line + j] = -outer
        blocks.entries[line + i] += out + RIDGE * (out + inn)
        if out + inn < EMPTY:
            blocks.entries[line + i] += 1.0
        coupling = place(int64(blocks.coupling_at[k]) + i * width)
        for j in range(width):
            blocks.entries[coupling + j] = out * flows.inflow[there + j]


@leaf
def add_known_row(
    graph: Graph, r: int, line: int, at: int, there: int, n: int, measure: Measure,
    dual: Dual, blocks: Blocks,
) -> None:  # fmt: skip
    """Row r in the coupling, where ``line`` is that of its state or -1, and in the next block."""
    begin = place(row_begin(graph, r))
    m = dual.flows.row_mass[r]
    for j in range(row_size(graph, r)):
        p = measure.chance[begin + j]
        if p <= 0.0:
            continue
        y = successor_of(graph, r, j) - there
        if line >= 0:
            blocks.entries[line + y] -= m * p
        for i in range(j + 1):
            z = successor_of(graph, r, i) - there
            blocks.entries[at + y * n + z] += m * p * max(measure.chance[begin + i], 0.0)


@kernel
def assemble_known(graph: Graph, measure: Measure, dual: Dual, blocks: Blocks) -> None:
    """Fill the blocks D[1..L-1] and C[1..L-2]."""
    last = n_layers(graph) - 1
    for k in range(1, last + 1):
        begin_layer(graph, k, dual, blocks)
    for k in range(last):
        here = layer_begin(graph, k)
        there = layer_end(graph, k)
        n = layer_end(graph, k + 1) - there
        at = int64(blocks.diagonal_at[k + 1])
        for x in range(here, there):
            line = int64(blocks.coupling_at[k]) + (x - here) * n if k > 0 else -1
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                add_known_row(graph, r, line, at, there, n, measure, dual, blocks)
