"""Learners whose state is a NamedTuple of arrays and whose update is a kernel.

A learner made this way is its docstring, its parameters and its first state: playing, saving and
the compiled loop come from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from advmdp.errors import InvalidInput
from advmdp.kernels.accounting.episode import play_bandit, play_full
from advmdp.kernels.learners.registry import BANDIT_UPDATES, FULL_UPDATES
from advmdp.kernels.model.visits import Visits
from advmdp.layout import Layout, Table
from advmdp.learners.base import (
    CompiledLoop,
    FullInformation,
    Trajectory,
    check_full_information,
    check_trajectory,
)
from advmdp.learners.kept import Kept, Saved

OLD_VISITS = tuple(f"visits.{name}" for name in Visits._fields if name.startswith("old_"))
"""What counts were before the last episode, in case it is taken back: nothing that lasts."""


def arrays_of(state: Any, prefix: str = "") -> Saved:
    """The arrays of a (nested) NamedTuple by their dotted names; live, not copies."""
    found: Saved = {}
    for name, value in zip(state._fields, state, strict=True):
        if isinstance(value, np.ndarray):
            found[prefix + name] = value
        elif hasattr(value, "_fields"):
            found |= arrays_of(value, f"{prefix}{name}.")
    return found


class CompiledLearner(Kept):
    """What all built-in learners share."""

    feedback: ClassVar[Literal["bandit", "full"]]
    scratch: ClassVar[tuple[str, ...]] = ()
    """Dotted names of arrays, or of parts, that carry nothing from one episode to the next."""

    def __init__(self, layout: Layout, state: Any) -> None:
        self.layout = layout
        self._graph = layout.graph()
        self._state = state

    def policy(self) -> Table:
        """The policy of the coming episode, a pair table."""
        return self.layout.pairs(np.maximum(self._state.policy, 0.0))

    def state(self) -> Saved:
        """A copy of everything the future depends on, as plain arrays."""
        return {
            name: array.copy()
            for name, array in arrays_of(self._state).items()
            if not self._is_scratch(name)
        }

    def _is_scratch(self, name: str) -> bool:
        return any(name == part or name.startswith(f"{part}.") for part in self.scratch)

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what ``state()`` returned, on a learner made with the same parameters."""
        mine = arrays_of(self._state)
        wanted = {name for name in mine if not self._is_scratch(name)}
        needless = set(saved) & (mine.keys() - wanted)  # earlier versions kept more
        if set(saved) - needless != wanted:
            raise InvalidInput(
                f"restore: the saved state has other parts ({len(saved)}, expected {len(wanted)}); "
                "restore into a learner of the same class"
            )
        for name in wanted:
            if saved[name].shape != mine[name].shape or saved[name].dtype != mine[name].dtype:
                raise InvalidInput(
                    f"restore: {name} has shape {saved[name].shape}, expected {mine[name].shape}; "
                    "restore into a learner with the same layout and parameters"
                )
        for name in wanted:
            mine[name][...] = saved[name]

    def adopt_counts(self, earlier: CompiledLearner) -> None:
        """Begin with the visits that an earlier learner of the same class has counted.

        How often a pair led where stays true under any horizon; what was made of the losses belongs
        to the rates it was made with, and is left behind.  Learners that count nothing keep
        nothing: those that know the transition, and those without a model of it.
        """
        if type(earlier) is not type(self) or earlier.layout != self.layout:
            raise InvalidInput(
                "adopt_counts: the earlier learner has another class or layout; "
                "counts can be taken over between equals only"
            )
        if getattr(self, "episodes", 0) > 0:
            raise InvalidInput("adopt_counts: this learner has played; adopt before it does")
        self._adopt(earlier._state)

    def _adopt(self, earlier: Any) -> None:
        """Nothing to keep, unless a learner says otherwise."""


class BanditLearner(CompiledLearner):
    """Sees the losses of the visited pairs."""

    feedback = "bandit"

    def update(self, trajectory: Trajectory) -> None:
        """Learn from one episode played with ``policy()``."""
        steps = check_trajectory(self.layout, trajectory)
        BANDIT_UPDATES[type(self._state)](self._graph, self._state, *steps)

    def compiled_loop(self) -> CompiledLoop:
        """For ``play``: whole episodes without leaving compiled code."""
        return CompiledLoop(play_bandit, (self._state,), _nothing_pending)


class FullInformationLearner(CompiledLearner):
    """Sees the losses of all pairs after each episode."""

    feedback = "full"

    def update(self, feedback: FullInformation) -> None:
        """Learn from one episode played with ``policy()``."""
        steps = check_full_information(self.layout, feedback)
        FULL_UPDATES[type(self._state)](self._graph, self._state, *steps)

    def compiled_loop(self) -> CompiledLoop:
        """For ``play``: whole episodes without leaving compiled code."""
        return CompiledLoop(play_full, (self._state,), _nothing_pending)


def _nothing_pending(states: NDArray[np.int64], path: NDArray[np.int64]) -> None:
    """These loops always finish."""
