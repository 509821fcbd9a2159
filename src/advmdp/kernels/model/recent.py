"""The losses of the last n episodes in a ring, and their mean."""

from __future__ import annotations

from typing import NamedTuple

from ..runtime.storage import Lasting
from ..runtime.targets import kernel
from ..runtime.threads import barrier, shared
from .graph import Floats


class Recent(NamedTuple):
    """A ring of loss tables; without rows nothing is remembered, and the mean is left alone."""

    tables: Lasting[Floats]  # (n, R)
    mean: Lasting[Floats]  # (R,)


@kernel
def remember(recent: Recent, episode: int, losses: Floats) -> None:
    """Put the losses of ``episode`` = 0, 1, ... in the ring, and average what it holds.

    The mean is added up anew, in the order of the ring: a sum that is corrected by what comes and
    what leaves would drift.
    """
    size = recent.tables.shape[0]
    if size == 0:
        return
    for r in shared(0, losses.shape[0]):
        recent.tables[episode % size, r] = losses[r]
    filled = min(episode + 1, size)
    for r in shared(0, losses.shape[0]):
        recent.mean[r] = 0.0
    for i in range(filled):
        for r in shared(0, losses.shape[0]):
            recent.mean[r] += recent.tables[i, r]
    for r in shared(0, losses.shape[0]):
        recent.mean[r] /= filled
    barrier()


@kernel
def keep_recent(recent: Recent, episode: int, kept: Recent) -> None:
    """Copy what ``remember`` overwrites in ``episode``: one table, and the mean."""
    size = recent.tables.shape[0]
    for r in shared(0, recent.mean.shape[0]):
        kept.mean[r] = recent.mean[r]
        if size > 0:
            kept.tables[0, r] = recent.tables[episode % size, r]
    barrier()


@kernel
def give_back_recent(kept: Recent, episode: int, recent: Recent) -> None:
    """Take back ``remember``, from what ``keep_recent`` has copied."""
    size = recent.tables.shape[0]
    for r in range(recent.mean.shape[0]):
        recent.mean[r] = kept.mean[r]
        if size > 0:
            recent.tables[episode % size, r] = kept.tables[0, r]
