"""The largest and the least <p, f> over the sets of all rows of a layer at once.

Both are fractional knapsacks: start from the lower bounds, hand out what is left of each row in
descending (ascending) order of f.  Done by ``columns``, the loop over rows is inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..lanes.vectors import Lanes, vectorised
from ..model.graph import Floats, Graph, layer_begin, layer_end
from ..runtime.indices import int64, place
from ..runtime.storage import Scratch
from ..runtime.targets import kernel, leaf
from .columns import Columns, are_scattered, column_begin, column_size
from .ranking import FEW, rank_descending, sort_descending


class Fill(NamedTuple):
    """Work space of a pass over a layer."""

    total: Scratch[Floats]  # (R,) the extreme of each row
    left: Scratch[Floats]  # (R,) what a row still has to distribute
    keys: Scratch[Floats]  # (widest layer,) f of the states being sorted
    order: Scratch[NDArray[np.int64]]  # (widest layer,) their positions, f descending


def _pour(lanes: Lanes, *entries: Any) -> Sequence[Any]:
    lower, room, lower_too, room_too, total, left, worth, worth_too = entries
    for least, most, price in ((lower, room, worth), (lower_too, room_too, worth_too)):
        take = lanes.smaller(left, most)
        total = lanes.add(total, lanes.times(lanes.add(least, take), price))
        left = lanes.subtract(left, take)
    return [total, left]


@vectorised(_pour, n_results=0, writes=[4, 5])
def pour(
    lower: Floats,
    lower_begin: int,
    room: Floats,
    room_begin: int,
    lower_too: Floats,
    lower_too_begin: int,
    room_too: Floats,
    room_too_begin: int,
    total: Floats,
    total_begin: int,
    left: Floats,
    left_begin: int,
    size: int,
    worth: float,
    worth_too: float,
) -> None:
    """Give a state what each of these rows must, and as much of what is left as it can take.

    Two states in a pass, the second after the first: what rows have left is read half as often.
    """
    for m in range(size):
        take = min(left[left_begin + m], room[room_begin + m])
        total[total_begin + m] += (lower[lower_begin + m] + take) * worth
        left[left_begin + m] -= take
        take = min(left[left_begin + m], room_too[room_too_begin + m])
        total[total_begin + m] += (lower_too[lower_too_begin + m] + take) * worth_too
        left[left_begin + m] -= take


@leaf
def sort_values(graph: Graph, k: int, value: Floats, fill: Fill) -> None:
    """Sort the states of layer k by value, the largest first."""
    begin = layer_begin(graph, k)
    width = layer_end(graph, k) - begin
    if width > FEW:
        for i in range(width):
            fill.keys[i] = value[begin + i]
        sort_descending(fill.keys, fill.order, width)
    else:
        rank_descending(value, begin, width, fill.order)


@leaf
def pour_into_two(y: int, z: int, first: int, columns: Columns, value: Floats, fill: Fill) -> None:
    """``pour`` from all rows of a layer, which begin at ``first``, into y and then into z."""
    low, room = columns.lower, columns.room
    here, there = column_begin(columns, y), column_begin(columns, z)
    pour(
        low, here, room, here, low, there, room, there, fill.total, first, fill.left, first,
        column_size(columns, y), value[y], value[z],
    )  # fmt: skip


@leaf
def pour_into_one(y: int, columns: Columns, worth: float, fill: Fill) -> None:
    """The same into y from the rows that lead to it, which may be any."""
    begin = column_begin(columns, y)
    for e in range(begin, begin + column_size(columns, y)):
        r = int64(columns.source[e])
        take = min(fill.left[r], columns.room[e])
        fill.total[r] += (columns.lower[e] + take) * worth
        fill.left[r] -= take


@leaf
def pour_last(y: int, first: int, columns: Columns, worth: float, fill: Fill) -> None:
    """The same into the last of an odd number of states, which takes all that is left."""
    begin = column_begin(columns, y)
    for m in range(column_size(columns, y)):
        give = columns.lower[place(begin + m)] + fill.left[place(first + m)]
        fill.total[place(first + m)] += give * worth


@leaf
def in_turn(fill: Fill, i: int, width: int, least: bool | None) -> int:
    """The position of the i-th state to be filled."""
    if least is None:
        return fill.order[i]
    return fill.order[width - 1 - i]


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
    if are_scattered(columns):
        for i in range(width):
            y = there + in_turn(fill, i, width, least)
            if least is None and value[y] <= 0.0:
                return
            pour_into_one(y, columns, value[y], fill)
        return
    for pair in range(width // 2):
        y = there + in_turn(fill, 2 * pair, width, least)
        z = there + in_turn(fill, 2 * pair + 1, width, least)
        if least is None and value[y] <= 0.0:
            return
        pour_into_two(y, z, first, columns, value, fill)
    if width % 2 == 1:
        y = there + in_turn(fill, width - 1, width, least)
        pour_last(y, first, columns, value[y], fill)


@leaf
def average_over_actions(graph: Graph, k: int, policy: Floats, table: Floats, out: Floats) -> None:
    """out(x) = sum over a of policy(a | x) table(x, a) for the states of layer k."""
    for x in range(layer_begin(graph, k), layer_end(graph, k)):
        mean = 0.0
        first = place(x * graph.n_actions)
        for a in range(graph.n_actions):
            mean += policy[first + a] * table[first + a]
        out[x] = mean
