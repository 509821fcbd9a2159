"""Passes over all lines of a layer (``merged_rows``): eight at a time where they are long."""

from __future__ import annotations

from ...lanes.eight_lines import eight_lines
from ...lanes.passes import HAS_LANES
from ...lanes.vectors import N_LANES
from ...model.graph import Floats, Graph, layer_begin, layer_end, row_begin, row_size
from ...runtime.indices import int64
from ...runtime.targets import leaf
from ..dual import Dual
from .merged_rows import line_dot_and_add

LONG = 24  # entries of a line; shorter ones are as soon taken one by one, with the state's rows


@leaf
def goes_by_lines(graph: Graph, k: int, dual: Dual) -> bool:
    """Whether the lines of layer k are taken before its rows, and all together."""
    return HAS_LANES and row_size(dual.merged.lines, layer_begin(graph, k)) >= LONG


@leaf
def pass_over_lines(graph: Graph, k: int, dual: Dual, vector: Floats, out: Floats) -> None:
    """dot(x) = <C(x, .), vector>  and  out += factor(x) C(x, .)  for all states of layer k."""
    merged = dual.merged
    x = layer_begin(graph, k)
    end = layer_end(graph, k)
    while x + N_LANES <= end:
        eight_lines(
            merged.table, row_begin(merged.lines, x), vector, int64(merged.lines.first[x]),
            row_size(merged.lines, x), merged.factor, x, out, merged.dot,
        )  # fmt: skip
        x += N_LANES
    while x < end:
        merged.dot[x] = line_dot_and_add(merged, x, vector, merged.factor[x], out)
        x += 1
