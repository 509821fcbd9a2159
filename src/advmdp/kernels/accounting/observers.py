"""What a checkpoint shows of a learner beside its losses: the epoch, and how much is left open."""

from __future__ import annotations

from typing import Any

from ..learners.fpop import FPOPState
from ..learners.mirror_descent import Learner
from ..learners.ucrl2 import UCRL2State
from ..model.visits import BERNSTEIN, EPOCH, WEISSMAN
from ..runtime.targets import kernel
from ..sets.rows import TransitionSet


@kernel
def mean_width(rows: TransitionSet, shape: int) -> float:
    """How much is left open: 1 while anything is possible, 0 when all is known.

    Boxes: the mean over triples of upper - lower.  Balls: the mean radius, as a share of 2.
    """
    total = 0.0
    if shape == BERNSTEIN:
        for e in range(rows.lower.shape[0]):
            total += rows.upper[e] - rows.lower[e]
        return total / rows.lower.shape[0]
    if shape == WEISSMAN:
        for r in range(rows.width.shape[0]):
            total += rows.width[r]
        return total / (2.0 * rows.width.shape[0])
    return 0.0


@kernel
def look_at_mirror(state: Learner) -> tuple[int, float]:
    return state.visits.clock[EPOCH], mean_width(state.rows, state.rates.shape)


@kernel
def look_at_fpop(state: FPOPState) -> tuple[int, float]:
    return state.visits.clock[EPOCH], 0.0


@kernel
def look_at_ucrl2(state: UCRL2State) -> tuple[int, float]:
    return state.clock[0], 0.0


@kernel
def see_nothing(state: Any) -> tuple[int, float]:
    return 0, 0.0


LOOKS = {Learner: look_at_mirror, FPOPState: look_at_fpop, UCRL2State: look_at_ucrl2}
