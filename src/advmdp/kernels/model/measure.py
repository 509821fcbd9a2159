"""An occupancy measure as the kernels hold it: transition, policy and state masses."""

from __future__ import annotations

from typing import NamedTuple

from ..runtime.storage import Lasting
from .graph import Floats


class Measure(NamedTuple):
    """q(x, a, x') = mass(x) policy(a | x) chance(x' | x, a), all three in log storage."""

    chance: Lasting[Floats]  # (E,) P^q(x' | x, a)
    policy: Lasting[Floats]  # (R,) pi^q(a | x)
    mass: Lasting[Floats]  # (S,) q(x)
