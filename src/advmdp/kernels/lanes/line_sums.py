"""Sums over the lines of a table, eight columns at a time (``vectors``).

    out[c] = scale * (out[c] - sum over j of  coefficient_j * line_j[c])

is what the elimination of a small dense block consists of.  As a loop over lines around a loop over
columns, every line would be read back from memory and written again; here the eight columns stay in
a register until the last line is added.  Every entry is added to in the order of the lines, as by
the loop that other targets compile.  (``outer_products`` fills such blocks.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .registers import in_registers, repeat_any
from .vectors import N_LANES

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


class Strip:
    """Writes instructions on some neighbouring columns, from ``column`` on."""

    def __init__(self, builder: Any, column: Any, width: int) -> None:
        from llvmlite import ir

        self.builder, self.ir, self.column = builder, ir, column
        self.kind = ir.VectorType(ir.DoubleType(), width)
        self._first = ir.VectorType(ir.IntType(32), width)([0] * width)

    def place(self, table: Any, line: Any) -> Any:
        """Where these columns lie in a line that begins at ``line``."""
        index = self.builder.add(line, self.column)
        return self.builder.bitcast(self.builder.gep(table, [index]), self.kind.as_pointer())

    def load(self, table: Any, line: Any) -> Any:
        """These columns of a line."""
        return self.builder.load(self.place(table, line), align=8)

    def spread(self, number: Any) -> Any:
        """A number in every column."""
        kind = self.ir.VectorType(number.type, self._first.type.count)
        nothing, zero = kind(self.ir.Undefined), self.ir.IntType(32)(0)
        first = self.builder.insert_element(nothing, number, zero)
        return self.builder.shuffle_vector(first, nothing, self._first)

    def fused(self, a: Any, b: Any, c: Any) -> Any:
        """a b + c, rounded once: written out, it is the same wherever it is compiled."""
        width = self.kind.count
        name = f"llvm.fma.v{width}f64"
        module = self.builder.module
        signature = self.ir.FunctionType(self.kind, [self.kind] * 3)
        function = module.globals.get(name) or self.ir.Function(module, signature, name)
        return self.builder.call(function, [a, b, c])

    def sum_over(self, count: Any, start: Any, grown: Callable[[Any, Any], Any]) -> Any:
        """``held = grown(held, j)`` for j = 0 .. count - 1, from ``start``."""
        return repeat_any(self.builder, count, [start], lambda j, held: [grown(held[0], j)])[0]


def write_strips(builder: Any, size: Any, write: Callable[[Strip], None]) -> None:
    """Strips of eight columns, then what is left in pieces of four, two and one.

    Pieces are read as they were written: a processor hands on what it has just stored only to a
    load of the same bytes, and a line is read soon after it was found.
    """
    whole = builder.and_(size, size.type(-N_LANES))
    begin = builder.block
    strips, rest = (builder.append_basic_block() for _ in range(2))
    builder.cbranch(builder.icmp_signed(">", whole, size.type(0)), strips, rest)
    builder.position_at_end(strips)
    column = builder.phi(size.type)
    write(Strip(builder, column, N_LANES))
    following = builder.add(column, size.type(N_LANES))
    column.add_incoming(size.type(0), begin)
    column.add_incoming(following, builder.block)
    builder.cbranch(builder.icmp_signed("<", following, whole), strips, rest)
    builder.position_at_end(rest)
    at, width = whole, N_LANES
    while width > 1:
        width //= 2
        flag = builder.and_(size, size.type(width))
        with builder.if_then(builder.icmp_signed("!=", flag, size.type(0))):
            write(Strip(builder, at, width))
        at = builder.add(at, flag)


def _subtract_lines(
    builder: Any,
    table: Any,
    out: Any,
    coefficient: Any,
    coefficient_stride: Any,
    source: Any,
    source_stride: Any,
    count: Any,
    size: Any,
    scale: Any,
) -> None:
    def write(strip: Strip) -> None:
        def less(held: Any, j: Any) -> Any:
            at = builder.add(coefficient, builder.mul(j, coefficient_stride))
            line = builder.add(source, builder.mul(j, source_stride))
            factor = strip.spread(builder.load(builder.gep(table, [at])))
            return builder.fsub(held, builder.fmul(factor, strip.load(table, line)))

        found = strip.sum_over(count, strip.load(table, out), less)
        scaled = builder.fmul(found, strip.spread(scale))
        builder.store(scaled, strip.place(table, out), align=8)

    write_strips(builder, size, write)


@in_registers(_subtract_lines)
def subtract_lines(
    table: Floats,
    out: int,
    coefficient: int,
    coefficient_stride: int,
    source: int,
    source_stride: int,
    count: int,
    size: int,
    scale: float,
) -> None:
    """Take ``count`` lines of a table, each with its coefficient, from ``size`` of its entries.

    Line j begins at ``source + j * source_stride`` and is multiplied with the entry at
    ``coefficient + j * coefficient_stride``; what is left is multiplied with ``scale``.
    """
    for c in range(size):
        total = table[out + c]
        for j in range(count):
            factor = table[coefficient + j * coefficient_stride]
            total -= factor * table[source + j * source_stride + c]
        table[out + c] = total * scale


def _subtract_rows(
    builder: Any,
    out: Any,
    line: Any,
    table: Any,
    mass: Any,
    chosen: Any,
    count: Any,
    shift: Any,
    size: Any,
) -> None:
    def write(strip: Strip) -> None:
        def less(held: Any, j: Any) -> Any:
            r = builder.load(builder.gep(chosen, [j]))
            row = builder.add(shift, builder.mul(r, size))
            factor = strip.spread(builder.fneg(builder.load(builder.gep(mass, [r]))))
            return strip.fused(factor, strip.load(table, row), held)

        found = strip.sum_over(count, strip.load(out, line), less)
        builder.store(found, strip.place(out, line), align=8)

    write_strips(builder, size, write)


@in_registers(_subtract_rows)
def subtract_rows(
    out: Floats,
    line: int,
    table: Floats,
    mass: Floats,
    chosen: Numbers,
    count: int,
    shift: int,
    size: int,
) -> None:
    """Take ``count`` chosen rows, each with its mass, from a line of ``out``.

    Row r has ``size`` entries and begins at ``shift + r * size`` in ``table``.
    """
    for c in range(size):
        total = out[line + c]
        for i in range(count):
            total -= mass[chosen[i]] * table[shift + chosen[i] * size + c]
        out[line + c] = total
