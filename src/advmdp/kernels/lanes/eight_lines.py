"""Eight neighbouring lines of a table times a vector, and added up, in one reading.

Line after line, the vector and the sums would be read again for each of them, and the sums written.
Here eight columns of both stay in registers until eight lines are done; every sum has the order of
the loop that stands here, entry j of a product the lane j mod 8 as in ``vectors``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .registers import in_registers, repeat
from .row_dots import trees, with_rest
from .vectors import N_LANES, Lanes

Floats = NDArray[np.float64]


def _eight_lines(
    builder: Any,
    table: Any,
    begin: Any,
    vector: Any,
    first: Any,
    size: Any,
    factor: Any,
    row: Any,
    out: Any,
    dots: Any,
) -> None:
    lanes = Lanes(builder, size)
    starts = [
        builder.gep(table, [builder.add(begin, builder.mul(size, size.type(i)))])
        for i in range(N_LANES)
    ]
    numbers = [builder.add(row, row.type(i)) for i in range(N_LANES)]
    factors = [lanes.spread(builder.load(builder.gep(factor, [number]))) for number in numbers]

    def strip(at: Any, held: Sequence[Any]) -> list[Any]:
        there = builder.add(first, at)
        v = lanes.load(builder.gep(vector, [there]))
        total = lanes.load(builder.gep(out, [there]))
        found = []
        for start, pull, dot in zip(starts, factors, held, strict=True):
            value = lanes.load(builder.gep(start, [at]))
            found.append(lanes.add(dot, lanes.times(value, v)))
            total = lanes.add(total, lanes.times(pull, value))
        lanes.store(total, builder.gep(out, [there]))
        return found

    count = builder.udiv(size, size.type(N_LANES))
    held = repeat(
        builder,
        count,
        [lanes.every(0.0)] * N_LANES,
        lambda j, held: strip(builder.mul(j, j.type(N_LANES)), held),
    )
    joined = with_rest(lanes, builder.mul(count, size.type(N_LANES)), size, held, strip)
    for number, dot in zip(numbers, trees(lanes, joined), strict=True):
        builder.store(dot, builder.gep(dots, [number]))


@in_registers(_eight_lines)
def eight_lines(
    table: Floats,
    begin: int,
    vector: Floats,
    first: int,
    size: int,
    factor: Floats,
    row: int,
    out: Floats,
    dots: Floats,
) -> None:
    """dots(row + i) = <line i, vector>,  out += factor(row + i) * line i,  for eight lines.

    A line has at least eight entries, none of them negative; ``out`` lies as the vector does.
    """
    for i in range(N_LANES):
        total = 0.0
        for j in range(size):
            value = table[begin + i * size + j]
            total += value * vector[first + j]
            out[first + j] += factor[row + i] * value
        dots[row + i] = total
