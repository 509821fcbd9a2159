"""What a learner of the mirror-descent family does with hints beside its step."""

from __future__ import annotations

import numpy as np

from advmdp.errors import InvalidInput
from advmdp.kernels.learners.mirror.hint import NO_HINT
from advmdp.kernels.learners.mirror.mirror_descent import FULL, MirrorState
from advmdp.kernels.steps.interface import replace_hint
from advmdp.layout import Table
from advmdp.learners.mirror.asking import AskingLearner
from advmdp.learners.occupancy_learner import OccupancyLearner


class HintedLearner(AskingLearner, OccupancyLearner):
    """Plays its first episode with a hint, and shows it."""

    _state: MirrorState

    def hint_table(self) -> Table:
        """m_t of the coming episode, a pair table: the losses that its policy expects."""
        hint = self._state.hint
        heard = np.zeros(self.layout.n_rows) if hint.kind == NO_HINT else hint.recent.mean.copy()
        return self.layout.pairs(heard)

    def _hear_first(self) -> None:
        """Turn the first iterate to the hint of the first episode."""
        state, hint = self._state, self._state.hint
        if hint.kind == NO_HINT:
            return
        if type(state.step) not in replace_hint.table:
            raise InvalidInput("this learner's step takes none; leave it out", field="hint")
        if hint.coming.any():
            replace_hint(self._graph, state.step, hint.recent.mean, hint.coming, state.settings.eta)
            hint.recent.mean[:] = hint.coming
            if state.settings.estimator != FULL:
                state.baseline.mean[:] = hint.coming
            self._balance_initial_measure()

    def _balance_initial_measure(self) -> None:
        raise NotImplementedError
