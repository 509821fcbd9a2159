"""The sizes of layers in short form."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

LONG_RUN, MOST_PARTS, FIRST, MOST_SIZES = 5, 16, 8, 12


def layers_text(sizes: Sequence[int]) -> str:
    """Numbers of states, layer by layer; 10x5 are five layers of 10.

    >>> layers_text((1, 3, 3, 1)), layers_text((1, 10, 10, 10, 10, 10, 1))
    ('1,3,3,1', '1,10x5,1')
    >>> layers_text(range(1, 31))
    '1,2,3,4,5,6,7,8,...,30 (30 layers)'
    """
    parts: list[str] = []
    for size, run in groupby(sizes):
        n = len(list(run))
        parts += [f"{size}x{n}"] if n >= LONG_RUN else [str(size)] * n
    if len(parts) <= MOST_PARTS:
        return ",".join(parts)
    return f"{','.join(parts[:FIRST])},...,{parts[-1]} ({len(sizes)} layers)"


def sizes_text(sizes: Sequence[int]) -> str:
    """The sizes as they were given, or in short form where there are many.

    >>> sizes_text((1, 3, 1)), sizes_text((1, *[3] * 20, 1))
    ('(1, 3, 1)', '1,3x20,1')
    """
    return str(tuple(sizes)) if len(sizes) <= MOST_SIZES else layers_text(sizes)
