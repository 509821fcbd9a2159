"""Losses in any unit, moved into [0, 1]: what ``play(losses_outside="clip")`` plays.

The losses of the run are the clipped ones, for the learner, the account and the best policy alike:
its regret is the exact regret in them, and says nothing about what lay outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.errors import InvalidInput
from advmdp.kernels.model.losses import LossProgram
from advmdp.layout import Floats
from advmdp.world.loss_streams import Integers, LossStream, State


class ClippedStream:
    """The losses of another stream, moved into [0, 1]; those that lay outside are counted."""

    any_losses = False

    def __init__(self, inner: LossStream) -> None:
        self._inner = inner
        self.words = inner.words
        self.program: LossProgram | None = None
        self._outside = 0  # seen by table()
        self._in_tables = np.zeros(1, dtype=np.int64)
        if inner.program is not None:  # a table for each episode in turn, without coins
            tables = inner.program.tables
            self._in_tables = np.count_nonzero((tables < 0.0) | (tables > 1.0), axis=1)
            self.program = inner.program._replace(tables=np.clip(tables, 0.0, 1.0))

    def clipped_in(self, n_episodes: int) -> int:
        """How many losses of the first episodes were outside, each pair and episode counted."""
        if self.program is None:
            return self._outside
        rounds, rest = divmod(n_episodes, len(self._in_tables))
        return int(rounds * self._in_tables.sum() + self._in_tables[:rest].sum())

    def check_length(self, n_episodes: int) -> None:
        self._inner.check_length(n_episodes)

    def table(self, episode: int) -> Floats:
        given = self._inner.table(episode)
        inside = np.clip(given, 0.0, 1.0)
        self._outside += int(np.count_nonzero(inside != given))
        return inside

    def observe(self, rows: Integers, losses: Floats) -> None:
        self._inner.observe(rows, losses)

    def state(self) -> State:
        return {**self._inner.state(), "outside": np.array(self._outside)}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        outside = state.get("outside", np.zeros(1))
        if outside.shape != () or outside.dtype.kind != "i" or outside < 0:
            raise InvalidInput("losses: the saved state does not count what was clipped")
        self._inner.restore({name: array for name, array in state.items() if name != "outside"})
        self._outside = int(outside)


def stream_leaves_range(stream: LossStream) -> bool:
    """Whether its losses may be outside [0, 1]."""
    return bool(getattr(stream, "any_losses", False))


def with_range(stream: LossStream, outside: str) -> LossStream:
    """The stream, clipped if it is to be and if it may leave [0, 1] at all."""
    clips = outside == "clip" and stream_leaves_range(stream)
    return ClippedStream(stream) if clips else stream
