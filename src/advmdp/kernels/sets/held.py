"""How p_beta of each row is held during a projection: the one owner of that state.

For a row (x, a) with current transition p~ and multipliers beta on its successors, the row problem

    p_beta = argmax over p in the row's set of  <p, beta> - KL(p || p~),     gain = its maximum,

is what remains of the projection when the multipliers mu of the paper's dual (appendix, "Updating
Occupancy Measure") are eliminated.  Its solution is held in one of four ways:

    SCALED    p_beta = scale p~ e^beta: no bound holds, nothing is written out
    MERGED    as SCALED, together with the other such rows of its state (``kl/merged/merged_rows``)
    WRITTEN   p_beta stands in ``work``; entries of group g move together, group 0 not at all:
              d p / d beta = diag(p_g) - p_g p_g^T / (mass of g) in group g
    POINT     p_beta = p~ whatever beta: a known row

and moves from one to another by the functions below only:

    from \\ to   SCALED                MERGED    WRITTEN                      POINT
    SCALED      hold_scaled           merge     hold_written, expect_bounds  hold_point
    MERGED      unmerge, hold_scaled            expect_bounds
    WRITTEN     release                         hold_written

Between projections ``holding``, ``scale`` and ``tight`` stay as guesses of the next one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..model.graph import Floats, Graph, gather, row_begin, row_size
from ..model.log_storage import linear, logarithm
from ..model.row_status import Marks
from ..runtime.storage import Lasting, Private, Scratch
from ..runtime.targets import leaf

SCALED, WRITTEN, POINT, MERGED = 0, 1, 2, 3

UNKNOWN = 2.0  # tightness of a row that has to be looked at

# Entries below log_storage.TINY = 1e-200 weigh nothing on the fast path.  That is right as long as
# what is left weighs at least this much; otherwise the evaluation is repeated in the log domain.
SMALLEST = 1e-150
LARGEST = 1e150


class HeldRows(NamedTuple):
    """The solutions of all row problems at one beta."""

    holding: Lasting[Marks]  # (R,)
    scale: Lasting[Floats]  # (R,) c of a scaled row, and the first guess for a written one
    tight: Lasting[Floats]  # (R,) at least one over the factor that takes p~ to a bound
    gain: Scratch[Floats]  # (R,) value of the row problem; ask ``gain_of``
    group_mass: Scratch[Floats]  # (2 R,) masses of groups 1 and 2 of written rows
    log_scale: Scratch[Floats]  # (2 R,) logarithms of their scales, or NaN; ask ``log_scale_of``
    work: Scratch[Floats]  # (E,) p_beta of written rows
    group: Scratch[Marks]  # (E,)
    near: Private[Floats]  # (widest row,) a state vector along one row


@leaf
def is_scaled(held: HeldRows, r: int) -> bool:
    return bool(held.holding[r] == SCALED)


@leaf
def is_merged(held: HeldRows, r: int) -> bool:
    return bool(held.holding[r] == MERGED)


@leaf
def is_written(held: HeldRows, r: int) -> bool:
    return bool(held.holding[r] == WRITTEN)


@leaf
def is_point(held: HeldRows, r: int) -> bool:
    return bool(held.holding[r] == POINT)


@leaf
def hold_scaled(held: HeldRows, r: int, scale: float) -> None:
    """p_beta = scale p~ e^beta."""
    held.scale[r] = scale
    held.holding[r] = SCALED


@leaf
def release(held: HeldRows, r: int) -> None:
    """No bound is expected to hold; the scale stays as a guess."""
    held.holding[r] = SCALED


@leaf
def expect_bounds(held: HeldRows, r: int) -> None:
    """Some bound is expected to hold: the row will be written."""
    held.holding[r] = WRITTEN


@leaf
def merge(held: HeldRows, r: int) -> None:
    """The row joins the merged row of its state."""
    held.holding[r] = MERGED


@leaf
def unmerge(held: HeldRows, r: int) -> None:
    """The row stands by itself again."""
    if held.holding[r] == MERGED:
        held.holding[r] = SCALED


@leaf
def hold_point(held: HeldRows, r: int, gain: float) -> None:
    """p_beta = p~."""
    held.holding[r] = POINT
    held.gain[r] = gain


@leaf
def hold_written(
    held: HeldRows, r: int, log_a: float, mass_a: float, log_b: float, mass_b: float
) -> None:
    """p_beta stands in ``work`` with two groups; a NaN stands for the logarithm of ``scale``."""
    held.log_scale[2 * r] = log_a
    held.log_scale[2 * r + 1] = log_b
    held.group_mass[2 * r] = mass_a
    held.group_mass[2 * r + 1] = mass_b
    held.holding[r] = WRITTEN


@leaf
def log_scale_of(held: HeldRows, r: int, g: int) -> float:
    """The logarithm of the scale of group g = 1, 2 of a written row."""
    found = held.log_scale[2 * r + g - 1]
    return found if found == found else math.log(held.scale[r])


@leaf
def gain_of(held: HeldRows, r: int) -> float:
    """The value of the row problem."""
    if held.holding[r] == SCALED:
        return -math.log(held.scale[r])
    if held.holding[r] == WRITTEN and held.log_scale[2 * r] != held.log_scale[2 * r]:
        return held.gain[r] - math.log(held.scale[r])
    return held.gain[r]


@leaf
def hold_resting(graph: Graph, r: int, chance: Floats, held: HeldRows) -> None:
    """The solution of a written row that lies in its set, at beta = 0: p~ itself.

    All its entries count as free: which of them a bound will hold is not known before beta moves.
    """
    begin = row_begin(graph, r)
    for j in range(row_size(graph, r)):
        held.work[begin + j] = linear(chance[begin + j])
        held.group[begin + j] = 1
    held.scale[r] = 1.0
    held.gain[r] = 0.0
    hold_written(held, r, math.nan, 1.0, 0.0, 0.0)


@leaf
def written_gain(graph: Graph, r: int, chance: Floats, beta: Floats, held: HeldRows) -> float:
    """<p, beta> - KL(p || p~) of a written row: -ln c on free entries, explicit on clipped ones.

    An entry that stays at its bound needs no logarithm, ln(p~ / p) = (p~ - p) / p to rounding, so
    the first loop has no branch; the second is for entries that have just arrived at a bound.
    """
    begin = row_begin(graph, r)
    size = row_size(graph, r)
    gather(graph, r, beta, held.near)
    total = 0.0
    for g in range(2):
        mass = held.group_mass[2 * r + g]
        if mass > 0.0:
            total -= mass * held.log_scale[2 * r + g]
    arrived = 0
    for j in range(size):
        p = held.work[begin + j]
        change = chance[begin + j] - p
        clipped = held.group[begin + j] == 0
        far = abs(change) > 1e-8 * p
        total += p * held.near[j] + (0.0 if far else change) if clipped else 0.0
        arrived += clipped & far
    if arrived > 0:
        for j in range(size):
            p = held.work[begin + j]
            far = abs(chance[begin + j] - p) > 1e-8 * p
            if held.group[begin + j] == 0 and far and p > 0.0:
                total += p * (logarithm(chance[begin + j]) - math.log(p))
    return total
