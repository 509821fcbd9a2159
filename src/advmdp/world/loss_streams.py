"""The interface of loss processes, and the stream that all built-in processes share.

A *process* is immutable configuration: it can be stored, reused and shared between runs.  A
*stream* is one realisation of it, for a layout and a seed, and holds all mutable state.  The order
of calls in episode t is ``table(t)``, then the trajectory is sampled, then
``observe(rows, losses)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.arguments import is_sequence, with_methods
from advmdp.errors import InvalidInput
from advmdp.kernels.model.losses import LossProgram, fill_losses, observe_path
from advmdp.layout import Floats, Layout
from advmdp.seeds import seed_words

Integers = NDArray[np.int64]
State = dict[str, NDArray[Any]]


class LossStream(Protocol):
    """One realisation of a loss process."""

    @property
    def program(self) -> LossProgram | None:
        """The same losses for the compiled loop; None if they are computed in Python only."""

    @property
    def words(self) -> tuple[int, int]:
        """The seed words with which the program is run."""

    def check_length(self, n_episodes: int) -> None:
        """Reject runs that are longer than the process has losses for."""

    def table(self, episode: int) -> Floats:
        """The losses of all rows in ``episode`` (0, 1, ...), as a new flat vector."""

    def observe(self, rows: Integers, losses: Floats) -> None:
        """Observe the rows and the losses of the episode that has just ended."""

    def state(self) -> State:
        """A copy of the mutable state."""

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what ``state`` returned."""


class LossProcess(Protocol):
    """Immutable configuration of a loss process."""

    def begin(self, layout: Layout, seed: int | np.random.SeedSequence) -> LossStream:
        """Check every table against the layout and return a new stream."""


def checked_process(value: Any, name: str = "losses") -> Any:
    """``value``, which must be a loss process; what is often given instead is answered with the
    remedy.
    """
    return with_methods(value, name, "a loss process", "begin", remedy=_how_to_wrap)


def _how_to_wrap(value: Any) -> str:
    if isinstance(value, str):
        return "names are for specs and commands: take one of am.losses"
    if isinstance(value, type):
        return f"make one: {value.__name__}(...)"
    if callable(value):
        return "wrap a function: am.losses.Custom(function)"
    if is_sequence(value):
        return "wrap tables: am.losses.Replayed(tables), or am.losses.Stochastic(means)"
    return ""


class ProgramStream:
    """A stream that runs a ``LossProgram``, for the Python loop and the compiled one alike."""

    def __init__(
        self,
        program: LossProgram,
        seed: int | np.random.SeedSequence,
        length: int | None = None,
        *,
        any_losses: bool = False,
    ) -> None:
        self.program = program
        self.any_losses = any_losses
        """Whether losses may lie outside [0, 1]; a stream without the attribute keeps to it."""
        self.words = seed_words(seed)
        self._length = length

    def check_length(self, n_episodes: int) -> None:
        if self._length is not None and n_episodes > self._length:
            raise InvalidInput(
                f"losses: {self._length} recorded episodes cannot serve {n_episodes}; "
                "play fewer or set repeat=True"
            )

    def table(self, episode: int) -> Floats:
        self.check_length(episode + 1)
        out = np.empty(self.program.tables.shape[1])
        fill_losses(self.program, *self.words, episode, out)
        return out

    def observe(self, rows: Integers, losses: Floats) -> None:
        observe_path(self.program, rows)

    def state(self) -> State:
        return {"pressure": self.program.pressure.copy()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        if "pressure" not in state:
            raise InvalidInput("losses: the saved state has no pressure; restore the same process")
        pressure = np.asarray(state["pressure"])
        if pressure.dtype != np.float64 or pressure.shape != self.program.pressure.shape:
            raise InvalidInput(
                f"losses: the saved pressure is {pressure.dtype} of shape {pressure.shape}, "
                f"expected float64 of {self.program.pressure.shape}; restore into the same layout"
            )
        if not np.isfinite(pressure).all():
            raise InvalidInput("losses: the saved pressure is not finite; restore it from a copy")
        self.program.pressure[:] = pressure


def loss_program(
    layout: Layout,
    kind: int,
    tables: Floats,
    *,
    period: int = 1,
    turn: int = 0,
    noisy: bool = False,
    marks: Integers | None = None,
    strength: float = 0.0,
    memory: float = 0.0,
) -> LossProgram:
    """A program with new state; arguments that a kind does not use keep their defaults.

    The types are the same for every process, so that the kernels are compiled only once.
    """
    return LossProgram(
        kind=kind,
        tables=np.ascontiguousarray(tables, dtype=np.float64),
        period=period,
        turn=turn,
        noisy=int(noisy),
        marks=np.zeros(0, dtype=np.int64) if marks is None else marks,
        strength=strength,
        memory=memory,
        pressure=np.zeros(tables.shape[1]),
        stands_for=np.zeros(0, dtype=np.int64) if layout.stands_for is None else layout.stands_for,
    )
