"""The dual of  min <q, C> + R(q)  over the occupancy measures of a fixed transition P.

With v(x_L) = 0 and the reduced costs  z(x, a) = C(x, a) + <P(. | x, a), v> - v(x),

    D(v) = v(x_0) + sum over (x, a) of  min over m of  m z(x, a) + phi(m)

is smooth and strictly concave; its gradient at x is  1{x = x_0} + inflow(x) - outflow(x)  of the
minimisers m.  A potential v added to C changes no minimiser, so only reduced costs are kept: C is
replaced by z at the solution, and the next search starts there with v = 0.  Nothing grows with the
number of episodes, and nothing cancels.
"""

from __future__ import annotations

from typing import NamedTuple

from ..linear.block_system import Blocks
from ..model.graph import Floats
from ..runtime.storage import Scratch
from ..steps.interface import Certificate


class FixedDual(NamedTuple):
    """Everything that the search for v works with."""

    reduced: Scratch[Floats]  # (R,) z at the base point
    slope: Scratch[Floats]  # (R,) its change along the direction
    mass: Scratch[Floats]  # (R,) m
    bend: Scratch[Floats]  # (R,) one over phi''(m)
    inflow: Scratch[Floats]  # (S,) that of x_0 is one
    outflow: Scratch[Floats]  # (S,)
    gradient: Scratch[Floats]  # (S,) of -D: outflow - inflow
    direction: Scratch[Floats]  # (S,)
    value: Scratch[Floats]  # (S,) v of a start, right-hand sides, masses, V of a policy
    room: Scratch[Floats]  # (S,) the least reduced cost of each state at a start
    root: Scratch[Floats]  # (S,) the line of x_0 in the Hessian
    blocks: Blocks
    certificate: Certificate
