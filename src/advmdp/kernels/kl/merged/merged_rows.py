"""Merged rows: the free rows of a state as one line, instead of a row for every action.

Rows that no bound touches all move alike: p_beta is proportional to p~ e^beta.  What G, the flows
and the curvature need of them is therefore only their sum

    C(x, x') = sum over the free actions of pi~(a|x) p~(x'|x,a),

which does not depend on beta: it is formed once (``carried_lines``), and an evaluation reads a line
of C where it would read a row for every action.  Rows that a bound holds are solved one by one.

Which rows are free is guessed from the last projection and verified in every evaluation.  For most
rows one comparison does it: ``HeldRows.tight`` says how close a row is to its bounds, and tilts
that are not far enough apart to close that gap cannot take the row out of it.

Lines exist where every successor is possible; elsewhere they are empty, nothing is merged, and
every row is looked at in every evaluation.
"""

from __future__ import annotations

from typing import Any

from ...lanes.line_products import add_lines
from ...lanes.passes import dot, dot_and_add, scale
from ...lanes.row_blocks import HAS_BLOCKS
from ...model.graph import Floats, Graph, layer_begin, layer_end, row_begin, row_dot, row_size
from ...model.log_storage import linear
from ...model.measure import Measure
from ...model.row_status import is_bound, is_free
from ...runtime.indices import int64, place
from ...runtime.targets import kernel, leaf
from ...runtime.threads import barrier, shared
from ...sets.held import (
    LARGEST,
    SMALLEST,
    UNKNOWN,
    expect_bounds,
    hold_scaled,
    is_merged,
    is_written,
    merge,
    release,
    unmerge,
)
from ...sets.interface import has_tightness, row_tightness, stays_inside
from ..dual import Dual, MergedRows
from .carried_lines import (
    forget_line_of,
    has_line,
    is_carried,
    leave_out,
    line_stands,
    note_weight,
)

AT_A_BOUND = 1.0 - 1e-9
TILT_ROUNDING = 1e-12  # of a product of scale and tilt, generously


@leaf
def widest_tilt(graph: Graph, k: int, dual: Dual) -> float:
    """How far apart beta pulls the states of layer k: a free row moves by no larger factor."""
    least = 1.0  # the largest tilt is one
    for x in range(layer_begin(graph, k), layer_end(graph, k)):
        least = min(least, dual.tilt[x])
    return (1.0 + TILT_ROUNDING) / max(least, 1e-300)


@leaf
def keep_line(graph: Graph, x: int, rows: Any, dual: Dual) -> None:
    """How many rows of a state are not in its line, and the tightest of those that are."""
    others = 0
    tight = 0.0
    for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
        if not is_merged(dual.held, r):
            others += 1
        elif not is_free(rows, r):
            tight = max(tight, dual.held.tight[r])
    dual.merged.others[x] = others
    dual.merged.tight[x] = tight


@leaf
def form_line(graph: Graph, x: int, measure: Measure, dual: Dual) -> None:
    """C(x, .) of the rows that are marked as merged: those side by side are added together."""
    line = place(row_begin(dual.merged.lines, x))
    width = row_size(dual.merged.lines, x)
    for j in range(width):
        dual.merged.table[line + j] = 0.0
    end = (x + 1) * graph.n_actions
    first = x * graph.n_actions
    for r in range(x * graph.n_actions, end + 1):
        if r < end and is_merged(dual.held, r):
            continue
        if first < r:
            add_lines(
                measure.chance, row_begin(graph, first), r - first, width, measure.policy, first,
                dual.merged.table, line,
            )  # fmt: skip
        first = r + 1


@leaf
def fill_line(graph: Graph, x: int, measure: Measure, rows: Any, dual: Dual) -> None:
    """C(x, .) of the rows that are marked as merged, and what ``keep_line`` says of them."""
    if HAS_BLOCKS and not is_carried(x, dual):
        form_line(graph, x, measure, dual)
        keep_line(graph, x, rows, dual)
        return
    line = place(row_begin(dual.merged.lines, x))
    width = row_size(dual.merged.lines, x)
    carried = is_carried(x, dual)
    others = 0
    tight = 0.0
    n_merged = 0
    for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
        if not is_merged(dual.held, r):
            others += 1
            if carried:
                leave_out(r, dual)
            continue
        if not is_free(rows, r):
            tight = max(tight, dual.held.tight[r])
        if carried:
            note_weight(r, measure.policy[r], dual)
        weight = linear(measure.policy[r])
        begin = place(row_begin(graph, r))
        if n_merged == 0:
            scale(measure.chance, begin, dual.merged.table, line, width, weight)
        else:
            for j in range(width):
                dual.merged.table[line + j] += weight * linear(measure.chance[begin + j])
        n_merged += 1
    if n_merged == 0:
        for j in range(width):
            dual.merged.table[line + j] = 0.0
    dual.merged.others[x] = others
    dual.merged.tight[x] = tight


