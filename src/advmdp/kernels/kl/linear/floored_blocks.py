"""The blocks of the Hessian where a floor holds states up, exactly.

``blocks`` takes all rows of a layer to vary around a common mean.  A state that a floor holds up
has a fixed outflow, so that its rows vary around their own mean, and those of the other states,
which share the rest F of the layer's mass, around theirs.  With o the fixed outflow, p_x the mean
transition of a state, ``mobile`` the outflow of the others and inn_F what it makes of the inflow,

    D[k]    = diag(mobile) - mobile mobile^T / F        instead of  ... - mobile mobile^T
    C[k]    = mobile inn_F^T / F - ...                  instead of  mobile inn^T - ...
    D[k+1]  = ... - inn_F inn_F^T / F - sum of o p_x p_x^T       instead of  ... - inn inn^T

The difference is of the size of the floor, which is all there is along a layer's mobile states.
"""

from __future__ import annotations

from ...linear.block_system import Blocks
from ...model.graph import Graph, layer_begin, layer_end, n_layers, row_add
from ...model.measure import Measure
from ...runtime.indices import int64
from ...runtime.targets import kernel
from ...sets.held import is_written
from ..dual import Dual
from .blocks import line_of
from .conjugate import Vectors


@kernel
def fill_mean_transition(
    graph: Graph, x: int, measure: Measure, dual: Dual, vectors: Vectors
) -> None:
    """p_x, the mean over actions of a state none of whose rows is implicit, in ``tilted``."""
    for y in range(vectors.tilted.shape[0]):
        vectors.tilted[y] = 0.0
    for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
        if is_written(dual.held, r):
            row_add(graph, r, dual.held.work, dual.flows.share[r], vectors.tilted)
        else:
            row_add(graph, r, measure.chance, dual.flows.share[r], vectors.tilted)


@kernel
def soften_layer(
    graph: Graph, k: int, measure: Measure, dual: Dual, vectors: Vectors, blocks: Blocks
) -> None:
    """The corrections that layer k makes; its inn_F is left in ``sums``."""
    here = layer_begin(graph, k)
    there = layer_end(graph, k)
    end = layer_end(graph, k + 1)
    inner = k + 1 < n_layers(graph)
    free = 0.0
    for y in range(there, end):
        vectors.sums[y] = dual.flows.inflow[y]
    for x in range(here, there):
        free += dual.flows.mobile[x]
        if dual.flows.lift[x] > 0.0:
            fill_mean_transition(graph, x, measure, dual, vectors)
            for y in range(there, end):
                vectors.sums[y] -= dual.flows.outflow[x] * vectors.tilted[y]
                if inner:
                    line = line_of(graph, y, k + 1, blocks) - there
                    flow = dual.flows.outflow[x] * vectors.tilted[y]
                    for z in range(there, y + 1):
                        blocks.entries[line + z] -= flow * vectors.tilted[z]
    part = 1.0 / free if free > 0.0 else 0.0
    for x in range(here, there):
        line = line_of(graph, x, k, blocks) - here
        excess = dual.flows.mobile[x] * (1.0 - part)
        for z in range(here, x + 1):
            blocks.entries[line + z] += excess * dual.flows.mobile[z]
    if not inner:
        return
    for x in range(here, there):
        line = int64(blocks.coupling_at[k]) + (x - here) * (end - there) - there
        for y in range(there, end):
            change = part * vectors.sums[y] - dual.flows.inflow[y]
            blocks.entries[line + y] += dual.flows.mobile[x] * change
    for y in range(there, end):
        line = line_of(graph, y, k + 1, blocks) - there
        for z in range(there, y + 1):
            change = dual.flows.inflow[y] * dual.flows.inflow[z]
            change -= part * vectors.sums[y] * vectors.sums[z]
            blocks.entries[line + z] += change


@kernel
def soften_floors(
    graph: Graph, measure: Measure, dual: Dual, vectors: Vectors, blocks: Blocks
) -> None:
    """Correct the blocks of all layers in which a floor holds states up."""
    for k in range(1, n_layers(graph)):
        lifted = 0
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            lifted += dual.flows.lift[x] > 0.0
        if lifted > 0:
            soften_layer(graph, k, measure, dual, vectors, blocks)
