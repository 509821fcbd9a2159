"""Upper occupancy bounds of a whole path at once: COMP-UOB with a target in every lane.

Where rows have few successors, as declared supports do, most of ``upper_occupancy`` is spent on
sorting three or four numbers for every row and target.  Here eight targets go backwards together,
one in each lane, and the maximum over a row is taken without sorting: by the duality of the
fractional knapsack

    max <p, f> = <lower, f> + min over i of  slack f_i + sum over j of room_j (f_j - f_i)^+,

with room = upper - lower and slack = 1 - sum of lower: the least price at which nothing is left.
A target joins when its layer is reached; until then its lane holds zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..lanes.registers import in_registers, repeat
from ..lanes.vectors import N_LANES, Lanes
from ..model.graph import Floats, Graph, layer_begin, layer_end, row_begin, row_size, successor_of
from ..model.log_storage import linear
from ..model.visits import Counts
from ..runtime.storage import Alone
from ..runtime.targets import kernel, leaf
from ..sets.interface import has_boxes, write_box

LONGEST = 8  # the longest rows for which comparing all successors beats sorting them
FEW = (3, 4)  # lengths of rows that stay in registers: those of grids
DEEP = 8  # the fewest layers for which the lanes are filled


class ReachInLanes(NamedTuple):
    """Work space of a backward pass of eight targets; empty where rows are long, and on a card."""

    value: Alone[Floats]  # (8 S,) f of every state, a target in each lane
    near: Alone[Floats]  # (8 longest row,) the same of the successors of one row
    lower: Alone[Floats]  # (longest row,) the row's box
    room: Alone[Floats]  # (longest row,)


def _add_best(
    builder: Any,
    near: Any,
    lower: Any,
    room: Any,
    slack: Any,
    size: Any,
    weight: Any,
    out: Any,
    begin: Any,
) -> None:
    lanes = Lanes(builder, size)
    zero = lanes.every(0.0)

    def value(j: Any) -> Any:
        return lanes.load(builder.gep(near, [builder.mul(j, j.type(N_LANES))]))

    def entry(table: Any, j: Any) -> Any:
        return lanes.spread(builder.load(builder.gep(table, [j])))

    def add(certain: Any, best: Any) -> None:
        place = builder.gep(out, [begin])
        found = lanes.times(lanes.spread(weight), lanes.add(certain, best))
        lanes.store(lanes.add(lanes.load(place), found), place)

    def of_few(count: int) -> None:
        """The same with all values in registers."""
        numbers = [size.type(j) for j in range(count)]
        values = [value(j) for j in numbers]
        rooms = [entry(room, j) for j in numbers]
        certain, best = zero, lanes.every(float("inf"))
        for i, price in enumerate(values):
            cost = lanes.times(lanes.spread(slack), price)
            for other, width in zip(values, rooms, strict=True):
                if other is not price:
                    gain = lanes.larger(lanes.subtract(other, price), zero)
                    cost = lanes.add(cost, lanes.times(width, gain))
            certain = lanes.add(certain, lanes.times(entry(lower, numbers[i]), price))
            best = lanes.smaller(best, cost)
        add(certain, best)

    def priced(i: Any, held: Sequence[Any]) -> list[Any]:
        certain, best = held
        price = value(i)

        def worth(j: Any, cost: Sequence[Any]) -> list[Any]:
            gain = lanes.larger(lanes.subtract(value(j), price), zero)
            return [lanes.add(cost[0], lanes.times(entry(room, j), gain))]

        (cost,) = repeat(builder, size, [lanes.times(lanes.spread(slack), price)], worth)
        certain = lanes.add(certain, lanes.times(entry(lower, i), price))
        return [certain, lanes.smaller(best, cost)]

    ends = builder.append_basic_block()
    for count in FEW:
        is_few = builder.icmp_signed("==", size, size.type(count))
        with builder.if_then(is_few):
            of_few(count)
            builder.branch(ends)
    add(*repeat(builder, size, [zero, lanes.every(float("inf"))], priced))
    builder.branch(ends)
    builder.position_at_end(ends)


@in_registers(_add_best)
def add_best(
    near: Floats,
    lower: Floats,
    room: Floats,
    slack: float,
    size: int,
    weight: float,
    out: Floats,
    begin: int,
) -> None:
    """Add  weight * max <p, f>  over a box to ``out``, for the f in each lane."""
    for lane in range(N_LANES):
        certain = 0.0
        best = float("inf")
        for i in range(size):
            price = near[N_LANES * i + lane]
            cost = slack * price
            for j in range(size):
                cost += room[j] * max(near[N_LANES * j + lane] - price, 0.0)
            certain += lower[i] * price
            best = min(best, cost)
        out[begin + lane] += weight * (certain + best)


def _copy_lanes(builder: Any, table: Any, begin: Any, out: Any, place: Any) -> None:
    lanes = Lanes(builder, begin)
    lanes.store(lanes.load(builder.gep(table, [begin])), builder.gep(out, [place]))


@in_registers(_copy_lanes)
def copy_lanes(table: Floats, begin: int, out: Floats, place: int) -> None:
    """Copy a number for each lane as one vector: it is read as one.

    A processor does not hand on eight stores to a load of all eight.
    """
    for lane in range(N_LANES):
        out[place + lane] = table[begin + lane]


@leaf
def fills_lanes(lanes: ReachInLanes, rows: Any) -> bool:
    """Whether bounds of a path are found together."""
    return lanes.value.shape[0] > 0 and bool(has_boxes(rows))


@leaf
def add_row(graph: Graph, r: int, weight: float, rows: Any, lanes: ReachInLanes, y: int) -> None:
    """What row r of state y adds to f(y), in every lane."""
    size = row_size(graph, r)
    slack = write_box(rows, r, row_begin(graph, r), size, lanes.lower, lanes.room)
    for j in range(size):
        copy_lanes(lanes.value, N_LANES * successor_of(graph, r, j), lanes.near, N_LANES * j)
    add_best(lanes.near, lanes.lower, lanes.room, slack, size, weight, lanes.value, N_LANES * y)


@leaf
def clear_state(lanes: ReachInLanes, y: int) -> None:
    for lane in range(N_LANES):
        lanes.value[N_LANES * y + lane] = 0.0


@kernel
def largest_on_path(
    graph: Graph, states: Counts, policy: Floats, rows: Any, lanes: ReachInLanes, out: Floats
) -> None:
    """out[k] = the largest occupancy of ``states[k]``, a state of layer k, over the set."""
    n = out.shape[0]
    out[0] = 1.0
    for first in range(1, n, N_LANES):
        end = min(first + N_LANES, n)
        for y in range(layer_begin(graph, end - 1), layer_end(graph, end - 1)):
            clear_state(lanes, y)
        lanes.value[N_LANES * states[end - 1] + end - 1 - first] = 1.0
        for back in range(2, end + 1):
            k = end - back
            for y in range(layer_begin(graph, k), layer_end(graph, k)):
                clear_state(lanes, y)
                for r in range(y * graph.n_actions, (y + 1) * graph.n_actions):
                    weight = linear(policy[r])
                    if weight > 0.0:
                        add_row(graph, r, weight, rows, lanes, y)
            if k >= first:
                lanes.value[N_LANES * states[k] + k - first] = 1.0
        for k in range(first, end):
            out[k] = min(lanes.value[k - first], 1.0)
