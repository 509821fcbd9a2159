"""The passes over a row that find a sum or a maximum, see ``kernels/lanes/vectors``.

Each is written twice: as a loop, which says what it is and is what other targets compile, and above
it as the terms that eight lanes take at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..runtime.indices import place
from ..runtime.targets import compiles_for_cpu, leaf
from .vectors import Lanes, vectorised

Floats = NDArray[np.float64]
Marks = NDArray[np.uint8]

HAS_LANES = compiles_for_cpu()


def _inner(lanes: Lanes, a: Any, b: Any) -> Sequence[Any]:
    return [lanes.times(a, b)]


@vectorised(_inner)
def inner(a: Floats, a_begin: int, b: Floats, b_begin: int, size: int) -> float:
    """The sum of ``a * b``."""
    total = 0.0
    for j in range(size):
        total += a[a_begin + j] * b[b_begin + j]
    return total


def _total(lanes: Lanes, value: Any) -> Sequence[Any]:
    return [value]


@vectorised(_total)
def total(a: Floats, begin: int, size: int) -> float:
    """The sum of ``a``."""
    found = 0.0
    for j in range(size):
        found += a[begin + j]
    return found


def _group_sums(lanes: Lanes, value: Any, factor: Any, group: Any) -> Sequence[Any]:
    term = lanes.times(value, factor)
    nothing = lanes.every(0.0)
    parts = (lanes.where(lanes.equal(group, lanes.every(g)), term, nothing) for g in (1.0, 2.0))
    return [term, *parts]


@vectorised(_group_sums, n_results=3)
def group_sums(
    work: Floats, begin: int, vector: Floats, first: int, group: Marks, group_begin: int, size: int
) -> tuple[float, float, float]:
    """The sum of ``work * vector``, and the parts of it that groups 1 and 2 contribute."""
    total = 0.0
    one = 0.0
    two = 0.0
    for j in range(size):
        term = work[begin + j] * vector[first + j]
        total += term
        one += term if group[group_begin + j] == 1 else 0.0
        two += term if group[group_begin + j] == 2 else 0.0
    return total, one, two


def _dot(lanes: Lanes, value: Any, factor: Any) -> Sequence[Any]:
    return [lanes.times(lanes.larger(value, lanes.every(0.0)), factor)]


@vectorised(_dot)
def dot(table: Floats, begin: int, vector: Floats, first: int, size: int) -> float:
    """The sum of ``max(table, 0) * vector``."""
    total = 0.0
    for j in range(size):
        total += max(table[begin + j], 0.0) * vector[first + j]
    return total


@leaf
def dot_and_add(
    table: Floats, begin: int, vector: Floats, first: int, size: int, factor: float, out: Floats
) -> float:
    """``dot``, and ``factor * max(table, 0)`` added to ``out`` where the vector lies.

    With lanes in two passes: what one row leaves in ``out`` the next picks up, and in pieces of a
    vector that would have to wait until it is written.
    """
    begin = place(begin)
    first = place(first)
    if HAS_LANES:
        for j in range(size):
            out[first + j] += factor * max(table[begin + j], 0.0)
        return dot(table, begin, vector, first, size)
    total = 0.0
    for j in range(size):
        value = max(table[begin + j], 0.0)
        total += value * vector[first + j]
        out[first + j] += factor * value
    return total


def _dot_and_low(lanes: Lanes, value: Any, factor: Any, limit: Any) -> Sequence[Any]:
    (term,) = _dot(lanes, value, factor)
    return [term, lanes.count(lanes.less(term, limit))]


@vectorised(_dot_and_low, n_results=2)
def dot_and_low(
    table: Floats, begin: int, vector: Floats, first: int, size: int, limit: float
) -> tuple[float, float]:
    """``dot``, and how many of its terms are below the limit."""
    total = 0.0
    low = 0.0
    for j in range(size):
        value = max(table[begin + j], 0.0) * vector[first + j]
        total += value
        low += 1.0 if value < limit else 0.0
    return total, low


def _sum_and_low(lanes: Lanes, value: Any, limit: Any) -> Sequence[Any]:
    return [value, lanes.count(lanes.less(value, limit))]


@vectorised(_sum_and_low, n_results=2)
def sum_and_low(table: Floats, begin: int, size: int, limit: float) -> tuple[float, float]:
    """The sum of a row, and how many of its entries are below the limit."""
    total = 0.0
    low = 0.0
    for j in range(size):
        value = table[begin + j]
        total += value
        low += 1.0 if value < limit else 0.0
    return total, low


def _scale(lanes: Lanes, value: Any, old: Any, factor: Any) -> Sequence[Any]:
    return [lanes.times(factor, lanes.larger(value, lanes.every(0.0)))]


@vectorised(_scale, n_results=0, writes=[1])
def scale(table: Floats, begin: int, out: Floats, out_begin: int, size: int, factor: float) -> None:
    """out = factor * max(table, 0)."""
    for j in range(size):
        out[out_begin + j] = factor * max(table[begin + j], 0.0)


def _tilt(lanes: Lanes, value: Any, vector: Any, old: Any, factor: Any) -> Sequence[Any]:
    return [lanes.times(lanes.larger(value, lanes.every(0.0)), lanes.times(factor, vector))]


@vectorised(_tilt, n_results=0, writes=[2])
def tilt(
    table: Floats,
    begin: int,
    vector: Floats,
    first: int,
    out: Floats,
    out_begin: int,
    size: int,
    factor: float,
) -> None:
    """out = max(table, 0) * factor * vector."""
    for j in range(size):
        out[out_begin + j] = max(table[begin + j], 0.0) * (factor * vector[first + j])
