"""Learners whose state is a NamedTuple of arrays and whose update is a kernel.

A learner made this way is its docstring, its parameters and its initial state: playing, saving and
the compiled loop come from here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from advmdp.errors import InvalidInput, UncertifiedStep
from advmdp.kernels.accounting.episode import play_slice
from advmdp.kernels.learners import interface
from advmdp.kernels.model.trajectory import flatten_walk
from advmdp.kernels.runtime.random_numbers import LEARNER, uniform_pair
from advmdp.kernels.runtime.storage import Storage, leaves
from advmdp.layout import Floats, Layout, Table
from advmdp.layout.actions import merge_rows, spread_path
from advmdp.learners.base import Compiled, CompiledLoop, DeclaresFeedback, HasLayout, Resumable
from advmdp.learners.contract_checks import horizon_of, takes_any_losses
from advmdp.learners.feedback import (
    FlatEpisode,
    arrays_of_walk,
    check_aggregate,
    check_full_information,
    check_trajectory,
)
from advmdp.learners.own_program import OwnProgram
from advmdp.learners.saving.first_version import is_first_version, renamed
from advmdp.learners.saving.missing_parts import completed
from advmdp.learners.saving.saveable import Saveable, Saved
from advmdp.learners.saving.state_invariants import check_state
from advmdp.one_thread import OneThread

NO_LOSSES = np.zeros(0)
ZERO = np.zeros(())  # an array already: a number takes NumPy as long as the maxima themselves
IN_PLACE = (0x696E, 0x706C616365)  # the key of draws among rows that stand for one action


class UpdateProgram(OwnProgram):
    """One whole update."""

    kernel = staticmethod(interface.update)


class WalkProgram(OwnProgram):
    """The check of a trajectory."""

    kernel = staticmethod(flatten_walk)


def policy_vectors(learner: Any) -> Callable[[], Floats] | None:
    """``policy()`` without its table, where it is that of a built-in learner; else None."""
    asked = learner.policy
    if getattr(asked, "__func__", None) is not CompiledLearner.policy:
        return None
    vectors: Callable[[], Floats] = asked.__self__.policy_vector
    return vectors


def lasting_arrays(state: Any) -> Saved:
    """The arrays that last from episode to episode, by their dotted names; live, not copies."""
    return {
        name: value
        for name, value, storage in leaves(state)
        if isinstance(value, np.ndarray) and storage in (Storage.LASTING, None)
    }


def forget_scratch(state: Any) -> None:
    """Make everything that does not last NaN: it belongs to the episodes before."""
    for _, array, storage in leaves(state):
        if storage in (Storage.SCRATCH, Storage.PRIVATE) and array.dtype == np.float64:
            array[...] = np.nan


class CompiledLearner(Saveable, HasLayout, DeclaresFeedback, Compiled, Resumable):
    """What all built-in learners share.

    A learner serves one thread at a time: ``policy``, ``update``, ``state``, ``restore`` and
    ``play`` raise ``InvalidInput`` while another thread is inside, and change nothing.
    """

    feedback: ClassVar[Literal["bandit", "full", "aggregate"]]  # type: ignore[misc]

    def __init__(self, layout: Layout, state: Any) -> None:
        self.layout = layout
        self._graph = layout.graph()
        self._state = state
        self._one_thread = OneThread("learner")
        self._update_program, self._walk_program = UpdateProgram(), WalkProgram()

    # ------------------------------------------------------------------ the contract

    def policy(self) -> Table:
        """The policy of the coming episode, a pair table."""
        return self.layout.pairs(self.policy_vector())

    def policy_vector(self) -> Floats:
        """The same as a vector over rows: what the loops of the package ask for."""
        with self._one_thread:
            flat: Floats = np.maximum(interface.current_policy(self._state).array, ZERO)
        return merge_rows(self.layout, flat)

    def update(self, feedback: Any) -> None:
        """Learn from one episode played with ``policy()``."""
        episode, losses = self._checked(feedback)
        self._learn(self._spread(episode), losses)

    def _checked(self, feedback: Any) -> tuple[FlatEpisode, tuple[Floats, Floats]]:
        """The episode in flat numbers; losses of the path, and of all rows if they are seen."""
        if self.feedback == "full":
            any_losses = takes_any_losses(self)
            episode = check_full_information(self.layout, feedback, any_losses=any_losses)
            return episode, (episode.losses[episode.path], episode.losses)
        if self.feedback == "aggregate":
            episode = check_aggregate(self.layout, feedback)
        else:
            walk = arrays_of_walk(self.layout, feedback)
            if walk is None or not self._walk_program(self._graph, *walk):
                episode = check_trajectory(self.layout, feedback)  # which says what is wrong
            else:
                episode = FlatEpisode(walk.flat_states, walk.path, walk.losses)
        return episode, (episode.losses, NO_LOSSES)

    def _spread(self, episode: FlatEpisode, policy: Floats | None = None) -> FlatEpisode:
        """The episode on rows of the kernels, where actions have several (``layout.actions``).

        ``policy`` is that of the episode, by default the present one.  The draws depend on the
        number of the episode only, so that a learner that was saved goes on with the same bits.
        """
        if self.layout.stands_for is None:
            return episode
        number = getattr(self, "episodes", 0)
        draws = [uniform_pair(*IN_PLACE, LEARNER, number, k)[0] for k in range(len(episode.path))]
        policy = interface.current_policy(self._state).array if policy is None else policy
        path = spread_path(self.layout, episode.path, policy, np.array(draws))
        return episode._replace(path=path)

    def _learn(self, episode: FlatEpisode, losses: tuple[Floats, Floats]) -> None:
        path = (episode.states, episode.path)
        with self._one_thread:
            if not self._update_program(self._graph, self._state, *path, *losses):
                self._finish(*path)

    # ------------------------------------------------------------------ saving

    def state(self) -> Saved:
        """A copy of everything the future depends on, as plain arrays."""
        with self._one_thread:
            return {name: array.copy() for name, array in lasting_arrays(self._state).items()}

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what ``state()`` returned, on a learner made with the same parameters.

        What earlier versions did not keep may be missing (``saving/missing_parts``).
        """
        mine = lasting_arrays(self._state)
        if is_first_version(saved):
            saved = renamed(saved, mine)
        saved = completed(saved, mine, self.layout)
        if set(saved) != set(mine):
            raise InvalidInput(
                f"restore: the saved state has other parts ({len(saved)}, expected {len(mine)}); "
                "restore into a learner of the same class"
            )
        for name, array in mine.items():
            if saved[name].shape != array.shape or saved[name].dtype != array.dtype:
                raise InvalidInput(
                    f"restore: {name} has shape {saved[name].shape}, expected {array.shape}; "
                    "restore into a learner with the same layout and parameters"
                )
        check_state(self._state, saved, self.layout, horizon_of(self))
        with self._one_thread:
            for name, array in mine.items():
                array[...] = saved[name]
            forget_scratch(self._state)

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

    # ------------------------------------------------------------------ compiled code

    def compiled_loop(self) -> CompiledLoop:
        """For ``play``: whole episodes without leaving compiled code."""
        return CompiledLoop(play_slice, (self._state, None), self._finish)

    def _finish(self, states: NDArray[np.int64], path: NDArray[np.int64]) -> None:
        """Complete a pending step on the safe path, or take the episode back."""
        if interface.finish_safely(self._graph, self._state):
            return
        interface.undo_update(self._graph, self._state, states, path)
        raise UncertifiedStep(
            f"episode {getattr(self, 'episodes', 0) + 1}: no certified step "
            f"({self._why_uncertified()}); the episode was taken back: "
            "lower eta or raise gamma or log_scale"
        )

    def _why_uncertified(self) -> str:
        return "even on the safe path"


class BanditLearner(CompiledLearner):
    """Sees the losses of the visited pairs, or less."""

    feedback: ClassVar[Literal["bandit", "full", "aggregate"]] = "bandit"


class FullInformationLearner(CompiledLearner):
    """Sees the losses of all pairs after each episode."""

    feedback = "full"


def checked_class(make: Any) -> type[CompiledLearner]:
    """The class of learners of which several are made: one for each round, or for each context."""
    if not isinstance(make, type):
        raise InvalidInput("make: give the class of a learner, and its parameters by keyword")
    if not issubclass(make, CompiledLearner):
        raise InvalidInput(
            f"make: {make.__name__} is none of the package's learners, whose counts are handed on; "
            "give one of these, such as am.UOBREPS"
        )
    return make
