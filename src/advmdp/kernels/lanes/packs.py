"""Passes over packs: eight rows side by side, a lane of the vector instructions for each.

``vectors`` takes one row at a time and eight of its entries.  A short row fills a vector and a
quarter of the next one, and ends with a tree of additions for every sum; of a pack, entry j of all
eight rows is one vector, sums are added up lane by lane in the order of the entries, and no lane
waits for another.  (Rows of ten between bounds: a quarter of the time.)

A pack of rows with n entries takes 8 n places of a table, entry j of the row in lane i the place
``8 j + i``, and eight places of every array that has a number for each row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .registers import in_registers, repeat
from .vectors import N_LANES, Lanes

F = TypeVar("F", bound=Callable[..., object])
Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Terms = Callable[..., Sequence[Any]]


def over_pack(
    entry: Terms,
    finish: Terms,
    *,
    tables: int,
    numbers: int,
    sums: int,
    vectors: int = 1,
    writes: Sequence[int] = (),
    stores: Sequence[int] = (),
    counts: bool = False,
) -> Callable[[F], F]:
    """Replace a loop over the rows of a pack by ``entry`` and ``finish`` on the CPU.

    The function takes ``tables`` tables and where the pack begins in them, one or more ``vectors``
    over successors and where the entries begin in them, ``numbers`` arrays with a number for each
    row and where the pack begins in these, and how many entries a row has.  ``entry(lanes,
    *entries, *factors, *numbers)`` gives what each of the ``sums`` grows by, and after that what is
    written to the tables ``writes``; ``finish(lanes, *sums, *numbers)`` gives what is stored in the
    numbers ``stores`` and, if it ``counts``, a condition: the function returns how many rows meet
    it.
    """

    def write(builder: Any, *arguments: Any) -> Any:
        columns, begin = arguments[:tables], arguments[tables]
        *over_successors, first = arguments[tables + 1 : tables + vectors + 2]
        of_rows, (slot, size) = arguments[tables + vectors + 2 : -2], arguments[-2:]
        lanes = Lanes(builder, size)
        homes = [builder.gep(array, [slot]) for array in of_rows]
        own = [lanes.load(home) for home in homes]

        def grown(j: Any, held: Sequence[Any]) -> list[Any]:
            at = builder.add(begin, builder.mul(j, j.type(N_LANES)))
            places = [builder.gep(column, [at]) for column in columns]
            there = builder.add(first, j)
            factors = [builder.load(builder.gep(vector, [there])) for vector in over_successors]
            found = entry(lanes, *map(lanes.load, places), *map(lanes.spread, factors), *own)
            for k, value in zip(writes, found[sums:], strict=True):
                lanes.store(value, places[k])
            return list(map(lanes.add, held, found[:sums]))

        totals = repeat(builder, size, [lanes.every(0.0)] * sums, grown)
        found = finish(lanes, *totals, *own)
        for k, value in zip(stores, found, strict=False):
            lanes.store(value, homes[k])
        return lanes.tree(lanes.count(found[-1]), lanes.add) if counts else None

    assert tables > 0
    assert numbers >= len(stores)
    return in_registers(write, returns=counts)


def _turned(builder: Any, lines: Sequence[Any]) -> list[Any]:
    """Eight vectors of eight as a square that is transposed, in three rounds of exchanges."""
    from llvmlite import ir

    held = list(lines)
    distance = 1
    while distance < N_LANES:
        lanes = range(N_LANES)
        low = [i if not i & distance else i - distance + N_LANES for i in lanes]
        high = [i + distance if not i & distance else i + N_LANES for i in lanes]
        kind = ir.VectorType(ir.IntType(32), N_LANES)
        for i in lanes:
            if not i & distance:
                pair = held[i], held[i + distance]
                held[i] = builder.shuffle_vector(*pair, kind(low))
                held[i + distance] = builder.shuffle_vector(*pair, kind(high))
        distance *= 2
    return held


def _piece(lanes: Lanes, width: int) -> Any:
    """The type of the first ``width`` lanes."""
    from llvmlite import ir

    return ir.VectorType(lanes.kind.element, width)


def _in_squares(builder: Any, size: Any, square: Callable[[Any, int], None]) -> None:
    """``square(j, width)`` for entries j .. j + width - 1: eights, then what is left in pieces."""
    whole = builder.and_(size, size.type(-N_LANES))
    with builder.if_then(builder.icmp_signed(">", whole, size.type(0))):
        count = builder.udiv(whole, size.type(N_LANES))

        def eight(i: Any, held: Sequence[Any]) -> list[Any]:
            square(builder.mul(i, i.type(N_LANES)), N_LANES)
            return []

        repeat(builder, count, [], eight)
    at, width = whole, N_LANES
    while width > 1:
        width //= 2
        flag = builder.and_(size, size.type(width))
        with builder.if_then(builder.icmp_signed("!=", flag, size.type(0))):
            square(at, width)
        at = builder.add(at, flag)


def _row_places(builder: Any, table: Any, starts: Any, slot: Any, j: Any, kind: Any) -> list[Any]:
    """Where entry j of each row of a pack lies in a table of rows."""
    homes = [builder.gep(starts, [builder.add(slot, slot.type(i))]) for i in range(N_LANES)]
    places = [builder.gep(table, [builder.add(builder.load(home), j)]) for home in homes]
    return [builder.bitcast(place, kind.as_pointer()) for place in places]


def _gather_pack(
    builder: Any, table: Any, starts: Any, slot: Any, pack: Any, begin: Any, size: Any
) -> None:
    from llvmlite import ir

    lanes = Lanes(builder, size)

    def square(j: Any, width: int) -> None:
        kind = _piece(lanes, width)
        order = ir.VectorType(ir.IntType(32), N_LANES)([i % width for i in range(N_LANES)])
        rows = []
        for place in _row_places(builder, table, starts, slot, j, kind):
            row = builder.load(place, align=8)
            rows.append(
                builder.shuffle_vector(row, kind(ir.Undefined), order) if width < N_LANES else row
            )
        for i, column in enumerate(_turned(builder, rows)[:width]):
            at = builder.add(begin, builder.mul(builder.add(j, j.type(i)), j.type(N_LANES)))
            positive = lanes.larger(column, lanes.every(0.0))
            lanes.store(positive, builder.gep(pack, [at]))

    _in_squares(builder, size, square)


@in_registers(_gather_pack)
def gather_pack(
    table: Floats, starts: Places, slot: int, pack: Floats, begin: int, size: int
) -> None:
    """Make a pack of the eight rows that begin at ``starts[slot ..]``; logarithms become zero."""
    for i in range(N_LANES):
        for j in range(size):
            pack[begin + N_LANES * j + i] = max(table[starts[slot + i] + j], 0.0)


def _scatter_pack(
    builder: Any, pack: Any, begin: Any, starts: Any, slot: Any, table: Any, size: Any
) -> None:
    lanes = Lanes(builder, size)

    def square(j: Any, width: int) -> None:
        nothing = lanes.kind(_undefined())
        columns = [nothing] * N_LANES
        for i in range(width):
            at = builder.add(begin, builder.mul(builder.add(j, j.type(i)), j.type(N_LANES)))
            columns[i] = lanes.load(builder.gep(pack, [at]))
        places = _row_places(builder, table, starts, slot, j, _piece(lanes, width))
        for row, place in reversed(list(zip(_turned(builder, columns), places, strict=True))):
            part = row if width == N_LANES else lanes.first(row, width)
            builder.store(part, place, align=8)

    _in_squares(builder, size, square)


def _undefined() -> Any:
    from llvmlite import ir

    return ir.Undefined


@in_registers(_scatter_pack)
def scatter_pack(
    pack: Floats, begin: int, starts: Places, slot: int, table: Floats, size: int
) -> None:
    """Write the rows of a pack where they begin in a table; of equal places the first lane's."""
    for i in range(N_LANES):
        for j in range(size):
            lane = N_LANES - 1 - i
            table[starts[slot + lane] + j] = pack[begin + N_LANES * j + lane]


