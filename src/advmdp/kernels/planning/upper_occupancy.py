"""Upper occupancy bounds: COMP-UOB with an exact linear maximum (``linear_maximum``).

f(y) = the largest probability, over all transitions in the set, of reaching the target x from y
under the policy.  Backwards from the target's layer (Eq. DP),

    f(y)    = sum over b of  pi(b | y) * max over p in the row's set of <p, f>,
    u(x, a) = pi(a | x) f(x_0).
"""

from __future__ import annotations

from typing import Any

from ..lanes.prefetch import FETCHES
from ..model.graph import (
    Floats,
    Graph,
    layer_begin,
    layer_end,
    n_layers,
    owner_of,
    row_begin,
    row_size,
    successor_of,
)
from ..model.log_storage import linear
from ..model.row_status import is_free
from ..runtime.targets import kernel, leaf
from ..runtime.threads import MAY_SHARE, barrier, n_threads, shared
from ..sets.interface import fetch_entry
from .layer_maxima import average_maxima, find_maxima, goes_by_eight
from .linear_maximum import (
    Reach,
    has_fewer_successors,
    largest_probability_of,
    maximum_over_row,
    printed_maximum_over_row,
    sort_layer,
)

# A row of a large layer is filled from entries here and there, seven of a hundred where sets bind:
FAR = 20_000  # entries of a layer that are too many for the nearest memory
AHEAD = 4  # rows between asking and reading
FILLED = 8  # entries of a row that are asked for


@leaf
def reach_by_row(
    graph: Graph,
    r: int,
    here: int,
    back: int,
    target: int,
    policy: Floats,
    rows: Any,
    reach: Reach,
    printed: bool,
) -> float:
    """What row r of layer ``here``, ``back`` layers before the last step, adds to f."""
    weight = linear(policy[r])
    if not (weight > 0.0):
        return 0.0
    if printed:
        return weight * printed_maximum_over_row(graph, r, here, rows, reach)
    if back == 0:
        return weight * largest_probability_of(graph, r, target, rows)
    return weight * maximum_over_row(graph, r, here, rows, reach)


@leaf
def is_far(graph: Graph, here: int) -> bool:
    """Whether the rows of a layer are so many that most of them are not at hand."""
    first = layer_begin(graph, here) * graph.n_actions
    end = layer_end(graph, here) * graph.n_actions
    return row_begin(graph, end) - row_begin(graph, first) >= FAR


@leaf
def fetch_ahead(
    graph: Graph, r: int, here: int, back: int, target: int, rows: Any, reach: Reach
) -> None:
    """Ask for what ``reach_by_row`` will read of a full row of layer ``here``, if r is one."""
    there = layer_end(graph, here)
    if r >= there * graph.n_actions or is_free(rows, r) or has_fewer_successors(graph, r, here):
        return
    begin = row_begin(graph, r)
    if back == 0:
        fetch_entry(rows, begin + target - there)
        return
    for i in range(min(FILLED, row_size(graph, r))):
        fetch_entry(rows, begin + reach.order[i])


@kernel
def largest_state_occupancy(
    graph: Graph,
    target: int,
    k: int,
    policy: Floats,
    rows: Any,
    reach: Reach,
    printed: bool,
) -> float:
    """max over the set of q(target), for a state of layer k; ``printed`` as a paper prints it."""
    if k == 0:
        return 1.0
    for x in range(layer_begin(graph, k), layer_end(graph, k)):
        reach.value[x] = 1.0 if x == target else 0.0
    for back in range(k):
        here = k - 1 - back
        if back > 0 or printed:
            sort_layer(graph, here + 1, reach)
        if not printed and goes_by_eight(graph, here, rows):
            find_maxima(graph, here, back, target, rows, reach)
            average_maxima(graph, here, policy, reach)
            continue
        if MAY_SHARE and n_threads() > 1:  # each takes some rows
            first = layer_begin(graph, here) * graph.n_actions
            for r in shared(first, layer_end(graph, here) * graph.n_actions):
                reach.part[r] = reach_by_row(
                    graph, r, here, back, target, policy, rows, reach, printed
                )
            barrier()
        far = FETCHES and not printed and is_far(graph, here)
        for y in shared(layer_begin(graph, here), layer_end(graph, here)):
            total = 0.0
            for r in range(y * graph.n_actions, (y + 1) * graph.n_actions):
                if far:
                    fetch_ahead(graph, r + AHEAD, here, back, target, rows, reach)
                if MAY_SHARE and n_threads() > 1:
                    total += reach.part[r]
                else:
                    total += reach_by_row(
                        graph, r, here, back, target, policy, rows, reach, printed
                    )
            reach.value[y] = total
        barrier()
    return min(reach.value[0], 1.0)


@kernel
def least_state_occupancy(
    graph: Graph, target: int, k: int, policy: Floats, rows: Any, reach: Reach
) -> float:
    """min over the set of q(target) = 1 - max of the chance to miss it, for a state of layer k."""
    for x in range(layer_begin(graph, k), layer_end(graph, k)):
        reach.value[x] = 0.0 if x == target else 1.0
    for back in range(k):
        here = k - 1 - back
        sort_layer(graph, here + 1, reach)
        for y in range(layer_begin(graph, here), layer_end(graph, here)):
            total = 0.0
            for r in range(y * graph.n_actions, (y + 1) * graph.n_actions):
                weight = linear(policy[r])
                if weight > 0.0:
                    total += weight * maximum_over_row(graph, r, here, rows, reach)
            reach.value[y] = total
    return max(1.0 - reach.value[0], 0.0)


@kernel
def upper_occupancies(graph: Graph, policy: Floats, rows: Any, reach: Reach, out: Floats) -> None:
    """u(x, a) for every pair."""
    for k in range(n_layers(graph)):
        for x in range(layer_begin(graph, k), layer_end(graph, k)):
            bound = largest_state_occupancy(graph, x, k, policy, rows, reach, False)
            for r in range(x * graph.n_actions, (x + 1) * graph.n_actions):
                out[r] = linear(policy[r]) * bound


@leaf
def most_from_row(graph: Graph, r: int, y: int, policy: Floats, rows: Any, out: Floats) -> float:
    """The most that row r can add to state y."""
    flow = out[owner_of(graph, r)] * linear(policy[r])
    return flow * largest_probability_of(graph, r, y, rows)


@kernel
def loose_state_occupancies(graph: Graph, policy: Floats, rows: Any, out: Floats) -> None:
    """For every state a number from u(x) up, in one pass over the triples.

    Forwards, with the largest probability of every triple by itself: min(1, sum over rows).  It is
    u(x) where nothing is known, and where everything is.
    """
    out[0] = 1.0
    for k in range(n_layers(graph)):
        first = layer_begin(graph, k) * graph.n_actions
        end = layer_end(graph, k) * graph.n_actions
        if MAY_SHARE and n_threads() > 1:
            for y in shared(layer_begin(graph, k + 1), layer_end(graph, k + 1)):
                total = 0.0
                for r in range(first, end):
                    total += most_from_row(graph, r, y, policy, rows, out)
                out[y] = min(total, 1.0)
            barrier()
        else:
            for y in range(layer_begin(graph, k + 1), layer_end(graph, k + 1)):
                out[y] = 0.0
            for r in range(first, end):
                for j in range(row_size(graph, r)):
                    y = successor_of(graph, r, j)
                    out[y] += most_from_row(graph, r, y, policy, rows, out)
            for y in range(layer_begin(graph, k + 1), layer_end(graph, k + 1)):
                out[y] = min(out[y], 1.0)
