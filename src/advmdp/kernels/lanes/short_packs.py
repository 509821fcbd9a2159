"""Packs of rows that list their successors: in and out of them, an entry of a row at a time.

Such rows have three or four entries, of which a register holds no useful part (``packs`` moves
squares of eight), and they differ in length: what a row is short of its pack is filled with zeros.
"""

from __future__ import annotations

from ..runtime.indices import place
from ..runtime.targets import leaf
from .packs import Floats, Places
from .vectors import N_LANES


@leaf
def gather_short(
    table: Floats, start: Places, length: Places, slot: int, pack: Floats, begin: int, size: int
) -> None:
    """Make a pack of the rows that begin at ``start[slot ..]``; logarithms become zero."""
    for i in range(N_LANES):
        row = place(start[slot + i])
        column = place(begin) + i
        for j in range(size):
            pack[column + N_LANES * j] = max(table[row + j], 0.0) if j < length[slot + i] else 0.0


@leaf
def scatter_short(
    pack: Floats, begin: int, start: Places, length: Places, slot: int, table: Floats
) -> None:
    """Write the rows of a pack where they begin in a table; of equal places the first lane's."""
    for back in range(N_LANES):
        i = N_LANES - 1 - back
        row = place(start[slot + i])
        column = place(begin) + i
        for j in range(length[slot + i]):
            table[row + j] = pack[column + N_LANES * j]


@leaf
def tilt_short(
    untilted: Floats, tilt: Floats, near: Places, weight: Floats, begin: int, count: int
) -> None:
    """weight = untilted * (tilt of the successor) for ``count`` entries of packs."""
    begin = place(begin)
    for e in range(begin, begin + count):
        weight[e] = untilted[e] * tilt[near[e]]


@leaf
def add_short(
    pack: Floats, begin: int, near: Places, flow: Floats, slot: int, size: int, out: Floats
) -> None:
    """Add  flow * row  of all rows of a pack to the places of their successors in ``out``."""
    begin = place(begin)
    for j in range(size):
        for i in range(N_LANES):
            e = begin + N_LANES * j + i
            out[near[e]] += flow[slot + i] * pack[e]
