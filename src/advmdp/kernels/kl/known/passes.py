"""Passes over all rows or states of a known transition, in registers (``lanes/vectors``).

Where the exponents of a step are small, as in all but the first episodes, an exponential is a
polynomial: eight of them take as long as one of the library.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...lanes.vectors import Lanes, vectorised
from ...model.graph import Floats
from ...model.log_storage import TINY
from ...runtime.targets import leaf
from ...sets.held import SMALLEST

NEAR = 0.5  # where ``near_exponential`` is exact to rounding
SERIES = tuple(1.0 / math.factorial(i) for i in range(15))


@leaf
def near_exponential(t: float) -> float:
    """e^t for |t| <= NEAR by its series."""
    total = 1.0 + t * (1.0 / 14.0)
    total = 1.0 + t * total * (1.0 / 13.0)
    total = 1.0 + t * total * (1.0 / 12.0)
    total = 1.0 + t * total * (1.0 / 11.0)
    total = 1.0 + t * total * (1.0 / 10.0)
    total = 1.0 + t * total * (1.0 / 9.0)
    total = 1.0 + t * total * (1.0 / 8.0)
    total = 1.0 + t * total * (1.0 / 7.0)
    total = 1.0 + t * total * (1.0 / 6.0)
    total = 1.0 + t * total * (1.0 / 5.0)
    total = 1.0 + t * total * (1.0 / 4.0)
    total = 1.0 + t * total * (1.0 / 3.0)
    total = 1.0 + t * total * 0.5
    return 1.0 + t * total


def _size(lanes: Lanes, value: Any) -> Any:
    return lanes.larger(value, lanes.subtract(lanes.every(0.0), value))


def _weigh_near(lanes: Lanes, weight: Any, gain: Any, old: Any) -> Sequence[Any]:
    growth = lanes.polynomial(gain, SERIES)
    weighed = lanes.times(lanes.larger(weight, lanes.every(0.0)), growth)
    return [_size(lanes, gain), weighed]


@vectorised(_weigh_near, writes=[2], largest=True)
def weigh_near(
    weight: Floats, begin: int, gain: Floats, first: int, out: Floats, at: int, size: int
) -> float:
    """out = max(weight, 0) e^gain by its series; returns the largest |gain|, right up to NEAR."""
    largest = 0.0
    for j in range(size):
        out[at + j] = max(weight[begin + j], 0.0) * near_exponential(gain[first + j])
        largest = max(largest, abs(gain[first + j]))
    return largest


def _tilt_near(
    lanes: Lanes, base: Any, direction: Any, old: Any, before: Any, step: Any
) -> Sequence[Any]:
    beta = lanes.add(base, lanes.times(step, direction))
    return [_size(lanes, beta), beta, lanes.polynomial(beta, SERIES)]


@vectorised(_tilt_near, writes=[2, 3], largest=True)
def tilt_near(
    base: Floats,
    base_begin: int,
    direction: Floats,
    begin: int,
    beta: Floats,
    beta_begin: int,
    tilt: Floats,
    tilt_begin: int,
    size: int,
    step: float,
) -> float:
    """beta = base + step * direction and tilt = e^beta; returns the largest |beta|, as above."""
    largest = 0.0
    for j in range(size):
        value = base[base_begin + j] + step * direction[begin + j]
        beta[beta_begin + j] = value
        tilt[tilt_begin + j] = near_exponential(value)
        largest = max(largest, abs(value))
    return largest


def _leave_states(
    lanes: Lanes, mass: Any, tilt: Any, total: Any, old: Any, before: Any
) -> Sequence[Any]:
    small = lanes.every(SMALLEST)
    fits = lanes.both(lanes.less(small, total), lanes.less(total, lanes.every(math.inf)))
    lost = lanes.where(
        lanes.both(fits, lanes.less(small, tilt)), lanes.every(0.0), lanes.every(1.0)
    )
    lead = lanes.over(lanes.larger(mass, lanes.every(0.0)), tilt)
    part = lanes.over(lanes.every(1.0), total)
    return [lanes.inside(lost), lanes.times(lead, total), part]


@vectorised(_leave_states, writes=[3, 4])
def leave_states(
    mass: Floats,
    mass_begin: int,
    tilt: Floats,
    tilt_begin: int,
    total: Floats,
    total_begin: int,
    outflow: Floats,
    outflow_begin: int,
    part: Floats,
    part_begin: int,
    size: int,
) -> float:
    """outflow = max(mass, 0) / tilt * total, part = 1 / total; how many no float can hold."""
    lost = 0.0
    for j in range(size):
        here = total[total_begin + j]
        usable = SMALLEST < here < math.inf and tilt[tilt_begin + j] > SMALLEST
        lost += 0.0 if usable else 1.0
        lead = max(mass[mass_begin + j], 0.0) / tilt[tilt_begin + j]
        outflow[outflow_begin + j] = lead * here
        part[part_begin + j] = 1.0 / here
    return lost


CLOSE = 1e-3  # relative differences of which five terms of a series are exact to rounding


def _close_gap(lanes: Lanes, q: Any, o: Any) -> Sequence[Any]:
    zero = lanes.every(0.0)
    both = lanes.both(lanes.less(zero, q), lanes.less(zero, o))
    part = lanes.where(both, lanes.over(lanes.subtract(q, o), o), zero)
    far = lanes.less(lanes.every(CLOSE), _size(lanes, part))
    series = lanes.polynomial(part, (1 / 2, -1 / 6, 1 / 12, -1 / 20, 1 / 30))
    square = lanes.times(part, part)
    return [lanes.times(lanes.times(o, square), series), lanes.count(far)]


@vectorised(_close_gap, n_results=2)
def close_gap(
    mass: Floats, begin: int, outflow: Floats, first: int, size: int
) -> tuple[float, float]:
    """The sum of q ln(q / o) - (q - o) for q near o, without a difference of nearly equal numbers.

    Then for how many it is not so near, and the sum does not hold.  No flow has no part.
    """
    total = 0.0
    far = 0.0
    for j in range(size):
        q = mass[begin + j]
        o = outflow[first + j]
        part = (q - o) / o if q > 0.0 and o > 0.0 else 0.0
        series = 1 / 20 - part / 30
        series = 1 / 12 - part * series
        series = 1 / 6 - part * series
        total += o * part * part * (1 / 2 - part * series)
        far += 1.0 if abs(part) > CLOSE else 0.0
    return total, far


def _tilt_weights(lanes: Lanes, weight: Any, loss: Any, old: Any, eta: Any) -> Sequence[Any]:
    exponent = lanes.times(lanes.subtract(lanes.every(0.0), eta), loss)
    tilted = lanes.times(weight, lanes.polynomial(exponent, SERIES))
    zero = lanes.every(0.0)
    plain = lanes.both(
        lanes.not_less(lanes.every(NEAR), _size(lanes, exponent)),
        lanes.not_less(tilted, lanes.where(lanes.equal(weight, zero), zero, lanes.every(TINY))),
    )
    odd = lanes.where(plain, zero, lanes.every(1.0))
    return [lanes.inside(odd), tilted, weight]


@vectorised(_tilt_weights, writes=[0, 2])
def tilt_weights(
    weight: Floats,
    begin: int,
    losses: Floats,
    first: int,
    old: Floats,
    at: int,
    size: int,
    eta: float,
) -> float:
    """weight *= e^(-eta losses) by its series, after a copy to ``old``; returns how many are odd.

    Odd are exponents beyond NEAR and weights that are, or become, too small for log storage.
    """
    odd = 0.0
    for j in range(size):
        before = weight[begin + j]
        exponent = -eta * losses[first + j]
        old[at + j] = before
        weight[begin + j] = before * near_exponential(exponent)
        plain = abs(exponent) <= NEAR and (before == 0.0 or weight[begin + j] >= TINY)
        odd += 0.0 if plain else 1.0
    return odd
