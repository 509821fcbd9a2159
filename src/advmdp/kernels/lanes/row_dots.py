"""Neighbouring rows times one vector: the numbers of ``passes``, rows together.

Row after row, the vector is read again for each of them, and each sum ends with a tree of
additions.  Of eight rows the trees are one: neighbours of two rows are added in one vector.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .registers import in_registers, repeat
from .vectors import N_LANES, Lanes

Floats = NDArray[np.float64]
HEIGHTS = (8, 4, 2, 1)  # rows that are taken together


def trees(lanes: Lanes, sums: Sequence[Any]) -> list[Any]:
    """The sums of all lanes of some vectors, neighbours first, two vectors at a time."""
    from llvmlite import ir

    builder, short = lanes.builder, ir.IntType(32)
    if len(sums) < N_LANES:
        return [lanes.tree(held, lanes.add) for held in sums]
    kind = ir.VectorType(short, N_LANES)
    held = list(sums)
    while len(held) > 1:
        # of two vectors the sums of neighbours, all of the one before all of the other
        even = kind([2 * i for i in range(N_LANES)])
        odd = kind([2 * i + 1 for i in range(N_LANES)])
        pairs = zip(held[::2], held[1::2], strict=True)
        held = [
            lanes.add(builder.shuffle_vector(a, b, even), builder.shuffle_vector(a, b, odd))
            for a, b in pairs
        ]
    return [builder.extract_element(held[0], short(i)) for i in range(N_LANES)]


def _written(
    lanes: Lanes,
    height: int,
    table: Any,
    begin: Any,
    vector: Any,
    first: Any,
    size: Any,
    terms: Callable[[Any], Sequence[Any]],
) -> list[Any]:
    """What the ``terms`` of  entry * vector  of every row add up to, row after row, in lanes."""
    builder = lanes.builder
    starts = [
        builder.gep(table, [builder.add(begin, builder.mul(size, size.type(i)))])
        for i in range(height)
    ]

    def strip(at: Any, held: Sequence[Any]) -> list[Any]:
        v = lanes.load(builder.gep(vector, [builder.add(first, at)]))
        values = (lanes.load(builder.gep(start, [at])) for start in starts)
        found = [term for value in values for term in terms(lanes.times(value, v))]
        return list(map(lanes.add, held, found))

    count = builder.udiv(size, size.type(N_LANES))
    nothing = [lanes.every(0.0)] * (height * len(terms(lanes.every(0.0))))
    held = repeat(
        builder, count, nothing, lambda j, held: strip(builder.mul(j, j.type(N_LANES)), held)
    )
    return with_rest(lanes, builder.mul(count, size.type(N_LANES)), size, held, strip)


def with_rest(
    lanes: Lanes,
    whole: Any,
    size: Any,
    held: Sequence[Any],
    strip: Callable[[Any, Sequence[Any]], Sequence[Any]],
) -> list[Any]:
    """``strip`` once more, for what is left of rows behind their whole vectors, if anything is."""
    builder = lanes.builder
    before = builder.block
    with builder.if_then(builder.icmp_signed("<", whole, size)):
        lanes.stop_after(builder.sub(size, whole))
        complete = strip(whole, held)
        tail = builder.block
    joined = []
    for so_far, then in zip(held, complete, strict=True):
        phi = builder.phi(lanes.kind)
        phi.add_incoming(so_far, before)
        phi.add_incoming(then, tail)
        joined.append(phi)
    return joined


def _store(lanes: Lanes, sums: Sequence[Any], out: Any, row: Any) -> None:
    builder = lanes.builder
    for i, value in enumerate(trees(lanes, sums)):
        builder.store(value, builder.gep(out, [builder.add(row, row.type(i))]))


def _writer(height: int) -> Callable[..., None]:
    def write(
        builder: Any,
        table: Any,
        begin: Any,
        vector: Any,
        first: Any,
        size: Any,
        cap: Any,
        row: Any,
        dots: Any,
        capped: Any,
    ) -> None:
        lanes = Lanes(builder, size)
        limit = lanes.spread(cap)
        sums = _written(
            lanes, height, table, begin, vector, first, size,
            lambda term: [term, lanes.smaller(term, limit)],
        )  # fmt: skip
        _store(lanes, sums[::2], dots, row)
        _store(lanes, sums[1::2], capped, row)

    return write


def _plainly(height: int) -> Callable[..., None]:
    """The loop that other targets compile."""

    def dots_of(
        table: Floats,
        begin: int,
        vector: Floats,
        first: int,
        size: int,
        cap: float,
        row: int,
        dots: Floats,
        capped: Floats,
    ) -> None:
        for i in range(height):
            total = 0.0
            low = 0.0
            for j in range(size):
                value = table[begin + i * size + j] * vector[first + j]
                total += value
                low += min(value, cap)
            dots[row + i] = total
            capped[row + i] = low

    return dots_of


dots_of_eight, dots_of_four, dots_of_two, dots_of_one = (
    in_registers(_writer(height))(_plainly(height)) for height in HEIGHTS
)
"""dots(row + i) = <row i, vector>,  capped(row + i) = the sum of its terms with none above the cap.

A row has at least eight entries.  For a cap that is a power of two the second is exactly
``size * cap`` when no term is below it, as the terms of logarithms are, which are negative: that
takes half the instructions of counting.
"""


def _eight_dots(
    builder: Any, table: Any, begin: Any, vector: Any, first: Any, size: Any, row: Any, dots: Any
) -> None:
    lanes = Lanes(builder, size)
    sums = _written(lanes, N_LANES, table, begin, vector, first, size, lambda term: [term])
    _store(lanes, sums, dots, row)


@in_registers(_eight_dots)
def eight_dots(
    table: Floats, begin: int, vector: Floats, first: int, size: int, row: int, dots: Floats
) -> None:
    """dots(row + i) = <row i, vector>  for eight rows of at least eight entries, none negative."""
    for i in range(N_LANES):
        total = 0.0
        for j in range(size):
            total += table[begin + i * size + j] * vector[first + j]
        dots[row + i] = total
