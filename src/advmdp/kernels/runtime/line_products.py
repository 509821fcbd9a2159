"""The lines of a layer times one vector, and one number for each line times the lines.

Line by line, every product ends with a tree of additions, and every sum is read back from memory
for the next line.  Here eight lines share the rounds of one tree, and eight columns stay in a
register until the last line is added.  The lanes of a product are joined as by ``vectors``, and the
sums have the order of the lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .line_sums import Floats, Strip, write_strips
from .registers import in_registers, repeat, repeat_any
from .vectors import N_LANES, Lanes


def _joined(builder: Any, vectors: Sequence[Any]) -> Any:
    """The trees of eight vectors at once: lane i of the result is the sum over vector i."""
    from llvmlite import ir

    kind = ir.VectorType(ir.IntType(32), N_LANES)
    held = list(vectors)
    while len(held) > 1:
        pairs = list(zip(held[::2], held[1::2], strict=True))
        held = [
            builder.fadd(
                builder.shuffle_vector(a, b, kind(list(range(0, 2 * N_LANES, 2)))),
                builder.shuffle_vector(a, b, kind(list(range(1, 2 * N_LANES, 2)))),
            )
            for a, b in pairs
        ]
    return held[0]


def _dot_lines(
    builder: Any,
    table: Any,
    begin: Any,
    count: Any,
    size: Any,
    vector: Any,
    first: Any,
    out: Any,
    at: Any,
) -> None:
    whole = builder.sdiv(size, size.type(N_LANES))
    eights = builder.mul(whole, size.type(N_LANES))

    def block(number: Any, held: Sequence[Any]) -> list[Any]:
        base = builder.mul(number, number.type(N_LANES))
        left = builder.sub(count, base)
        last = builder.sub(count, count.type(1))
        lines = []
        for i in range(N_LANES):  # spare lanes take the last line again
            line = builder.add(base, base.type(i))
            line = builder.select(builder.icmp_signed("<", line, count), line, last)
            lines.append(builder.add(begin, builder.mul(line, size)))

        def products(lanes: Lanes, column: Any) -> list[Any]:
            factor = lanes.load(builder.gep(vector, [builder.add(first, column)]))
            places = (builder.gep(table, [builder.add(line, column)]) for line in lines)
            return [lanes.times(lanes.load(place), factor) for place in places]

        def more(j: Any, sums: Sequence[Any]) -> list[Any]:
            column = builder.mul(j, j.type(N_LANES))
            return list(map(builder.fadd, sums, products(Lanes(builder, size), column)))

        tail = Lanes(builder, size)
        tail.stop_after(builder.sub(size, eights))
        sums = repeat_any(builder, whole, products(tail, eights), more)
        target = Lanes(builder, size)
        target.stop_after(left)
        place = builder.gep(out, [builder.add(at, base)])
        found = _joined(builder, sums)
        full = builder.icmp_signed(">=", left, left.type(N_LANES))
        with builder.if_else(full) as (then, otherwise):
            with then:
                Lanes(builder, size).store(found, place)
            with otherwise:
                target.store(found, place)
        return []

    blocks = builder.sdiv(builder.add(count, count.type(N_LANES - 1)), count.type(N_LANES))
    repeat(builder, blocks, [], block)


@in_registers(_dot_lines)
def dot_lines(
    table: Floats,
    begin: int,
    count: int,
    size: int,
    vector: Floats,
    first: int,
    out: Floats,
    at: int,
) -> None:
    """out[at + i] = <line i, vector>  of ``count`` lines, at least one, of ``size`` entries."""
    for i in range(count):
        total = 0.0
        for c in range(size):
            total += table[begin + i * size + c] * vector[first + c]
        out[at + i] = total


def _add_lines(
    builder: Any,
    table: Any,
    begin: Any,
    count: Any,
    size: Any,
    weight: Any,
    at: Any,
    out: Any,
    first: Any,
) -> None:
    def write(strip: Strip) -> None:
        zero = strip.kind([0.0] * strip.kind.count)

        def positive(value: Any) -> Any:
            return builder.select(builder.fcmp_ordered("<", value, zero), zero, value)

        def more(held: Any, i: Any) -> Any:
            line = builder.add(begin, builder.mul(i, size))
            number = strip.spread(builder.load(builder.gep(weight, [builder.add(at, i)])))
            product = builder.fmul(positive(number), positive(strip.load(table, line)))
            return builder.fadd(held, product)

        found = strip.sum_over(count, strip.load(out, first), more)
        builder.store(found, strip.place(out, first), align=8)

    write_strips(builder, size, write)


@in_registers(_add_lines)
def add_lines(
    table: Floats,
    begin: int,
    count: int,
    size: int,
    weight: Floats,
    at: int,
    out: Floats,
    first: int,
) -> None:
    """Add  weight[at + i] * line i  of ``count`` lines to ``out`` from ``first`` on.

    Both are in log storage: negative numbers stand for what is next to nothing.
    """
    for c in range(size):
        total = out[first + c]
        for i in range(count):
            total += max(weight[at + i], 0.0) * max(table[begin + i * size + c], 0.0)
        out[first + c] = total