def _add_packs(
    builder: Any,
    pack: Any,
    begin: Any,
    n_packs: Any,
    size: Any,
    flow: Any,
    slot: Any,
    out: Any,
    first: Any,
) -> None:
    lanes = Lanes(builder, size)
    stride = builder.mul(size, size.type(N_LANES))

    def column(j: Any, held: Sequence[Any]) -> list[Any]:
        at = builder.add(begin, builder.mul(j, j.type(N_LANES)))

        def more(i: Any, held: Sequence[Any]) -> list[Any]:
            there = builder.add(at, builder.mul(i, stride))
            here = builder.add(slot, builder.mul(i, i.type(N_LANES)))
            p, m = (
                lanes.load(builder.gep(array, [place]))
                for array, place in ((pack, there), (flow, here))
            )
            return [lanes.add(held[0], lanes.times(m, p))]

        (total,) = repeat(builder, n_packs, [lanes.every(0.0)], more)
        place = builder.gep(out, [builder.add(first, j)])
        builder.store(builder.fadd(builder.load(place), lanes.tree(total, lanes.add)), place)
        return []

    repeat(builder, size, [], column)


@in_registers(_add_packs)
def add_packs(
    pack: Floats,
    begin: int,
    n_packs: int,
    size: int,
    flow: Floats,
    slot: int,
    out: Floats,
    first: int,
) -> None:
    """Add  flow * row  of all rows of some packs, at least one, to ``out`` from ``first`` on."""
    for j in range(size):
        total = 0.0
        for m in range(N_LANES * n_packs):
            i = m % N_LANES
            here = begin + N_LANES * size * (m // N_LANES) + N_LANES * j + i
            total += flow[slot + m] * pack[here]
        out[first + j] += total
