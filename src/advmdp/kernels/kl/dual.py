"""The projection's dual in beta alone: its variables.

KL projection onto the measures whose transition lies in the set (paper, appendix "Updating
Occupancy Measure").  With q = m p (row mass times transition) the multipliers mu disappear into
the row problems (``sets/held``) and what is left is

    minimise  G(beta) = sum_k ln Z_k,   Z_k = sum over layer k of m~(x,a) exp(gain(x,a) - beta(x)),
    m(x,a) = m~(x,a) exp(gain - beta(x)) / Z_k,
    dG/dbeta(x) = inflow(x) - outflow(x),

convex, smooth, unconstrained, with |X| - 2 variables.  A row that no bound touches is never written
out: p_beta = scale * p~ e^beta is used as it stands, and one pass over p~ gives both its normaliser
and its part of the inflow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model.graph import Floats, Graph
from ..runtime.storage import Scratch
from ..sets.held import HeldRows
from ..sets.packed import PackedRows


class MergedRows(NamedTuple):
    """The free rows of every state as one line, see ``merged/merged_rows``."""

    lines: Graph  # a line for each state, as rows of a layout with one action
    table: Scratch[Floats]  # C(x, x'), without the tilt
    weight: Scratch[Floats]  # (R,) what the table was formed with (``merged/carried_lines``)
    growth: Scratch[Floats]  # (R,) of rows in lines: <p~, tilt>, and the sum of its terms
    capped: Scratch[Floats]  # (R,) with none above a cap
    lead: Scratch[Floats]  # (S,) what a line is multiplied with, next to the tilt, to give flows
    mass: Scratch[Floats]  # (S,) the flow through the line
    factor: Scratch[Floats]  # (S,) of a pass over lines: what each is multiplied with,
    dot: Scratch[Floats]  # (S,) and its product with the vector
    tight: Scratch[Floats]  # (S,) the tightest row of the line
    others: Scratch[NDArray[np.int64]]  # (S,) how many rows of the state are not in the line


class Flows(NamedTuple):
    """What flows through the states at one beta, and how a floor under them changes it."""

    inflow: Scratch[Floats]  # (S,)
    free_inflow: Scratch[Floats]  # (S,) the part of the inflow that comes from scaled rows
    outflow: Scratch[Floats]  # (S,)
    mobile: Scratch[Floats]  # (S,) the outflow of states that are not held up by a floor
    lift: Scratch[Floats]  # (S,) multiplier of the floor: ln(outflow / what it would be without)
    row_mass: Scratch[Floats]  # (R,) m(x, a)
    share: Scratch[Floats]  # (R,) the new policy pi(a | x)
    total: Scratch[Floats]  # (S,) the sum over actions of pi~ e^gain
    log_total: Scratch[Floats]  # (S,) its logarithm, on the safe path
    free_sum: Scratch[Floats]  # (S,) accumulators of the sweep
    other_sum: Scratch[Floats]  # (S,)


class Dual(NamedTuple):
    """Everything an evaluation of G leaves behind."""

    beta: Scratch[Floats]  # (S,)
    tilt: Scratch[Floats]  # (S,) e^beta
    flows: Flows
    held: HeldRows
    packed: PackedRows
    merged: MergedRows
    top: Scratch[Floats]  # (L,) the largest beta of a layer before it is shifted
    widest: Scratch[Floats]  # (L,) how far apart beta pulls the successors of a layer
    shrink: Scratch[Floats]  # (L,) one over Z_k
    log_z: Scratch[Floats]  # (L,)
    term: Scratch[Floats]  # (S,) what a state adds to a sum over all
    together: Scratch[Floats]  # (E,) of the blocks: entries of one group; empty without blocks
    chosen: Scratch[NDArray[np.int64]]  # (most rows of a layer,) of the blocks: rows by themselves
