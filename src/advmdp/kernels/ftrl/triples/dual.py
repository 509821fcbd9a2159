"""The dual of  min <q, C> + sum phi(q(x, a, x'))  over the measures of a set of transitions.

Only flow couples the rows.  With v(x_L) = 0 and the reduced costs of triples
c(x, a, x') = C(x, a, x') + v(x') - v(x),

    D(v) = v(x_0) + sum over (x, a) of  min over S >= 0 and p in the row's set of
           S <p, c> + sum over x' of phi(S p(x'))

which is concave and C^1.  As in ``ftrl/dual``, only reduced costs are kept.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...linear.block_system import Blocks
from ...model.graph import Floats
from ...runtime.storage import Scratch
from ...steps.interface import Certificate
from ..regulariser import Regulariser


class TripleProblem(NamedTuple):
    """The set, and what is added to the costs."""

    rows: Any
    regulariser: Regulariser


class TripleDual(NamedTuple):
    """Everything that the search for v works with.

    The Hessian of a row is  diag(w) - w w^T / t + A A^T / s,  with w and A over its entries and t
    the sum of w.  On free entries  w = 1 / phi''  and  A = (1 - B) w / t,  on a bound w is zero and
    A the bound, B their sum; s is the second derivative of the row's minimum in S.  On a ball the
    free entries are of two groups, raised and lowered, with a t each.  Where rows may sum to less
    than one, costs of what ends the episode, one for each row, follow those of the triples.
    """

    reduced: Scratch[Floats]  # (E,) or (E + R,) c at the base point
    slope: Scratch[Floats]  # likewise: its change along the direction
    cost: Scratch[Floats]  # likewise: c where it is being evaluated
    flow: Scratch[Floats]  # (E,) q, the minimiser
    weight: Scratch[Floats]  # (E,) w
    tie: Scratch[Floats]  # (E,) A
    lowered: Scratch[Floats]  # (E,) 1 for the second group of a ball
    total: Scratch[Floats]  # (R,) S
    inverse_weight: Scratch[Floats]  # (R,) 1 / t; -1 where the Hessian is just diag(w)
    inverse_lowered: Scratch[Floats]  # (R,) 1 / t of the second group; 0 where there is none
    inverse_tie: Scratch[Floats]  # (R,) 1 / s
    shift: Scratch[Floats]  # (R,) kappa of the row problem, a first guess for the next
    scale: Scratch[Floats]  # (R,) S of the row problem, likewise
    inflow: Scratch[Floats]  # (S,)
    outflow: Scratch[Floats]  # (S,)
    gradient: Scratch[Floats]  # (S,)
    direction: Scratch[Floats]  # (S,)
    value: Scratch[Floats]  # (S,)
    root: Scratch[Floats]  # (S,)
    blocks: Blocks
    certificate: Certificate
