"""Mirror descent that goes on with visits which another learner of the same world has counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from advmdp.errors import UncertifiedStep
from advmdp.kernels.learners.interface import solve_pending
from advmdp.kernels.model.visits import CHANGED
from advmdp.kernels.sets.confidence import adopt_counts
from advmdp.kernels.sets.interface import learns_from_counts
from advmdp.kernels.steps.interface import forget_everything


def catch_up(learner: Any, latest: Any) -> None:
    """The counts and the set of ``latest``, and the learner's own iterate projected onto that set.

    Where an action leads does not depend on the losses, so what others saw narrows the set; and for
    every q* in it, D(q* || q) of the projection is no larger than before.  Nothing is done where
    nothing was counted since, and nothing changes where the projection cannot be certified.
    """
    state, counted = learner._state, latest._state.visits
    mine = state.visits
    if not learns_from_counts(state.rows) or np.array_equal(mine.pairs, counted.pairs):
        return
    before = learner.state()
    with learner._one_thread:
        mine.marked[:] = 0
        mine.clock[CHANGED] = 0
        sets = (mine, state.rows, state.old_rows, counted)
        adopt_counts(learner._graph, *sets, state.settings.log_term)
        forget_everything(state.step)
        fits = any(solve_pending(learner._graph, state, in_logs) for in_logs in (None, True))
    if not fits:
        learner.restore(before)
        raise UncertifiedStep(
            "learner: no certified measure in the set of all visits; lower eta or raise gamma"
        )
