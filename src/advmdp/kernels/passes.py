"""The passes over a row that find a sum or a maximum, see ``kernels/vectors``.

Each is written twice: as a loop, which says what it is and is what other targets compile, and above
it as the terms that eight lanes take at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .vectors import Lanes, vectorised

Floats = NDArray[np.float64]
Marks = NDArray[np.uint8]

LEAST = 1e-300  # instead of a zero in a denominator
NEAR = 0.05  # largest s for which six terms of the series in ``clip_bend`` reach rounding
SERIES = (1.0, 1 / 3, 1 / 5, 1 / 7, 1 / 9, 1 / 11)


def _inner(lanes: Lanes, a: Any, b: Any) -> Sequence[Any]:
    return [lanes.times(a, b)]


@vectorised(_inner)
def inner(a: Floats, a_begin: int, b: Floats, b_begin: int, size: int) -> float:
    """The sum of ``a * b``."""
    total = 0.0
    for j in range(size):
        total += a[a_begin + j] * b[b_begin + j]
    return total


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


def _crowded(lanes: Lanes, value: Any, lower: Any, upper: Any, factor: Any) -> Sequence[Any]:
    below = lanes.less(value, lanes.times(factor, lower))
    above = lanes.less(upper, lanes.times(factor, value))
    return [lanes.add(lanes.count(below), lanes.count(above))]


@vectorised(_crowded)
def crowded(
    chance: Floats,
    begin: int,
    lower: Floats,
    lower_begin: int,
    upper: Floats,
    upper_begin: int,
    size: int,
    factor: float,
) -> float:
    """How often an entry would leave its box if it moved by a factor, up or down."""
    times = 0.0
    for j in range(size):
        value = chance[begin + j]
        times += 1.0 if value < factor * lower[lower_begin + j] else 0.0
        times += 1.0 if factor * value > upper[upper_begin + j] else 0.0
    return times


def _tightness(lanes: Lanes, value: Any, lower: Any, upper: Any) -> Sequence[Any]:
    least = lanes.every(LEAST)
    positive = lanes.larger(value, least)
    below = lanes.over(lower, positive)
    above = lanes.over(positive, lanes.larger(upper, least))
    return [lanes.inside(lanes.larger(below, above))]


@vectorised(_tightness, largest=True)
def tightness(
    chance: Floats,
    begin: int,
    lower: Floats,
    lower_begin: int,
    upper: Floats,
    upper_begin: int,
    size: int,
) -> float:
    """One over the factor by which some entry has to move, up or down, to leave its box."""
    most = 0.0
    for j in range(size):
        value = max(chance[begin + j], LEAST)
        most = max(most, lower[lower_begin + j] / value)
        most = max(most, value / max(upper[upper_begin + j], LEAST))
    return most


def _clip_sum(
    lanes: Lanes, weight: Any, lower: Any, upper: Any, c: Any
) -> tuple[Any, Any, Any, Any]:
    value = lanes.times(c, weight)
    clipped = lanes.smaller(lanes.larger(value, lower), upper)
    slope = lanes.where(lanes.equal(value, clipped), weight, lanes.every(0.0))
    return clipped, slope, value, clipped


def _clip_sum_terms(lanes: Lanes, weight: Any, lower: Any, upper: Any, c: Any) -> Sequence[Any]:
    return _clip_sum(lanes, weight, lower, upper, c)[:2]


@vectorised(_clip_sum_terms, n_results=2)
def clip_sum(
    work: Floats,
    begin: int,
    lower: Floats,
    lower_begin: int,
    upper: Floats,
    upper_begin: int,
    size: int,
    c: float,
) -> tuple[float, float]:
    """The sum of  clip(c w, lower, upper)  and its derivative in c."""
    total = 0.0
    slope = 0.0
    for j in range(size):
        w = work[begin + j]
        value = c * w
        clipped = min(max(value, lower[lower_begin + j]), upper[upper_begin + j])
        total += clipped
        slope += w if value == clipped else 0.0
    return total, slope


def _clip_bend(lanes: Lanes, weight: Any, lower: Any, upper: Any, c: Any) -> Sequence[Any]:
    clipped, slope, value, _ = _clip_sum(lanes, weight, lower, upper, c)
    scale = lanes.larger(lanes.add(value, clipped), lanes.every(LEAST))
    s = lanes.over(lanes.subtract(value, clipped), scale)
    t = lanes.times(s, s)
    series = lanes.every(SERIES[-1])
    for coefficient in reversed(SERIES[:-1]):
        series = lanes.add(lanes.every(coefficient), lanes.times(t, series))
    bend = lanes.times(clipped, lanes.times(lanes.times(lanes.every(2.0), s), series))
    far = lanes.count(lanes.less(lanes.every(NEAR * NEAR), t))
    return [clipped, slope, bend, far]


@vectorised(_clip_bend, n_results=4)
def clip_bend(
    work: Floats,
    begin: int,
    lower: Floats,
    lower_begin: int,
    upper: Floats,
    upper_begin: int,
    size: int,
    c: float,
) -> tuple[float, float, float, float]:
    """``clip_sum``, the sum of  p ln(c w / p)  over the clipped entries p, and how many of these
    are too far from their bounds for it to be right.

    The logarithm is the series of  ln((1 + s) / (1 - s)) = 2 s (1 + s^2 / 3 + s^4 / 5 + ...),  here
    to rounding: it becomes vector instructions, and it is exactly zero on free entries.
    """
    total = 0.0
    slope = 0.0
    bend = 0.0
    far = 0.0
    for j in range(size):
        w = work[begin + j]
        value = c * w
        clipped = min(max(value, lower[lower_begin + j]), upper[upper_begin + j])
        total += clipped
        slope += w if value == clipped else 0.0
        s = (value - clipped) / max(value + clipped, LEAST)
        t = s * s
        far += 1.0 if t > NEAR * NEAR else 0.0
        series = 1.0 + t * (1 / 3 + t * (1 / 5 + t * (1 / 7 + t * (1 / 9 + t * (1 / 11)))))
        bend += clipped * (2.0 * s * series)
    return total, slope, bend, far
