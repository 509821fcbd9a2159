"""Products of two sets of lines, taken from a block a tile at a time (``line_sums``).

    out_i[c] -= sum over j of  left_j[i] * right_j[c]

is the elimination of many columns at once.  Line by line (``line_sums: subtract_lines``) every sum
waits for the addition before it; here the sums of eight lines and eight columns stay in registers
and are added to in turn, so that none waits, and what is read of ``right`` serves eight lines.
Every entry is subtracted from in the order of the lines, as by the loop that other targets compile;
products are not rounded first, which that loop leaves to its target.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .line_sums import Floats, Strip, write_strips
from .registers import in_registers, repeat, repeat_any
from .vectors import N_LANES

HEIGHTS = (8, 4, 2, 1)  # lines of a tile: eights, then what is left of them


def _less_products(
    strip: Strip,
    table: Any,
    places: list[Any],
    left: list[Any],
    right: list[Any],
    count: Any,
    repeat: Callable[..., list[Any]],
) -> list[Any]:
    """What is left of lines of ``out`` in the columns of a strip."""
    builder = strip.builder
    (left_begin, left_stride), (right_begin, right_stride) = left, right

    def grown(j: Any, held: Sequence[Any]) -> list[Any]:
        row = strip.load(table, builder.add(right_begin, builder.mul(j, right_stride)))
        at = builder.gep(table, [builder.add(left_begin, builder.mul(j, left_stride))])
        factors = (builder.load(builder.gep(at, [j.type(i)])) for i in range(len(held)))
        return [
            strip.fused(strip.spread(builder.fneg(factor)), row, old)
            for factor, old in zip(factors, held, strict=True)
        ]

    return repeat(builder, count, [builder.load(place, align=8) for place in places], grown)


def _subtract_products(
    builder: Any,
    table: Any,
    out: Any,
    out_stride: Any,
    left: Any,
    left_stride: Any,
    right: Any,
    right_stride: Any,
    count: Any,
    height: Any,
    size: Any,
) -> None:
    def tiles(n_lines: int, first: Any) -> Callable[[Strip], None]:
        numbers = [builder.add(first, first.type(i)) for i in range(n_lines)]
        lines = [builder.add(out, builder.mul(i, out_stride)) for i in numbers]
        sides = [builder.add(left, first), left_stride], [right, right_stride]

        def tile(strip: Strip) -> None:
            places = [strip.place(table, line) for line in lines]
            held = _less_products(strip, table, places, *sides, count, repeat)
            for place, value in zip(places, held, strict=True):
                builder.store(value, place, align=8)

        return tile

    at = count.type(0)
    with builder.if_then(builder.icmp_signed(">", count, count.type(0))):
        for n_lines in HEIGHTS:
            flag = builder.and_(height, height.type(n_lines))
            with builder.if_then(builder.icmp_signed("!=", flag, flag.type(0))):
                write_strips(builder, size, tiles(n_lines, at))
            at = builder.add(at, flag)


@in_registers(_subtract_products)
def subtract_products(
    table: Floats,
    out: int,
    out_stride: int,
    left: int,
    left_stride: int,
    right: int,
    right_stride: int,
    count: int,
    height: int,
    size: int,
) -> None:
    """Take products of ``count`` pairs of lines from ``height`` lines of ``size`` entries.

    There are at most eight lines in ``out``; ``left`` has as many columns, and ``right`` ``size``.
    """
    assert height <= N_LANES
    for i in range(height):
        for c in range(size):
            total = table[out + i * out_stride + c]
            for j in range(count):
                factor = table[left + j * left_stride + i]
                total -= factor * table[right + j * right_stride + c]
            table[out + i * out_stride + c] = total


def _eliminate_lines(
    builder: Any,
    table: Any,
    out: Any,
    out_stride: Any,
    left: Any,
    left_stride: Any,
    right: Any,
    right_stride: Any,
    count: Any,
    square: Any,
    height: Any,
    size: Any,
) -> None:
    def coefficient(t: int, i: int) -> Any:
        at = builder.add(square, builder.mul(left_stride, count.type(t)))
        return builder.load(builder.gep(table, [builder.add(at, count.type(i))]))

    def finished(strip: Strip, held: Sequence[Any]) -> list[Any]:
        lines = list(held)
        for t in range(len(lines)):
            lines[t] = builder.fmul(lines[t], strip.spread(coefficient(t, t)))
            for i in range(t + 1, len(lines)):
                factor = strip.spread(builder.fneg(coefficient(t, i)))
                lines[i] = strip.fused(factor, lines[t], lines[i])
        return lines

    def tiles(n_lines: int) -> Callable[[Strip], None]:
        lines = [builder.add(out, builder.mul(out_stride, count.type(i))) for i in range(n_lines)]

        def tile(strip: Strip) -> None:
            sides = [left, left_stride], [right, right_stride]
            places = [strip.place(table, line) for line in lines]
            held = _less_products(strip, table, places, *sides, count, repeat_any)
            for place, value in zip(places, finished(strip, held), strict=True):
                builder.store(value, place, align=8)

        return tile

    with builder.if_then(builder.icmp_signed(">", size, size.type(0))):
        for n_lines in HEIGHTS:
            with builder.if_then(builder.icmp_signed("==", height, height.type(n_lines))):
                write_strips(builder, size, tiles(n_lines))


@in_registers(_eliminate_lines)
def eliminate_lines(
    table: Floats,
    out: int,
    out_stride: int,
    left: int,
    left_stride: int,
    right: int,
    right_stride: int,
    count: int,
    square: int,
    height: int,
    size: int,
) -> None:
    """``subtract_products``, and then what the lines of ``out`` owe one another.

    The square that begins at ``square``, with lines ``left_stride`` apart, holds in column i the
    coefficients of line i, and on its diagonal what the line is multiplied with in the end.
    ``height`` is one of ``HEIGHTS``.
    """
    for i in range(height):
        for c in range(size):
            total = table[out + i * out_stride + c]
            for j in range(count):
                factor = table[left + j * left_stride + i]
                total -= factor * table[right + j * right_stride + c]
            for t in range(i):
                factor = table[square + t * left_stride + i]
                total -= factor * table[out + t * out_stride + c]
            table[out + i * out_stride + c] = total * table[square + i * left_stride + i]
