"""Regularisers on pairs or triples, and the problem of one of them that each leaves.

    R(q) = sum over (x, a) of  phi(q(x, a)),  or over (x, a, x') of  phi(q(x, a, x'))
    HYBRID    phi(m) = -w sqrt(m) - b(x, a) ln(m)   1/2-Tsallis (b = 0), log barrier (w = 0), both
    ENTROPY   phi(m) =  w (m ln m - m)
    BARRIER   phi(m) = -b(x, a) ln(m)               HYBRID without w, in fewer operations

For a pair with reduced cost z the minimum over m > 0 of  m z + phi(m)  is attained where
z = -phi'(m).  HYBRID needs z > 0: with s = 1 / sqrt(m) the equation is  z = w s / 2 + b s^2.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..model.graph import Floats
from ..runtime.storage import Choice, Lasting, Number
from ..runtime.targets import leaf

HYBRID, ENTROPY, BARRIER = 0, 1, 2


class Regulariser(NamedTuple):
    """The weights w and b."""

    kind: Choice[int]  # HYBRID, ENTROPY or BARRIER
    weight: Number[float]  # w
    barrier: Lasting[Floats]  # (R,) b


@leaf
def is_in_domain(regulariser: Regulariser, z: float) -> bool:
    """Whether the problem of a pair with reduced cost z has a minimum."""
    return regulariser.kind == ENTROPY or z > 0.0


@leaf
def minimise_pair(regulariser: Regulariser, r: int, z: float) -> tuple[float, float, float]:
    """The minimiser m of  m z + phi(m),  one over phi''(m), and the minimum."""
    w = regulariser.weight
    if regulariser.kind == ENTROPY:
        m = math.exp(-z / w)
        return m, m / w, -w * m
    b = regulariser.barrier[r]
    half = 0.5 * w
    s = 2.0 * z / (half + math.sqrt(half * half + 4.0 * b * z))  # no cancellation for small b
    root = 1.0 / s
    m = root * root
    value = m * z - w * root
    if b > 0.0:
        value += 2.0 * b * math.log(s)
    return m, m * root / (0.25 * w + b * s), value


@leaf
def marginal(regulariser: Regulariser, r: int, m: float) -> float:
    """-phi'(m), the reduced cost of a pair whose minimiser is m."""
    w = regulariser.weight
    if regulariser.kind == ENTROPY:
        return -w * math.log(m)
    return 0.5 * w / math.sqrt(m) + regulariser.barrier[r] / m


@leaf
def divergence(regulariser: Regulariser, r: int, q: float, m: float) -> float:
    """The Bregman divergence  phi(q) - phi(m) - phi'(m) (q - m),  without cancellation."""
    w = regulariser.weight
    away = (q - m) / m
    if regulariser.kind == ENTROPY:
        return w * m * ((1.0 + away) * math.log1p(away) - away) if q > 0.0 else w * m
    step = math.sqrt(q / m) - 1.0
    found = 0.5 * w * math.sqrt(m) * step * step
    b = regulariser.barrier[r]
    if b > 0.0:
        found += b * (away - math.log1p(away))
    return found


@leaf
def minimiser(regulariser: Regulariser, r: int, z: float) -> tuple[float, float]:
    """The minimiser m of  m z + phi(m)  and one over phi''(m), for z in the domain."""
    w = regulariser.weight
    if regulariser.kind == ENTROPY:
        m = math.exp(-z / w)
        return m, m / w
    b = regulariser.barrier[r]
    if regulariser.kind == BARRIER:
        m = b / z
        return m, m / z
    half = 0.5 * w
    s = 2.0 * z / (half + math.sqrt(half * half + 4.0 * b * z))
    root = 1.0 / s
    return root * root, root * root * root / (0.25 * w + b * s)


@leaf
def marginal_and_bend(regulariser: Regulariser, r: int, m: float) -> tuple[float, float]:
    """-phi'(m) and phi''(m)."""
    w = regulariser.weight
    if regulariser.kind == ENTROPY:
        return -w * math.log(m), w / m
    barrier = regulariser.barrier[r] / m
    if regulariser.kind == BARRIER:
        return barrier, barrier / m
    root = 0.5 * w / math.sqrt(m)
    return root + barrier, (0.5 * root + barrier) / m


@leaf
def regularised(regulariser: Regulariser, r: int, m: float) -> float:
    """phi(m)."""
    w = regulariser.weight
    if regulariser.kind == ENTROPY:
        return w * (m * math.log(m) - m) if m > 0.0 else 0.0
    value = -w * math.sqrt(m)
    b = regulariser.barrier[r]
    if b > 0.0:
        value -= b * math.log(m)
    return value
