"""The largest and the least <p, f> over the sets of all rows of a layer at once.

Both are fractional knapsacks: start from the lower bounds, hand out what is left of each row in
descending (ascending) order of f.  Done by ``columns``, the loop over rows is inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model.graph import Floats, Graph, layer_begin, layer_end
from ..runtime.indices import int64, place
from ..runtime.storage import Scratch
from ..runtime.targets import kernel, leaf
from ..runtime.vectors import Lanes, vectorised
from .columns import Columns, are_scattered, column_begin, column_size
from .linear_maximum import sort_descending

FEW = 24  # up to so many states are ranked by counting, which has no branches to mispredict


class Fill(NamedTuple):
    """Work space of a pass over a layer."""

    total: Scratch[Floats]  # (R,) the extreme of each row
    left: Scratch[Floats]  # (R,) what a row still has to distribute
    keys: Scratch[Floats]  # (widest layer,) f of the states being sorted
    order: Scratch[NDArray[np.int64]]  # (widest layer,) their positions, f descending


def _pour(lanes: Lanes, lower: Any, room: Any, total: Any, left: Any, worth: Any) -> Sequence[Any]:
    take = lanes.smaller(left, room)
    gain = lanes.times(lanes.add(lower, take), worth)
    return [lanes.add(total, gain), lanes.subtract(left, take)]


@vectorised(_pour, n_results=0, writes=[2, 3])
def pour(
    lower: Floats,
    lower_begin: int,
    room: Floats,
    room_begin: int,
    total: Floats,
    total_begin: int,
    left: Floats,
    left_begin: int,
    size: int,
    worth: float,
) -> None:
    """Give a state what each of these rows must, and as much of what is left as it can take."""
    for m in range(size):
        take = min(left[left_begin + m], room[room_begin + m])
        total[total_begin + m] += (lower[lower_begin + m] + take) * worth
        left[left_begin + m] -= take


@leaf
def sort_values(graph: Graph, k: int, value: Floats, fill: Fill) -> None:
    """Sort the states of layer k by value, the largest first."""
    begin = layer_begin(graph, k)
    width = layer_end(graph, k) - begin
    for i in range(width):
        fill.keys[i] = value[begin + i]
    if width > FEW:
        sort_descending(fill.keys, fill.order, width)
        return
    for i in range(width):
        here = fill.keys[i]
        before = 0
        for j in range(i):
            before += 1 if fill.keys[j] >= here else 0
        for j in range(i + 1, width):
            before += 1 if fill.keys[j] > here else 0
        fill.order[before] = i


@leaf
def pour_into(graph: Graph, y: int, first: int, columns: Columns, worth: float, fill: Fill) -> None:
    """``pour`` into state y from all rows that lead to it, the first of the layer being first."""
    begin = column_begin(columns, y)
    size = column_size(columns, y)
    if not are_scattered(columns):
        pour(
            columns.lower, begin, columns.room, begin, fill.total, first, fill.left, first,
            size, worth,
        )  # fmt: skip
        return
    for e in range(begin, begin + size):
        r = int64(columns.source[e])
        take = min(fill.left[r], columns.room[e])
        fill.total[r] += (columns.lower[e] + take) * worth
        fill.left[r] -= take


@kernel
def extremes_over_layer(
    graph: Graph, k: int, columns: Columns, value: Floats, least: bool | None, fill: Fill
) -> None:
    """total(r) = max <p, value> over the set of every row r of layer k, or min if ``least``.

    ``value`` must not be negative: what is worth nothing is left out of a maximum.
    """
    first = layer_begin(graph, k) * graph.n_actions
    there = layer_begin(graph, k + 1)
    width = layer_end(graph, k + 1) - there
    for m in range(there * graph.n_actions - first):
        fill.total[place(first + m)] = 0.0
        fill.left[place(first + m)] = columns.slack[place(first + m)]
    sort_values(graph, k + 1, value, fill)
    for i in range(width):
        if least is None:
            y = there + fill.order[i]
            if value[y] <= 0.0:
                break
        else:
            y = there + fill.order[width - 1 - i]
        pour_into(graph, y, first, columns, value[y], fill)


@leaf
def average_over_actions(graph: Graph, k: int, policy: Floats, table: Floats, out: Floats) -> None:
    """out(x) = sum over a of policy(a | x) table(x, a) for the states of layer k."""
    for x in range(layer_begin(graph, k), layer_end(graph, k)):
        mean = 0.0
        first = place(x * graph.n_actions)
        for a in range(graph.n_actions):
            mean += policy[first + a] * table[first + a]
        out[x] = mean
