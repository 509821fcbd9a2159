"""The running account of a run, and the world that it is kept of."""

from __future__ import annotations

from typing import NamedTuple

from ..model.graph import Floats
from ..model.visits import Counts
from ..runtime.storage import Common, Lasting, Number, Scratch

# Places in ``Ledger.sums``: sums over t of <q_t, l_t>, realised loss, <q^_t, l_t>, <q^_t, l^_t>.
EXPECTED, REALISED, ITERATE, ESTIMATED = 0, 1, 2, 3
# Places in ``Ledger.counts``: those of a certificate, summed over episodes, and their number.
PROJECTIONS = 4
# Places in ``Ledger.worst``.
WORST_RESIDUAL, WORST_GAP = 0, 1


class World(NamedTuple):
    """What the learner may not see."""

    transitions: Common[Floats]  # (E,) P
    seed0: Number[int]
    seed1: Number[int]


class Ledger(NamedTuple):
    """Sums over the episodes so far, and the current episode."""

    sums: Lasting[Floats]  # (4,)
    total: Lasting[Floats]  # (R,) sum of l_t
    estimated: Lasting[Floats]  # (R,) sum of the estimates l^_t
    counts: Lasting[Counts]  # (5,)
    worst: Lasting[Floats]  # (2,)
    losses: Scratch[Floats]  # (R,) l_t
    mass: Scratch[Floats]  # (S,) q_t(x)
    flow: Scratch[Floats]  # (R,) of several threads
    states: Scratch[Counts]  # (L + 1,)
    path: Scratch[Counts]  # (L,)
    path_losses: Scratch[Floats]  # (L,)
