"""The projection's dual in beta alone: its variables (for one row of it see ``row_oracle``).

KL projection onto the measures whose transition lies in the set (paper, appendix "Updating
Occupancy Measure").  With q = m p (row mass times transition) the multipliers mu disappear into
the row oracles and what is left is

    minimise  G(beta) = sum_k ln Z_k,   Z_k = sum over layer k of m~(x,a) exp(gain(x,a) - beta(x)),
    m(x,a) = m~(x,a) exp(gain - beta(x)) / Z_k,
    dG/dbeta(x) = inflow(x) - outflow(x),

convex, smooth, unconstrained, with |X| - 2 variables.  A row that no bound touches is never written
out: p_beta = scale * p~ e^beta is used as it stands, and one pass over p~ gives both its normaliser
and its part of the inflow.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model.graph import Floats, Graph
from ..runtime.targets import leaf
from ..sets.rows import Marks

# How p_beta of a row is held after an evaluation.
IMPLICIT = 0  # scale * p~ * tilt
WRITTEN = 1  # in work, with groups
CONSTANT = 2  # p~ itself, whatever beta
POOLED = (
    3  # as IMPLICIT, but together with the other free rows of its state (kernels/kl/merged_rows)
)

# Entries below signed.TINY = 1e-200 weigh nothing on the fast path.  That is right as long as what
# is left weighs at least this much; otherwise the evaluation is done again in logarithms.
SMALLEST = 1e-150
LARGEST = 1e150


class Measure(NamedTuple):
    """An occupancy measure as transition, policy and state masses, all in signed storage."""

    chance: Floats  # (E,) P^q(x' | x, a)
    policy: Floats  # (R,) pi^q(a | x)
    mass: Floats  # (S,) q(x)


class Pool(NamedTuple):
    """The free rows of every state as one line, see ``kernels/kl/merged_rows``."""

    lines: Graph  # a line for each state, as rows of a layout with one action
    table: Floats  # C(x, x'), without the tilt
    lead: Floats  # (S,) what a line is multiplied with, next to the tilt, to give flows
    mass: Floats  # (S,) the flow through the line
    tight: Floats  # (S,) the tightest row of the line
    others: NDArray[np.int64]  # (S,) how many rows of the state are not in the line


class Dual(NamedTuple):
    """Everything an evaluation of G leaves behind."""

    beta: Floats  # (S,)
    tilt: Floats  # (S,) e^beta
    inflow: Floats  # (S,)
    free_inflow: Floats  # (S,) the part of the inflow that comes from implicit rows
    outflow: Floats  # (S,)
    mobile: Floats  # (S,) the outflow of states that are not held up by a floor
    lift: Floats  # (S,) multiplier of the floor: ln(outflow / what it would be without)
    row_mass: Floats  # (R,) m(x, a)
    share: Floats  # (R,) the new policy pi(a | x), unsigned
    gain: Floats  # (R,) value of the row oracle; ask ``gain_of``
    scale: Floats  # (R,) c of an implicit row, and the first guess for a written one
    holding: Marks  # (R,)
    tight: Floats  # (R,) at most one over the factor that takes p~ to a bound of its box
    group_mass: Floats  # (2 R,) masses of groups 1 and 2 of written rows
    log_scale: Floats  # (2 R,) logarithms of their scales, or NaN; ask ``log_scale_of``
    work: Floats  # (E,) p_beta of written rows
    group: Marks  # (E,)
    total: Floats  # (S,) the sum over actions of pi~ e^gain
    log_total: Floats  # (S,) its logarithm, on the safe path
    free_sum: Floats  # (S,) accumulators of the layer sweep
    other_sum: Floats  # (S,)
    top: Floats  # (L,) the largest beta of a layer before it is shifted
    widest: Floats  # (L,) how far apart beta pulls the successors of a layer
    shrink: Floats  # (L,) one over Z_k
    log_z: Floats  # (L,)
    term: Floats  # (S,) scratch: what a state adds to a sum over all
    near: Floats  # (widest row,) scratch: a state vector along one row
    together: Floats  # (E,) scratch of the blocks: the entries of one group, empty without blocks
    pool: Pool


@leaf
def log_scale_of(dual: Dual, r: int, g: int) -> float:
    """The logarithm of the scale of group g = 1, 2 of a written row."""
    found = dual.log_scale[2 * r + g - 1]
    return found if found == found else math.log(dual.scale[r])


@leaf
def gain_of(dual: Dual, r: int) -> float:
    """The value of the row oracle."""
    if dual.holding[r] == IMPLICIT:
        return -math.log(dual.scale[r])
    if dual.holding[r] == WRITTEN and dual.log_scale[2 * r] != dual.log_scale[2 * r]:
        return dual.gain[r] - math.log(dual.scale[r])
    return dual.gain[r]
