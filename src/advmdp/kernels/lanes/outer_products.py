"""Sums of outer products of many short rows, a tile of a small block at a time (``line_sums``).

    out += sum over the chosen rows of  m p p^T - m t t^T + m diag(p where t > 0)

is most of what fills a block of the Hessian where bounds hold.  A tile of up to eight lines and
eight columns stays in registers until the last row is added: a row is read once for a tile, and
nothing is written on the way.  Every entry is added to in the order of the rows, as by the loop
that other targets compile; products are added without being rounded first, which that loop leaves
to its target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .line_sums import Floats, Numbers, Strip
from .registers import in_registers, repeat
from .vectors import N_LANES

PIECES = (4, 2, 1)  # what is left of a block beyond its tiles of eight


@contextmanager
def _eights(builder: Any, end: Any) -> Iterator[Any]:
    """A loop over 0, 8, ... below ``end``, a multiple of eight."""
    before = builder.block
    loop, after = (builder.append_basic_block() for _ in range(2))
    builder.cbranch(builder.icmp_signed(">", end, end.type(0)), loop, after)
    builder.position_at_end(loop)
    at = builder.phi(end.type)
    at.add_incoming(end.type(0), before)
    yield at
    following = builder.add(at, end.type(N_LANES))
    at.add_incoming(following, builder.block)
    builder.cbranch(builder.icmp_signed("<", following, end), loop, after)
    builder.position_at_end(after)


class _Tile:
    """Lines ``line .. line + height`` and the columns of a strip; on the diagonal they agree."""

    def __init__(self, strip: Strip, line: Any, height: int, *, diagonal: bool) -> None:
        self.strip, self.builder = strip, strip.builder
        self.line, self.height, self.diagonal = line, height, diagonal

    def add(self, places: list[Any], count: Any, row: Callable[[Any], tuple[Any, ...]]) -> None:
        """Add ``count`` rows: ``row(j)`` says where row j begins, in two tables, and its mass."""
        builder, strip = self.builder, self.strip
        zero = strip.kind([0.0] * strip.kind.count)

        def grown(j: Any, held: Sequence[Any]) -> list[Any]:
            work, together, at, m = row(j)
            mass = strip.spread(m)
            weights = builder.fmul(mass, strip.load(work, at))
            pulls = builder.fmul(mass, strip.load(together, at))
            own = builder.select(builder.fcmp_ordered(">", pulls, zero), weights, zero)
            down = builder.fneg(pulls)
            found = []
            for i, old in enumerate(held):
                if self.diagonal:
                    mask = [int(c == i) for c in range(self.height)]
                    only = strip.ir.VectorType(strip.ir.IntType(1), self.height)(mask)
                    old = builder.select(only, builder.fadd(old, own), old)
                place = builder.add(builder.add(at, self.line), at.type(i))
                p, t = (
                    strip.spread(builder.load(builder.gep(table, [place])))
                    for table in (work, together)
                )
                found.append(strip.fused(p, weights, strip.fused(t, down, old)))
            return found

        start = [builder.load(place, align=8) for place in places]
        for place, value in zip(places, repeat(builder, count, start, grown), strict=True):
            builder.store(value, place, align=8)


def _add_outer_products(
    builder: Any,
    out: Any,
    begin: Any,
    work: Any,
    together: Any,
    mass: Any,
    chosen: Any,
    count: Any,
    shift: Any,
    size: Any,
) -> None:
    def row(j: Any) -> tuple[Any, ...]:
        r = builder.load(builder.gep(chosen, [j]))
        at = builder.add(shift, builder.mul(r, size))
        return work, together, at, builder.load(builder.gep(mass, [r]))

    def tile(line: Any, height: int, column: Any, width: int, *, diagonal: bool) -> None:
        strip = Strip(builder, column, width)
        lines = [builder.add(line, line.type(i)) for i in range(height)]
        places = [strip.place(out, builder.add(begin, builder.mul(each, size))) for each in lines]
        _Tile(strip, line, height, diagonal=diagonal).add(places, count, row)

    whole = builder.and_(size, size.type(-N_LANES))
    some = builder.icmp_signed(">", count, count.type(0))
    with builder.if_then(some):
        with _eights(builder, whole) as line:
            with _eights(builder, line) as column:
                tile(line, N_LANES, column, N_LANES, diagonal=False)
            tile(line, N_LANES, line, N_LANES, diagonal=True)
        at = whole
        for height in PIECES:
            flag = builder.and_(size, size.type(height))
            with builder.if_then(builder.icmp_signed("!=", flag, size.type(0))):
                with _eights(builder, whole) as column:
                    tile(at, height, column, N_LANES, diagonal=False)
                column = whole
                for width in PIECES[: PIECES.index(height)]:
                    before = builder.and_(size, size.type(width))
                    with builder.if_then(builder.icmp_signed("!=", before, size.type(0))):
                        tile(at, height, column, width, diagonal=False)
                    column = builder.add(column, before)
                tile(at, height, at, height, diagonal=True)
            at = builder.add(at, flag)


@in_registers(_add_outer_products)
def add_outer_products(
    out: Floats,
    begin: int,
    work: Floats,
    together: Floats,
    mass: Floats,
    chosen: Numbers,
    count: int,
    shift: int,
    size: int,
) -> None:
    """Add  m p p^T - m t t^T + m diag(p where t > 0)  of ``count`` chosen rows to a square block.

    Row r begins at ``shift + r * size`` in ``work``, which has p, and in ``together``, which has t.
    Of the block, which begins at ``begin``, the lower triangle is wanted; the upper one is scratch.
    """
    for line in range(size):
        for c in range(line + 1):
            total = out[begin + line * size + c]
            for i in range(count):
                row = shift + chosen[i] * size
                weight = mass[chosen[i]] * work[row + line]
                pull = mass[chosen[i]] * together[row + line]
                if c == line and pull > 0.0:
                    total += weight
                total += weight * work[row + c] - pull * together[row + c]
            out[begin + line * size + c] = total
