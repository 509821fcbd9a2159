"""Neighbouring rows of equal length taken together, eight columns at a time (``line_sums``).

What the rows of a state add up to is one sum for every column.  Row after row, it would be read
back and written again for each of them; here it stays in a register until the last row is added.
Every sum has the order of the rows, as in the loops that stand here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .line_sums import Floats, Strip, write_strips
from .passes import HAS_LANES
from .prefetch import write_fetch
from .registers import in_registers, repeat

HAS_BLOCKS = HAS_LANES
"""Whether blocks are worth it: elsewhere a kernel does better with one row after the other."""


def _at(strip: Strip, table: Any, index: Any) -> Any:
    """One number of a table."""
    return strip.builder.load(strip.builder.gep(table, [index]))


def _linear(strip: Strip, table: Any, line: Any) -> Any:
    """Entries in log storage; zero for those that are logarithms."""
    value, zero = strip.load(table, line), strip.kind([0.0] * strip.kind.count)
    return strip.builder.select(strip.builder.fcmp_ordered("<", value, zero), zero, value)


def _fetch_next(strip: Strip, table: Any, begin: Any, j: Any, count: Any, size: Any) -> None:
    """Ask memory for a part of the block behind this one, all of which is asked for by its end.

    The processor foresees who reads a row from its beginning to its end, but not this.
    """
    builder = strip.builder
    part = builder.add(builder.mul(strip.column, count), builder.mul(j, j.type(strip.kind.count)))
    ahead = builder.add(builder.add(begin, builder.mul(count, size)), part)
    write_fetch(builder, builder.gep(table, [ahead]))


def _tilt_rows(
    builder: Any,
    table: Any,
    begin: Any,
    vector: Any,
    first: Any,
    scale: Any,
    weight: Any,
    row: Any,
    line: Any,
    line_begin: Any,
    count: Any,
    size: Any,
) -> None:
    def write(strip: Strip) -> None:
        factor = strip.load(vector, first)

        def more(j: Any, held: Sequence[Any]) -> Sequence[Any]:
            here, r = builder.add(begin, builder.mul(j, size)), builder.add(row, j)
            tilt = builder.fmul(strip.spread(_at(strip, scale, r)), factor)
            value = builder.fmul(_linear(strip, table, here), tilt)
            builder.store(value, strip.place(table, here), align=8)
            _fetch_next(strip, table, begin, j, count, size)
            shares = builder.fmul(strip.spread(_at(strip, weight, r)), value)
            return [builder.fadd(held[0], shares)]

        (merged,) = repeat(builder, count, [strip.load(line, line_begin)], more)
        builder.store(merged, strip.place(line, line_begin), align=8)

    write_strips(builder, size, write)


@in_registers(_tilt_rows)
def tilt_rows(
    table: Floats,
    begin: int,
    vector: Floats,
    first: int,
    scale: Floats,
    weight: Floats,
    row: int,
    line: Floats,
    line_begin: int,
    count: int,
    size: int,
) -> None:
    """table = max(table, 0) * scale(row + j) * vector  of ``count`` rows, and what it adds up to.

    ``weight(row + j) * table`` is added to ``line``.
    """
    for c in range(size):
        merged = line[line_begin + c]
        for j in range(count):
            e = begin + j * size + c
            table[e] = max(table[e], 0.0) * (scale[row + j] * vector[first + c])
            merged += weight[row + j] * table[e]
        line[line_begin + c] = merged
