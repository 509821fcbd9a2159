"""The inner maxima of COMP-UOB for all rows of a layer, eight rows at a time.

Where every row of a layer leads to all of the next one, and the set can take eight rows together
(``sets/interface: takes_eight_rows``), the maxima are found before they are averaged over actions.
"""

from __future__ import annotations

from typing import Any

from ..lanes.vectors import N_LANES
from ..model.graph import Graph, layer_begin, layer_end, row_begin
from ..model.log_storage import linear
from ..runtime.targets import leaf
from ..sets.interface import eight_probabilities, maximise_eight_rows, takes_eight_rows
from .linear_maximum import Reach, largest_probability_of, maximum_over_row

NARROWEST = 2  # of the next layer: a row with one successor has nothing to choose


@leaf
def is_full(graph: Graph, k: int) -> bool:
    """Whether every row of layer k leads to all of the next one."""
    first = layer_begin(graph, k) * graph.n_actions
    end = layer_end(graph, k) * graph.n_actions
    width = layer_end(graph, k + 1) - layer_end(graph, k)
    return width >= NARROWEST and row_begin(graph, end) - row_begin(graph, first) == width * (
        end - first
    )


@leaf
def goes_by_eight(graph: Graph, k: int, rows: Any) -> bool:
    """Whether layer k is taken eight rows at a time."""
    return bool(takes_eight_rows(rows)) and is_full(graph, k)


@leaf
def find_maxima(graph: Graph, k: int, back: int, target: int, rows: Any, reach: Reach) -> None:
    """part(r) = max <p, f> over row r of layer k, which lies ``back`` layers before the last step.

    In the last step f is the indicator of the target; before it, the next layer is sorted.
    """
    first = layer_begin(graph, k) * graph.n_actions
    end = layer_end(graph, k) * graph.n_actions
    position = target - layer_end(graph, k)
    whole = end - (end - first) % N_LANES
    for r in range(first, whole, N_LANES):
        if back == 0:
            eight_probabilities(graph, r, position, rows, reach.part)
        else:
            maximise_eight_rows(graph, r, rows, reach.value, reach.order, reach.part)
    for r in range(whole, end):
        if back == 0:
            reach.part[r] = largest_probability_of(graph, r, target, rows)
        else:
            reach.part[r] = maximum_over_row(graph, r, k, rows, reach)


@leaf
def average_maxima(graph: Graph, k: int, policy: Any, reach: Reach) -> None:
    """f(y) = the mean of ``part`` over the actions of every state of layer k."""
    for y in range(layer_begin(graph, k), layer_end(graph, k)):
        total = 0.0
        for r in range(y * graph.n_actions, (y + 1) * graph.n_actions):
            weight = linear(policy[r])
            total += weight * reach.part[r] if weight > 0.0 else 0.0
        reach.value[y] = total
