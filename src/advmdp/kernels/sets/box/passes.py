"""Passes over a row between bounds (``lanes/vectors``): how tight it is, and clipping it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...lanes.passes import Floats, Marks
from ...lanes.vectors import Lanes, vectorised

LEAST = 1e-300  # instead of a zero in a denominator
NEAR = 0.05  # largest s for which six terms of the series in ``clip_bend`` reach rounding
SERIES = (1.0, 1 / 3, 1 / 5, 1 / 7, 1 / 9, 1 / 11)


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


def _clip(lanes: Lanes, value: Any, factor: Any, lower: Any, upper: Any, c: Any) -> Sequence[Any]:
    """The weight w, c w, and the latter clipped."""
    weight = lanes.times(lanes.larger(value, lanes.every(0.0)), factor)
    wanted = lanes.times(c, weight)
    return weight, wanted, lanes.smaller(lanes.larger(wanted, lower), upper)


def _clip_sum(lanes: Lanes, *entries: Any) -> Sequence[Any]:
    weight, wanted, clipped = _clip(lanes, *entries)
    slope = lanes.where(lanes.equal(wanted, clipped), weight, lanes.every(0.0))
    return [clipped, slope]


@vectorised(_clip_sum, n_results=2)
def clip_sum(
    table: Floats,
    begin: int,
    vector: Floats,
    first: int,
    lower: Floats,
    lower_begin: int,
    upper: Floats,
    upper_begin: int,
    size: int,
    c: float,
) -> tuple[float, float]:
    """The sum of  clip(c w, lower, upper)  for  w = max(table, 0) * vector,  and its slope in c."""
    total = 0.0
    slope = 0.0
    for j in range(size):
        w = max(table[begin + j], 0.0) * vector[first + j]
        wanted = c * w
        clipped = min(max(wanted, lower[lower_begin + j]), upper[upper_begin + j])
        total += clipped
        slope += w if wanted == clipped else 0.0
    return total, slope


def _clip_bend(
    lanes: Lanes, value: Any, factor: Any, lower: Any, upper: Any, old: Any, mark: Any, c: Any
) -> Sequence[Any]:
    weight, wanted, clipped = _clip(lanes, value, factor, lower, upper, c)
    free = lanes.equal(wanted, clipped)
    slope = lanes.where(free, weight, lanes.every(0.0))
    scale = lanes.larger(lanes.add(wanted, clipped), lanes.every(LEAST))
    s = lanes.over(lanes.subtract(wanted, clipped), scale)
    t = lanes.times(s, s)
    series = lanes.every(SERIES[-1])
    for coefficient in reversed(SERIES[:-1]):
        series = lanes.add(lanes.every(coefficient), lanes.times(t, series))
    bend = lanes.times(clipped, lanes.times(lanes.times(lanes.every(2.0), s), series))
    far = lanes.count(lanes.less(lanes.every(NEAR * NEAR), t))
    return [clipped, slope, bend, far, clipped, free]


@vectorised(_clip_bend, n_results=4, writes=[4, 5])
def clip_bend(
    table: Floats,
    begin: int,
    vector: Floats,
    first: int,
    lower: Floats,
    lower_begin: int,
    upper: Floats,
    upper_begin: int,
    out: Floats,
    out_begin: int,
    group: Marks,
    group_begin: int,
    size: int,
    c: float,
) -> tuple[float, float, float, float]:
    """``clip_sum``, with the clipped row p and group 1, its free entries, written out.

    Returned besides: the sum of  p ln(c w / p)  over the entries that are clipped, and how many of
    these are too far from their bounds for it to be right.
    The logarithm is the series of  ln((1 + s) / (1 - s)) = 2 s (1 + s^2 / 3 + s^4 / 5 + ...),  here
    to rounding: it becomes vector instructions, and it is exactly zero on free entries.
    """
    total = 0.0
    slope = 0.0
    bend = 0.0
    far = 0.0
    for j in range(size):
        w = max(table[begin + j], 0.0) * vector[first + j]
        wanted = c * w
        clipped = min(max(wanted, lower[lower_begin + j]), upper[upper_begin + j])
        out[out_begin + j] = clipped
        group[group_begin + j] = wanted == clipped
        total += clipped
        slope += w if wanted == clipped else 0.0
        s = 0.0
        if wanted != clipped:  # a GPU divides a zero the slow way
            s = (wanted - clipped) / max(wanted + clipped, LEAST)
        t = s * s
        far += 1.0 if t > NEAR * NEAR else 0.0
        series = 1.0 + t * (1 / 3 + t * (1 / 5 + t * (1 / 7 + t * (1 / 9 + t * (1 / 11)))))
        bend += clipped * (2.0 * s * series)
    return total, slope, bend, far
