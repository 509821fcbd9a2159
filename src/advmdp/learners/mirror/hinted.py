"""What a learner of the mirror-descent family does with hints beside its step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.errors import InvalidInput
from advmdp.kernels.learners.mirror.hint import NO_HINT
from advmdp.kernels.learners.mirror.mirror_descent import FULL, MirrorState
from advmdp.kernels.model.visits import EPISODES
from advmdp.kernels.steps.interface import replace_hint
from advmdp.layout import Table
from advmdp.learners.mirror.hints import HISTORY, AskedHint
from advmdp.learners.occupancy_learner import OccupancyLearner
from advmdp.learners.saving.saveable import Saved


class HintedLearner(OccupancyLearner):
    """Plays its first episode with a hint, shows it, and keeps the history of a function."""

    _state: MirrorState
    _asked: AskedHint | None

    @property
    def needs_python(self) -> bool:
        """Whether its hints are a function's, which compiled episodes cannot call."""
        return self._asked is not None

    def hint_table(self) -> Table:
        """m_t of the coming episode, a pair table: the losses that its policy expects."""
        hint = self._state.hint
        heard = np.zeros(self.layout.n_rows) if hint.kind == NO_HINT else hint.recent.mean.copy()
        return self.layout.pairs(heard)

    def state(self) -> Saved:
        """A copy of everything the future depends on, as plain arrays."""
        return super().state() | ({} if self._asked is None else self._asked.state())

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what ``state()`` returned, on a learner made with the same parameters."""
        if self._asked is None:
            super().restore(saved)
            return
        clock = saved.get("visits.clock", self._state.visits.clock)
        asked = self._asked.restored(saved, int(clock[EPISODES]))
        super().restore({name: array for name, array in saved.items() if name not in HISTORY})
        self._asked = asked

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
