"""Upper and lower occupancy bounds of states, by columns: what COMP-UOB and its twin compute.

For a target x of layer k, f = 1{. = x} on layer k, and backwards from there

    f(y) = sum over b of  pi(b | y) * (max or min over the row's set of <p, f>),

the largest (least) probability of reaching x is f(x_0).  The last step before the target needs no
sorting: with f an indicator the extreme is the largest (least) probability of a single entry.
"""

from __future__ import annotations

from ..model.graph import Floats, Graph, layer_begin, layer_end, n_layers
from ..runtime.indices import int64, place
from ..runtime.targets import kernel, leaf
from .columns import Columns, are_scattered, column_begin, column_size
from .layer_extremes import Fill, average_over_actions, extremes_over_layer


@leaf
def extreme_chance(columns: Columns, e: int, r: int, least: bool | None) -> float:
    """The largest or least probability of one entry, in the order of the columns, of row r."""
    room = columns.room[e]
    if least is None:
        return columns.lower[e] + min(room, columns.slack[r])
    return columns.lower[e] + max(columns.slack[r] - (columns.spare[r] - room), 0.0)


@leaf
def step_to_target(
    graph: Graph, target: int, k: int, columns: Columns, least: bool | None, fill: Fill
) -> None:
    """total(r) = the extreme probability of the target, for the rows of layer k - 1."""
    first = layer_begin(graph, k - 1) * graph.n_actions
    begin = column_begin(columns, target)
    size = column_size(columns, target)
    if not are_scattered(columns):
        for m in range(size):
            fill.total[place(first + m)] = extreme_chance(
                columns, place(begin + m), place(first + m), least
            )
        return
    for r in range(first, layer_begin(graph, k) * graph.n_actions):
        fill.total[r] = 0.0
    for e in range(begin, begin + size):
        r = int64(columns.source[e])
        fill.total[r] = extreme_chance(columns, e, r, least)


@kernel
def bound_of_state(
    graph: Graph,
    target: int,
    k: int,
    policy: Floats,
    columns: Columns,
    least: bool | None,
    fill: Fill,
    value: Floats,
) -> float:
    """max over the set of q(target), or min if ``least``, for a state of layer k."""
    if k == 0:
        return 1.0
    step_to_target(graph, target, k, columns, least, fill)
    average_over_actions(graph, k - 1, policy, fill.total, value)
    for back in range(1, k):
        here = k - 1 - back
        extremes_over_layer(graph, here, columns, value, least, fill)
        average_over_actions(graph, here, policy, fill.total, value)
    return min(value[0], 1.0)


@kernel
def bounds_of_states(
    graph: Graph,
    policy: Floats,
    columns: Columns,
    fill: Fill,
    value: Floats,
    upper: Floats,
    lower: Floats,
) -> None:
    """Both bounds of q(x) for every state but the last: one pass for each state and bound."""
    for k in range(n_layers(graph)):
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            upper[x] = bound_of_state(graph, x, k, policy, columns, None, fill, value)
            lower[x] = bound_of_state(graph, x, k, policy, columns, True, fill, value)
