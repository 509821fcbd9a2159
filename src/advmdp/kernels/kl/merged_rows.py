"""The free rows of a state taken together: one line instead of a row for every action.

Rows that no bound touches all move alike: p_beta is proportional to p~ e^beta.  What G, the flows
and the curvature need of them is therefore only their sum

    C(x, x') = sum over the free actions of pi~(a|x) p~(x'|x,a),

which does not depend on beta: it is formed once, and an evaluation reads a line of C where it
would read a row for every action.  Rows that a bound holds are solved one by one.

Which rows are free is guessed from the last projection and verified in every evaluation.  For most
rows one comparison does it: ``Dual.tight`` bounds how close a row is to its box, and tilts that are
not far enough apart to close that gap cannot take the row out of it.

Lines exist where every successor is possible; elsewhere they are empty, nothing is pooled, and
every row is looked at in every evaluation.
"""

from __future__ import annotations

from ..model.graph import Floats, Graph, layer_begin, layer_end, row_begin, row_dot, row_size
from ..model.log_storage import linear
from ..runtime.indices import int64, place
from ..runtime.passes import dot, dot_and_add, scale
from ..runtime.targets import kernel, leaf
from ..runtime.threads import barrier, shared
from ..sets.box_passes import crowded, tightness
from ..sets.rows import BOX, SIMPLEX, TransitionSet
from .dual import IMPLICIT, LARGEST, POOLED, SMALLEST, WRITTEN, Dual, Measure, Pool
from .row_oracle import stays_free

UNKNOWN = 2.0  # tightness of a row that has to be looked at
AT_A_BOUND = 1.0 - 1e-9
ROOMY = 1.2  # with more room than this factor it does not matter how much
ROUNDING = 1e-12  # of a product of scale and tilt, generously


@leaf
def widest_tilt(graph: Graph, k: int, dual: Dual) -> float:
    """How far apart beta pulls the states of layer k: a free row moves by no larger factor."""
    least = 1.0  # the largest tilt is one
    for x in range(layer_begin(graph, k), layer_end(graph, k)):
        least = min(least, dual.tilt[x])
    return (1.0 + ROUNDING) / max(least, 1e-300)


@leaf
def fill_line(graph: Graph, x: int, measure: Measure, rows: TransitionSet, dual: Dual) -> None:
    """C(x, .) of the rows that are marked as pooled."""
    line = place(row_begin(dual.pool.lines, x))
    width = row_size(dual.pool.lines, x)
    others = 0
    tight = 0.0
    n_pooled = 0
    for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
        if dual.holding[r] != POOLED:
            others += 1
            continue
        if rows.kind[r] != SIMPLEX:
            tight = max(tight, dual.tight[r])
        weight = linear(measure.policy[r])
        begin = place(row_begin(graph, r))
        if n_pooled == 0:
            scale(measure.chance, begin, dual.pool.table, line, width, weight)
        else:
            for j in range(width):
                dual.pool.table[line + j] += weight * linear(measure.chance[begin + j])
        n_pooled += 1
    if n_pooled == 0:
        for j in range(width):
            dual.pool.table[line + j] = 0.0
    dual.pool.others[x] = others
    dual.pool.tight[x] = tight


@leaf
def line_dot_and_add(pool: Pool, x: int, vector: Floats, factor: float, out: Floats) -> float:
    """``row_dot_and_add`` for the line of a state."""
    begin = row_begin(pool.lines, x)
    size = row_size(pool.lines, x)
    first = int64(pool.lines.first[x])
    return dot_and_add(pool.table, begin, vector, first, size, factor, out)


@leaf
def line_dot(pool: Pool, x: int, vector: Floats) -> float:
    """``row_dot`` for the line of a state, whose entries are not signed."""
    begin = row_begin(pool.lines, x)
    size = row_size(pool.lines, x)
    return dot(pool.table, begin, vector, int64(pool.lines.first[x]), size)


@kernel
def fill_pool(graph: Graph, measure: Measure, rows: TransitionSet, dual: Dual) -> None:
    """Pool every row that was free when it was last looked at, and may be by its kind."""
    for x in shared(0, measure.mass.shape[0] - 1):
        poolable = row_size(dual.pool.lines, x) > 0
        for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
            kind = rows.kind[r]
            if poolable and (kind == SIMPLEX or (kind == BOX and dual.holding[r] != WRITTEN)):
                dual.holding[r] = POOLED
            elif dual.holding[r] == POOLED:
                dual.holding[r] = IMPLICIT
        fill_line(graph, x, measure, rows, dual)
    barrier()


@leaf
def sift_state(
    graph: Graph, x: int, measure: Measure, rows: TransitionSet, dual: Dual, widest: float
) -> None:
    """Take the rows of a state that leave their boxes at this beta out of the pool."""
    if dual.pool.tight[x] * widest <= 1.0 and widest < LARGEST:
        return
    taken = 0
    for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
        inside = rows.kind[r] == SIMPLEX or dual.tight[r] * widest <= 1.0
        if dual.holding[r] != POOLED or (inside and widest < LARGEST):
            continue
        growth = row_dot(graph, r, measure.chance, dual.tilt)
        dual.scale[r] = 1.0 / growth
        if not (growth > SMALLEST):
            dual.holding[r] = IMPLICIT  # too small for floats, as the evaluation will find
            taken += 1
        elif not inside and not stays_free(graph, r, measure.chance, dual, rows):
            dual.holding[r] = WRITTEN
            taken += 1
    if taken > 0:
        fill_line(graph, x, measure, rows, dual)


@leaf
def row_tightness(graph: Graph, r: int, chance: Floats, rows: TransitionSet) -> float:
    """At least one over the factor by which a box row may move; more than one if it is outside."""
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    if crowded(chance, begin, rows.lower, begin, rows.upper, begin, size, ROOMY) == 0.0:
        return 1.0 / ROOMY  # true of most rows, and found out without a division
    return tightness(chance, begin, rows.lower, begin, rows.upper, begin, size)


@leaf
def note_tightness(
    graph: Graph, r: int, measure: Measure, rows: TransitionSet, dual: Dual, widest: float
) -> None:
    """How tight a box row is after a step; a row with room for another such step comes free."""
    if dual.holding[r] != WRITTEN and dual.tight[r] * widest <= 1.0:
        dual.tight[r] *= widest
    else:
        dual.tight[r] = row_tightness(graph, r, measure.chance, rows)
        if dual.tight[r] * widest <= 1.0:
            dual.holding[r] = IMPLICIT


@kernel
def note_all_rows(graph: Graph, measure: Measure, rows: TransitionSet, dual: Dual) -> None:
    """The same for a measure of which nothing is known; rows at a bound are taken as clipped."""
    for r in range(measure.policy.shape[0]):
        dual.holding[r] = IMPLICIT
        dual.scale[r] = 1.0
        dual.tight[r] = UNKNOWN
        if rows.kind[r] == BOX:
            dual.tight[r] = row_tightness(graph, r, measure.chance, rows)
            if dual.tight[r] > AT_A_BOUND:
                dual.holding[r] = WRITTEN
