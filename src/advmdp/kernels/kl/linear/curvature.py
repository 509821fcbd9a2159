"""The curvature of the dual times a vector, without forming it."""

from __future__ import annotations

from ...lanes.passes import group_sums, inner
from ...model.graph import (
    Floats,
    Graph,
    gather,
    is_scattered,
    layer_begin,
    layer_end,
    n_layers,
    row_add,
    row_begin,
    row_dot,
    row_dot_and_add,
    row_size,
    successor_of,
)
from ...model.measure import Measure
from ...runtime.indices import int64
from ...runtime.targets import kernel, leaf
from ...sets.held import is_merged, is_scaled, is_written
from ..dual import Dual
from ..merged.line_passes import goes_by_lines, pass_over_lines
from ..merged.merged_rows import line_dot_and_add
from ..packs import slot_of
from .packed_curvature import packs_times


@leaf
def own_part(group: int, value: float, one: float, two: float) -> float:
    """How far an entry's value is from the mean of its group; clipped entries have none."""
    centre = one if group == 1 else two
    return value - centre if group > 0 else 0.0


@leaf
def written_row_times(
    graph: Graph, r: int, dual: Dual, vector: Floats, here: float, out: Floats
) -> float:
    """The part of a written row in ``curvature_times``; returns what it takes from its state."""
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    near = int64(graph.first[r])
    if is_scattered(graph, r):
        gather(graph, r, vector, dual.held.near)
        dot, one, two = group_sums(
            dual.held.work, begin, dual.held.near, 0, dual.held.group, begin, size
        )
    else:
        dot, one, two = group_sums(
            dual.held.work, begin, vector, near, dual.held.group, begin, size
        )
    if one != 0.0:
        one /= dual.held.group_mass[2 * r]
    if two != 0.0:
        two /= dual.held.group_mass[2 * r + 1]
    m = dual.flows.row_mass[r]
    excess = dot - here
    if is_scattered(graph, r):
        for j in range(size):
            part = excess + own_part(dual.held.group[begin + j], dual.held.near[j], one, two)
            out[successor_of(graph, r, j)] += m * dual.held.work[begin + j] * part
    elif dual.held.group_mass[2 * r + 1] > 0.0:
        for j in range(size):
            part = excess + own_part(dual.held.group[begin + j], vector[near + j], one, two)
            out[near + j] += m * dual.held.work[begin + j] * part
    else:  # the rows of a box have one group
        for j in range(size):
            own = vector[near + j] - one if dual.held.group[begin + j] > 0 else 0.0
            out[near + j] += m * dual.held.work[begin + j] * (excess + own)
    return m * excess


@leaf
def mean_along(graph: Graph, x: int, measure: Measure, dual: Dual, v: Floats) -> float:
    """The mean of <p, v> over the rows of a state, none of which is implicit."""
    total = 0.0
    for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
        if is_written(dual.held, r):
            total += dual.flows.share[r] * row_dot(graph, r, dual.held.work, v)
        else:
            total += dual.flows.share[r] * row_dot(graph, r, measure.chance, v)
    return total


@leaf
def mean_of_mobile(
    graph: Graph, k: int, measure: Measure, dual: Dual, v: Floats, mean: float
) -> float:
    """The mean of <p, v> - v(x) over the rows of layer k that no floor holds up.

    ``mean`` is the sum over all its rows, where a state that is held up counts without v(x).
    """
    mobile = 0.0
    for x in range(layer_begin(graph, k), layer_end(graph, k)):
        mobile += dual.flows.mobile[x]
        if dual.flows.lift[x] > 0.0:
            mean -= dual.flows.outflow[x] * mean_along(graph, x, measure, dual, v)
    return mean / mobile if mobile > 0.0 else 0.0


@kernel
def curvature_times(
    graph: Graph,
    measure: Measure,
    dual: Dual,
    v: Floats,
    out: Floats,
    tilted: Floats,
    sums: Floats,
    exact: bool | None,
) -> None:
    """out = (Hessian of G) v, for v = 0 on the first and the last layer, without forming it.

    Layer k contributes the variance over its rows of  d(x,a) = <p(.|x,a), v> - v(x)  and the
    rows' own curvature.  For an implicit row the two collapse to  m p(x') (v(x') - v(x) - mean d):
    one pass over p~, and one over a line for all merged rows of a state.

    A state held up by a floor varies around its own mean, and the others around theirs.  Without
    ``exact`` (True or None) all vary around a common one: cheaper, and too stiff by the floor.
    """
    merged = dual.merged
    for x in range(v.shape[0]):
        out[x] = 0.0
        sums[x] = 0.0
        tilted[x] = dual.tilt[x] * v[x]
    for k in range(n_layers(graph)):
        begin = layer_begin(graph, k)
        end = layer_end(graph, k)  # where the next layer begins
        mean = inner(dual.flows.inflow, end, v, end, layer_end(graph, k + 1) - end)
        mean -= inner(dual.flows.mobile, begin, v, begin, end - begin)
        if exact is not None:
            mean = mean_of_mobile(graph, k, measure, dual, v, mean)
        packs_times(graph, k, dual, v, mean, out)
        together = exact is None and goes_by_lines(graph, k, dual)
        if together:
            for x in range(layer_begin(graph, k), layer_end(graph, k)):
                own = v[x] if dual.flows.lift[x] == 0.0 else 0.0
                merged.factor[x] = merged.lead[x] * (mean + own)
            pass_over_lines(graph, k, dual, tilted, sums)
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            moves = dual.flows.lift[x] == 0.0  # a state held up by a floor ignores its own beta
            here = mean + (v[x] if moves else 0.0)
            if exact is not None and not moves:
                here = mean_along(graph, x, measure, dual, v)
            lead = merged.lead[x]
            if merged.others[x] < graph.n_actions:
                if together:
                    dot = merged.dot[x]
                else:
                    dot = line_dot_and_add(merged, x, tilted, lead * here, sums)
                if moves:
                    out[x] -= lead * dot - merged.mass[x] * here
            if merged.others[x] == 0:
                continue
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                if is_merged(dual.held, r):
                    continue
                m = dual.flows.row_mass[r]
                slot = slot_of(dual, r)
                if slot >= 0 and is_written(dual.held, r):
                    pull = dual.packed.along[slot]
                elif is_scaled(dual.held, r):
                    factor = m * dual.held.scale[r]
                    dot = row_dot_and_add(graph, r, measure.chance, tilted, factor * here, sums)
                    pull = factor * dot - m * here
                elif is_written(dual.held, r):
                    pull = written_row_times(graph, r, dual, v, here, out)
                else:
                    pull = m * (row_dot(graph, r, measure.chance, v) - here)
                    row_add(graph, r, measure.chance, pull, out)
                if moves:
                    out[x] -= pull
        for x in range(layer_begin(graph, k + 1), layer_end(graph, k + 1)):
            out[x] += dual.flows.free_inflow[x] * v[x] - dual.tilt[x] * sums[x]
