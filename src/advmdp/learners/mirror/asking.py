"""Learners that may ask a function for their hints, and keep the history that it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from numpy.typing import NDArray

from advmdp.errors import InvalidInput
from advmdp.kernels.model.visits import EPISODES
from advmdp.learners.base import CompiledLoop
from advmdp.learners.compiled import CompiledLearner
from advmdp.learners.mirror.hints import HISTORY, AskedHint
from advmdp.learners.saving.saveable import Saved


class AskingLearner(CompiledLearner):
    """Plays in Python if its hints are a function's, and has the history in its state."""

    _asked: AskedHint | None
    _episode_clock: ClassVar[tuple[str, int]] = ("visits.clock", EPISODES)
    """The array of the state, and the place in it, that counts episodes."""

    @property
    def needs_python(self) -> bool:
        """Whether its hints are a function's, which compiled episodes cannot call."""
        return self._asked is not None

    def state(self) -> Saved:
        """A copy of everything the future depends on, as plain arrays."""
        return super().state() | ({} if self._asked is None else self._asked.state())

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what ``state()`` returned, on a learner made with the same parameters."""
        if self._asked is None:
            super().restore(saved)
            return
        name, place = self._episode_clock
        clock = saved.get(name)
        episodes = int(clock[place]) if clock is not None and clock.ndim == 1 else -1
        asked = self._asked.restored(saved, episodes)
        super().restore({part: array for part, array in saved.items() if part not in HISTORY})
        self._asked = asked

    def compiled_loop(self) -> CompiledLoop:
        """For ``play``: whole episodes without leaving compiled code."""
        if self.needs_python:
            raise InvalidInput("play: hints of a function need compiled=False")
        return super().compiled_loop()
