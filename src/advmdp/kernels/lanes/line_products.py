"""A small matrix times a vector, in registers (``line_sums``).

    sum_lines    out[c]  = sum over j of  factor_j * line_j[c]
    take_lines   out[c] -= the same
    add_lines    out[c] += the same, of lines and factors in log storage, in the order of the lines
    find_dots    out[i]  = <line_i, vector>
    take_dots    out[i] -= the same

for matrices as wide as a narrow layer.  Sums over lines stay in registers until the last line is
added: even lines in one and odd lines in another, since an addition waits for the one before it.
Of inner products eight are found together: their terms are folded into one vector, half of each
with half of the next, where one by one each would end with a tree of its own, as in ``vectors``.
The loops that stand here are what other targets compile; they add in the order of the lines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .line_sums import Floats, Strip, write_strips
from .line_tiles import HEIGHTS
from .registers import in_registers, repeat_any
from .vectors import N_LANES, Lanes


def _combination(*, take: bool) -> Callable[..., None]:
    """Write ``sum_lines`` or ``take_lines``."""

    def write(
        builder: Any,
        out: Any,
        at: Any,
        factors: Any,
        factor: Any,
        table: Any,
        begin: Any,
        stride: Any,
        count: Any,
        size: Any,
    ) -> None:
        def of_strip(strip: Strip) -> None:
            def grown(j: Any, held: Any) -> Any:
                number = builder.load(builder.gep(factors, [builder.add(factor, j)]))
                number = strip.spread(builder.fneg(number) if take else number)
                line = strip.load(table, builder.add(begin, builder.mul(j, stride)))
                return strip.fused(number, line, held)

            def pair(i: Any, held: Sequence[Any]) -> list[Any]:
                even = builder.shl(i, i.type(1))
                odd = builder.add(even, even.type(1))
                return [grown(even, held[0]), grown(odd, held[1])]

            nothing = strip.kind([0.0] * strip.kind.count)
            start = strip.load(out, at) if take else nothing
            half = builder.ashr(count, count.type(1))
            even, odd = repeat_any(builder, half, [start, nothing], pair)
            rest = builder.and_(count, count.type(1))
            last = builder.sub(count, count.type(1))
            (even,) = repeat_any(builder, rest, [even], lambda _, held: [grown(last, held[0])])
            builder.store(builder.fadd(even, odd), strip.place(out, at), align=8)

        write_strips(builder, size, of_strip)

    return write


@in_registers(_combination(take=False))
def sum_lines(
    out: Floats,
    at: int,
    factors: Floats,
    factor: int,
    table: Floats,
    begin: int,
    stride: int,
    count: int,
    size: int,
) -> None:
    """The sum of ``count`` lines of ``size`` entries, line j times ``factors[factor + j]``."""
    for c in range(size):
        total = 0.0
        for j in range(count):
            total += factors[factor + j] * table[begin + j * stride + c]
        out[at + c] = total


@in_registers(_combination(take=True))
def take_lines(
    out: Floats,
    at: int,
    factors: Floats,
    factor: int,
    table: Floats,
    begin: int,
    stride: int,
    count: int,
    size: int,
) -> None:
    """Take ``sum_lines`` from what is there."""
    for c in range(size):
        total = out[at + c]
        for j in range(count):
            total -= factors[factor + j] * table[begin + j * stride + c]
        out[at + c] = total


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


def _folded(builder: Any, lines: list[Any]) -> Any:
    """The sums over the lanes of 8, 4, 2 or 1 vectors, one in each lane of a vector."""
    from llvmlite import ir

    height = len(lines)
    while len(lines) > 1 or lines[0].type.count > height:
        size = lines[0].type.count * min(len(lines), 2)
        kind = ir.VectorType(ir.IntType(32), size // 2)
        pairs = [(lines[i], lines[min(i + 1, len(lines) - 1)]) for i in range(0, len(lines), 2)]
        lines = [
            builder.fadd(
                *(builder.shuffle_vector(*pair, kind([*range(k, size, 2)])) for k in (0, 1))
            )
            for pair in pairs
        ]
    return lines[0]


def _inner_products(*, take: bool) -> Callable[..., None]:
    """Write ``find_dots`` or ``take_dots``."""

    def write(
        builder: Any,
        out: Any,
        at: Any,
        table: Any,
        begin: Any,
        vector: Any,
        first: Any,
        count: Any,
        size: Any,
    ) -> None:
        whole, tail = Lanes(builder, size), Lanes(builder, size)
        in_strips = builder.and_(size, size.type(-N_LANES))
        tail.stop_after(builder.sub(size, in_strips))

        def group(line: Any, height: int) -> None:
            numbers = [builder.add(line, line.type(i)) for i in range(height)]
            lines = [builder.add(begin, builder.mul(i, size)) for i in numbers]

            def terms(lanes: Lanes, column: Any) -> list[Any]:
                factor = lanes.load(builder.gep(vector, [builder.add(first, column)]))
                places = (builder.gep(table, [builder.add(each, column)]) for each in lines)
                return [lanes.times(lanes.load(place), factor) for place in places]

            def more(j: Any, held: Sequence[Any]) -> list[Any]:
                found = terms(whole, builder.mul(j, j.type(N_LANES)))
                return [whole.add(old, new) for old, new in zip(held, found, strict=True)]

            strips = builder.udiv(in_strips, size.type(N_LANES))
            sums = repeat_any(builder, strips, terms(tail, in_strips), more)
            total = _folded(builder, sums)
            place = builder.gep(out, [builder.add(at, line)])
            place = builder.bitcast(place, total.type.as_pointer())
            if take:
                total = builder.fsub(builder.load(place, align=8), total)
            builder.store(total, place, align=8)

        def eight(i: Any, held: Sequence[Any]) -> list[Any]:
            group(builder.mul(i, i.type(N_LANES)), N_LANES)
            return []

        repeat_any(builder, builder.udiv(count, count.type(N_LANES)), [], eight)
        line = builder.and_(count, count.type(-N_LANES))
        for height in HEIGHTS[1:]:
            flag = builder.and_(count, count.type(height))
            with builder.if_then(builder.icmp_signed("!=", flag, flag.type(0))):
                group(line, height)
            line = builder.add(line, flag)

    return write


@in_registers(_inner_products(take=False))
def find_dots(
    out: Floats,
    at: int,
    table: Floats,
    begin: int,
    vector: Floats,
    first: int,
    count: int,
    size: int,
) -> None:
    """<line_i, vector> in ``out[at + i]``, for ``count`` lines of ``size`` entries."""
    for i in range(count):
        total = 0.0
        for c in range(size):
            total += table[begin + i * size + c] * vector[first + c]
        out[at + i] = total


@in_registers(_inner_products(take=True))
def take_dots(
    out: Floats,
    at: int,
    table: Floats,
    begin: int,
    vector: Floats,
    first: int,
    count: int,
    size: int,
) -> None:
    """Take <line_i, vector> from ``out[at + i]``, for ``count`` lines of ``size`` entries."""
    for i in range(count):
        total = 0.0
        for c in range(size):
            total += table[begin + i * size + c] * vector[first + c]
        out[at + i] -= total
