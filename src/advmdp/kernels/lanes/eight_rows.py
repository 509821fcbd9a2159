"""Eight rows of a table at once, read in an order that is the same for all of them.

Row after row, a loop that ends when its row is used up is a chain of subtractions, and its end is a
guess that the processor gets wrong.  Here every row has a lane: the chains run side by side, what
is read does not depend on them, and there is one end for eight rows.  A lane that is used up takes
nothing any more, so that every sum is to the bit that of the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .registers import in_registers, repeat_while
from .vectors import N_LANES, Lanes

Floats = NDArray[np.float64]
Order = NDArray[np.int64]


def column(lanes: Lanes, table: Any, begin: Any, stride: Any, j: Any) -> Any:
    """Entry j of eight rows, the first of which begins at ``begin``."""
    from llvmlite import ir

    builder, found = lanes.builder, lanes.kind(ir.Undefined)
    for i in range(N_LANES):
        at = builder.add(builder.add(begin, builder.mul(stride, stride.type(i))), j)
        value = builder.load(builder.gep(table, [at]))
        found = builder.insert_element(found, value, ir.IntType(32)(i))
    return found


def _filler(*, above: bool) -> Callable[..., None]:
    """With lower bounds that are read, or that are all zero."""

    def write(
        builder: Any,
        upper: Any,
        lower: Any,
        begin: Any,
        size: Any,
        slack: Any,
        row: Any,
        value: Any,
        first: Any,
        order: Any,
        out: Any,
    ) -> None:
        lanes = Lanes(builder, size)
        nothing = lanes.every(0.0)
        home = builder.gep(out, [row])

        def more(i: Any, held: Sequence[Any]) -> tuple[list[Any], Any]:
            total, left = held
            j = builder.load(builder.gep(order, [i]))
            best = builder.load(builder.gep(value, [builder.add(first, j)]))
            room = column(lanes, upper, begin, size, j)
            if above:
                room = lanes.subtract(room, column(lanes, lower, begin, size, j))
            take = lanes.smaller(left, room)
            total = lanes.add(total, lanes.times(take, lanes.spread(best)))
            left = lanes.subtract(left, take)
            some = lanes.some(lanes.less(nothing, left))
            positive = builder.fcmp_ordered(">", best, best.type(0.0))
            return [total, left], builder.and_(some, positive)

        start = [lanes.load(home), lanes.load(builder.gep(slack, [row]))]
        total, _ = repeat_while(builder, size, start, more)
        lanes.store(total, home)

    return write


@in_registers(_filler(above=False))
def fill_eight(
    upper: Floats,
    lower: Floats,
    begin: int,
    size: int,
    slack: Floats,
    row: int,
    value: Floats,
    first: int,
    order: Order,
    out: Floats,
) -> None:
    """Add to ``out`` what eight rows get by filling up to ``upper`` in this order of value >= 0."""
    for i in range(N_LANES):
        left = slack[row + i]
        for k in range(size):
            j = order[k]
            best = value[first + j]
            if left <= 0.0 or best <= 0.0:
                break
            take = min(left, upper[begin + i * size + j])
            out[row + i] += take * best
            left -= take


@in_registers(_filler(above=True))
def fill_eight_above(
    upper: Floats,
    lower: Floats,
    begin: int,
    size: int,
    slack: Floats,
    row: int,
    value: Floats,
    first: int,
    order: Order,
    out: Floats,
) -> None:
    """The same from ``lower`` up."""
    for i in range(N_LANES):
        left = slack[row + i]
        for k in range(size):
            j = order[k]
            best = value[first + j]
            if left <= 0.0 or best <= 0.0:
                break
            e = begin + i * size + j
            take = min(left, upper[e] - lower[e])
            out[row + i] += take * best
            left -= take
