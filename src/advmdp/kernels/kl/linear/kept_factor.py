"""The factors of the last Hessian of an episode, kept for the first Newton step of the next one.

A projection starts at beta = 0, where only the losses of one episode tell the weights from a
solution.  The Hessian there is nearly the one that the last projection ended with, so that its
factors give a direction about as good as new ones would: a change of the Hessian by a part r of
itself leaves r of the residual, and what the first step leaves is of that order in any case.  Only
the steps after it form a Hessian of their own; over a known transition few do (``kept_inverse``).
A direction that is too long is not searched along: the blocks are then formed where it began
(``projection``).

What is kept decides about the last places of every later result, so it lasts.  It is written when a
solution is committed, and at no other time: an episode that is taken back leaves it as it was.
"""

from __future__ import annotations

from typing import NamedTuple

from ...linear.block_system import Blocks
from ...model.graph import Floats
from ...model.row_status import Marks
from ...runtime.storage import Lasting
from ...runtime.targets import FOR_CUDA, leaf


class KeptFactor(NamedTuple):
    """Empty where nothing is to be kept; several threads of a GPU keep nothing."""

    entries: Lasting[Floats]  # of the factored blocks
    is_there: Lasting[Marks]  # (1,) whether there are any yet, or (0,)


@leaf
def keep_factor(blocks: Blocks, kept: KeptFactor) -> None:
    """Keep what is in the blocks."""
    for e in range(kept.entries.shape[0]):
        kept.entries[e] = blocks.entries[e]
    for i in range(kept.is_there.shape[0]):
        kept.is_there[i] = 1


@leaf
def drop_factor(kept: KeptFactor) -> None:
    """The coming solution has nothing to do with the last one."""
    for i in range(kept.is_there.shape[0]):
        kept.is_there[i] = 0


@leaf
def has_factor(kept: KeptFactor) -> bool:
    """Whether anything was kept."""
    return not FOR_CUDA and kept.is_there.shape[0] > 0 and kept.is_there[0] > 0


@leaf
def recall_factor(kept: KeptFactor, blocks: Blocks) -> bool:
    """Put what was kept back into the blocks; False if there is nothing."""
    if not has_factor(kept):
        return False
    for e in range(kept.entries.shape[0]):
        blocks.entries[e] = kept.entries[e]
    return True