@leaf
def line_dot_and_add(
    merged: MergedRows, x: int, vector: Floats, factor: float, out: Floats
) -> float:
    """``row_dot_and_add`` for the line of a state."""
    begin = row_begin(merged.lines, x)
    size = row_size(merged.lines, x)
    first = int64(merged.lines.first[x])
    return dot_and_add(merged.table, begin, vector, first, size, factor, out)


@leaf
def line_dot(merged: MergedRows, x: int, vector: Floats) -> float:
    """``row_dot`` for the line of a state, whose entries are not signed."""
    begin = row_begin(merged.lines, x)
    size = row_size(merged.lines, x)
    return dot(merged.table, begin, vector, int64(merged.lines.first[x]), size)


@leaf
def is_inside_by_guess(rows: Any, r: int, dual: Dual) -> bool:
    """Whether a bound row was free when it was last looked at."""
    return has_tightness(rows) and is_bound(rows, r) and not is_written(dual.held, r)


@leaf
def may_be_merged(rows: Any, r: int, dual: Dual) -> bool:
    """Whether a row of a state that has a line was free when it was last looked at."""
    return is_free(rows, r) or is_inside_by_guess(rows, r, dual)


@kernel
def merge_rows(graph: Graph, measure: Measure, rows: Any, dual: Dual) -> None:
    """Merge every row that was free when it was last looked at."""
    for x in shared(0, measure.mass.shape[0] - 1):
        mergeable = has_line(x, dual)
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            if mergeable and may_be_merged(rows, r, dual):
                merge(dual.held, r)
            else:
                unmerge(dual.held, r)
        if line_stands(graph, x, measure, dual):
            keep_line(graph, x, rows, dual)
        else:
            fill_line(graph, x, measure, rows, dual)
    barrier()


@leaf
def sift_state(
    graph: Graph, x: int, measure: Measure, rows: Any, dual: Dual, widest: float
) -> None:
    """Take the rows of a state that leave their boxes at this beta out of the merged."""
    if dual.merged.tight[x] * widest <= 1.0 and widest < LARGEST:
        return
    taken = 0
    for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
        inside = is_free(rows, r) or dual.held.tight[r] * widest <= 1.0
        if not is_merged(dual.held, r) or (inside and widest < LARGEST):
            continue
        growth = row_dot(graph, r, measure.chance, dual.tilt)
        dual.held.scale[r] = 1.0 / growth
        if not (growth > SMALLEST):
            release(dual.held, r)  # too small for floats, as the evaluation will find
            taken += 1
        elif not inside and not stays_inside(graph, r, measure.chance, dual.tilt, rows, dual.held):
            expect_bounds(dual.held, r)
            taken += 1
    if taken > 0:
        fill_line(graph, x, measure, rows, dual)


@leaf
def note_tightness(
    graph: Graph, r: int, measure: Measure, rows: Any, dual: Dual, widest: float
) -> None:
    """How tight a box row is after a step; a row with room for another such step comes free."""
    if not is_written(dual.held, r) and dual.held.tight[r] * widest <= 1.0:
        dual.held.tight[r] *= widest
    else:
        dual.held.tight[r] = row_tightness(graph, r, measure.chance, rows)
        if dual.held.tight[r] * widest <= 1.0:
            release(dual.held, r)


@kernel
def note_all_rows(graph: Graph, measure: Measure, rows: Any, dual: Dual) -> None:
    """The same for a measure of which nothing is known; rows at a bound are taken as clipped."""
    for r in range(measure.policy.shape[0]):
        hold_scaled(dual.held, r, 1.0)
        forget_line_of(r, dual)
        dual.held.tight[r] = UNKNOWN
        if has_tightness(rows) and is_bound(rows, r):
            dual.held.tight[r] = row_tightness(graph, r, measure.chance, rows)
            if dual.held.tight[r] > AT_A_BOUND:
                expect_bounds(dual.held, r)
