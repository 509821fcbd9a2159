"""Upper occupancy bounds of a whole path, eight rows at a time: COMP-UOB in packs.

All rows of a layer fill their boxes in the same order, that of f.  So for dense layouts the boxes
are turned once an episode, eight rows to a pack and a lane for each (``lanes/packs``), and every
target of the path goes backwards over them: entry j of eight rows is one vector,

    left = 1 - sum of lower,    take = min(left, upper - lower),    total += (lower + take) f,

for the successors in descending order of f.  Rows about which nothing is known are boxes [0, 1],
known rows boxes without room: no row is a case of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..lanes.registers import in_registers, repeat
from ..lanes.vectors import N_LANES, Lanes
from ..model.graph import Floats, Graph, Index, layer_begin, layer_end
from ..model.log_storage import linear
from ..model.visits import Counts
from ..runtime.indices import int64, place
from ..runtime.storage import Alone, Common
from ..runtime.targets import kernel, leaf
from ..sets.interface import has_boxes, load_pack
from .ranking import rank_descending

Places = NDArray[np.int64]


class ReachInPacks(NamedTuple):
    """The boxes of all rows but those of the last layer; empty where no packs are, as on a card."""

    slot_at: Common[Index]  # (L - 1,) the first slot of a layer, which has one for every row
    entry_at: Common[Index]  # (L - 1,) where its packs begin in the tables
    start: Common[Places]  # (slots,) where the row begins; spare slots repeat the last row
    lower: Alone[Floats]  # (entries,)
    upper: Alone[Floats]  # (entries,) and from then on upper - lower
    slack: Alone[Floats]  # (slots,) 1 - sum of lower
    total: Alone[Floats]  # (slots,) the maximum of each row


def _open_pack(
    builder: Any, lower: Any, upper: Any, begin: Any, slack: Any, slot: Any, size: Any
) -> None:
    lanes = Lanes(builder, size)

    def entry(j: Any, held: Sequence[Any]) -> list[Any]:
        at = builder.add(begin, builder.mul(j, j.type(N_LANES)))
        low, home = lanes.load(builder.gep(lower, [at])), builder.gep(upper, [at])
        lanes.store(lanes.subtract(lanes.load(home), low), home)
        return [lanes.add(held[0], low)]

    (total,) = repeat(builder, size, [lanes.every(0.0)], entry)
    left = lanes.subtract(lanes.every(1.0), total)
    lanes.store(lanes.larger(left, lanes.every(0.0)), builder.gep(slack, [slot]))


@in_registers(_open_pack)
def open_pack(
    lower: Floats, upper: Floats, begin: int, slack: Floats, slot: int, size: int
) -> None:
    """What the rows of a pack have to distribute, and in ``upper`` what each entry can take."""
    for i in range(N_LANES):
        total = 0.0
        for j in range(size):
            total += lower[begin + N_LANES * j + i]
            upper[begin + N_LANES * j + i] -= lower[begin + N_LANES * j + i]
        slack[slot + i] = max(1.0 - total, 0.0)


def _fill_pack(
    builder: Any,
    lower: Any,
    room: Any,
    begin: Any,
    slack: Any,
    slot: Any,
    order: Any,
    value: Any,
    first: Any,
    count: Any,
    out: Any,
) -> None:
    lanes = Lanes(builder, count)

    def entry(j: Any, held: Sequence[Any]) -> list[Any]:
        total, left = held
        successor = builder.load(builder.gep(order, [j]))
        at = builder.add(begin, builder.mul(successor, successor.type(N_LANES)))
        worth = builder.load(builder.gep(value, [builder.add(first, successor)]))
        take = lanes.smaller(left, lanes.load(builder.gep(room, [at])))
        given = lanes.add(lanes.load(builder.gep(lower, [at])), take)
        grown = lanes.add(total, lanes.times(given, lanes.spread(worth)))
        return [grown, lanes.subtract(left, take)]

    start = [lanes.every(0.0), lanes.load(builder.gep(slack, [slot]))]
    total, _ = repeat(builder, count, start, entry)
    lanes.store(total, builder.gep(out, [slot]))


@in_registers(_fill_pack)
def fill_pack(
    lower: Floats,
    room: Floats,
    begin: int,
    slack: Floats,
    slot: int,
    order: Places,
    value: Floats,
    first: int,
    count: int,
    out: Floats,
) -> None:
    """max <p, value> of the rows of a pack, all that counts being at ``order[:count]``, not empty.

    What the other successors are worth is zero.
    """
    for i in range(N_LANES):
        total = 0.0
        left = slack[slot + i]
        for j in range(count):
            e = begin + N_LANES * order[j] + i
            take = min(left, room[e])
            total += (lower[e] + take) * value[first + order[j]]
            left -= take
        out[slot + i] = total


@leaf
def fills_packs(packs: ReachInPacks, rows: Any) -> bool:
    """Whether bounds of a path are found in packs."""
    return packs.slack.shape[0] > 0 and bool(has_boxes(rows))


@leaf
def load_layer(graph: Graph, k: int, rows: Any, packs: ReachInPacks) -> None:
    """Turn the boxes of layer k."""
    size = layer_end(graph, k + 1) - layer_end(graph, k)
    slot = int64(packs.slot_at[k])
    begin = int64(packs.entry_at[k])
    n_rows = (layer_end(graph, k) - layer_begin(graph, k)) * graph.n_actions
    for i in range(0, n_rows, N_LANES):
        load_pack(rows, packs, begin + i * size, slot + i, size)
        open_pack(packs.lower, packs.upper, begin + i * size, packs.slack, slot + i, size)


@leaf
def step_back(
    graph: Graph, k: int, count: int, policy: Floats, packs: ReachInPacks, order: Places,
    value: Floats,
) -> None:  # fmt: skip
    """f of layer k from f of the next one, whose positive values are at ``order[:count]``."""
    here = layer_begin(graph, k)
    there = layer_end(graph, k)
    size = layer_end(graph, k + 1) - there
    slot = int64(packs.slot_at[k])
    begin = int64(packs.entry_at[k])
    for i in range(0, (there - here) * graph.n_actions, N_LANES):
        fill_pack(
            packs.lower, packs.upper, begin + i * size, packs.slack, slot + i, order, value, there,
            count, packs.total,
        )  # fmt: skip
    for x in range(here, there):
        total = 0.0
        own = place(slot + (x - here) * graph.n_actions)
        first = place(x * graph.n_actions)
        for a in range(graph.n_actions):
            total += linear(policy[first + a]) * packs.total[own + a]
        value[x] = total


@kernel
def largest_in_packs(
    graph: Graph,
    states: Counts,
    policy: Floats,
    rows: Any,
    packs: ReachInPacks,
    order: Places,
    value: Floats,
    out: Floats,
) -> None:
    """out[k] = the largest occupancy of ``states[k]``, a state of layer k, over the set."""
    out[0] = 1.0
    for k in range(1, out.shape[0]):
        load_layer(graph, k - 1, rows, packs)
        target = int64(states[k])
        value[target] = 1.0
        order[0] = target - layer_begin(graph, k)
        count = 1
        for back in range(k):
            if back > 0:
                there = layer_begin(graph, k - back)
                width = layer_end(graph, k - back) - there
                count = int64(rank_descending(value, there, width, order))
            if count == 0:
                break
            step_back(graph, k - 1 - back, count, policy, packs, order, value)
        out[k] = min(value[0], 1.0) if count > 0 else 0.0
