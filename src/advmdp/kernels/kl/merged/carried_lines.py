"""Lines of merged rows that are carried from one projection to the next.

The rows of a state are at hand when they are written, and so is their line (``merged_rows``): it is
formed there, for the rows that will be merged if nothing happens to them, and needs no pass of its
own.  What it was formed with is noted,

    weight(r) = pi~(a|x) of a row that is in the line, NOT_IN of one that is not,

and before the next projection the line stands if those are still the rows and the weights: of the
states on the path they are not.  Whoever changes a transition in another way forgets the lines.  A
line that is formed anew has the same bits.  Elsewhere than on the CPU all of them are.
"""

from __future__ import annotations

import math

from ...lanes.row_blocks import HAS_BLOCKS
from ...lanes.row_dots import dots_of_eight, dots_of_four, dots_of_one, dots_of_two
from ...model.graph import Graph, row_begin, row_size
from ...model.log_storage import linear
from ...model.measure import Measure
from ...runtime.indices import int64, place
from ...runtime.targets import leaf
from ...sets.held import is_merged
from ..dual import Dual

NOT_IN = -1.0
ORDINARY = 2.0**-664  # a power of two, and more than ``log_storage.TINY``
LONG = 32  # entries of a line that is carried over; with ten it is worth nothing


@leaf
def has_line(x: int, dual: Dual) -> bool:
    """Whether the rows of a state may be merged."""
    return row_size(dual.merged.lines, x) > 0


@leaf
def is_carried(x: int, dual: Dual) -> bool:
    """Whether the line of a state is carried over; short ones are as soon formed anew."""
    return HAS_BLOCKS and row_size(dual.merged.lines, x) >= LONG


@leaf
def line_stands(graph: Graph, x: int, measure: Measure, dual: Dual) -> bool:
    """Whether the line of a state was formed of the rows that are merged now."""
    if not is_carried(x, dual):
        return False
    different = 0
    for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
        weight = linear(measure.policy[r]) if is_merged(dual.held, r) else NOT_IN
        different += 0 if dual.merged.weight[r] == weight else 1
    return different == 0


@leaf
def clear_line(x: int, dual: Dual) -> None:
    """C(x, .) = 0."""
    line = place(row_begin(dual.merged.lines, x))
    for j in range(row_size(dual.merged.lines, x)):
        dual.merged.table[line + j] = 0.0


@leaf
def add_to_line(graph: Graph, r: int, x: int, measure: Measure, dual: Dual) -> None:
    """Add one row to C(x, .), with the weight that is noted."""
    line = place(row_begin(dual.merged.lines, x))
    begin = place(row_begin(graph, r))
    weight = dual.merged.weight[r]
    for j in range(row_size(dual.merged.lines, x)):
        dual.merged.table[line + j] += weight * linear(measure.chance[begin + j])


@leaf
def note_weight(r: int, policy: float, dual: Dual) -> None:
    """The row is in the line, with this weight in log storage."""
    dual.merged.weight[r] = linear(policy)


@leaf
def leave_out(r: int, dual: Dual) -> None:
    """The row is not in the line."""
    dual.merged.weight[r] = NOT_IN


@leaf
def forget_line_of(r: int, dual: Dual) -> None:
    """Whatever the line was formed with, it does not stand."""
    if HAS_BLOCKS:
        dual.merged.weight[r] = math.nan


@leaf
def find_growths(graph: Graph, begin: int, end: int, measure: Measure, dual: Dual) -> None:
    """<p~, tilt> of rows begin .. end - 1 of a state, and whether one of their terms is tiny."""
    merged = dual.merged
    r = begin
    while r < end:
        at = row_begin(graph, r)
        first = int64(graph.first[r])
        size = row_size(graph, r)
        if r + 8 <= end:
            dots_of_eight(
                measure.chance, at, dual.tilt, first, size, ORDINARY, r, merged.growth,
                merged.capped,
            )  # fmt: skip
            r += 8
        elif r + 4 <= end:
            dots_of_four(
                measure.chance, at, dual.tilt, first, size, ORDINARY, r, merged.growth,
                merged.capped,
            )  # fmt: skip
            r += 4
        elif r + 2 <= end:
            dots_of_two(
                measure.chance, at, dual.tilt, first, size, ORDINARY, r, merged.growth,
                merged.capped,
            )  # fmt: skip
            r += 2
        else:
            dots_of_one(
                measure.chance, at, dual.tilt, first, size, ORDINARY, r, merged.growth,
                merged.capped,
            )  # fmt: skip
            r += 1
