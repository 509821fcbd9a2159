"""An unknown horizon: the same learner for ever longer horizons, one after the other."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.numbers import whole_number
from advmdp.errors import InvalidInput
from advmdp.layout import Layout, Table
from advmdp.learners.base import CompiledLoop
from advmdp.learners.compiled import CompiledLearner, checked_class
from advmdp.learners.episode_record import EpisodeRecord
from advmdp.learners.pair_knowledge import PairKnowledge
from advmdp.learners.saving.saveable import Saveable, Saved
from advmdp.learners.tuning import MAX_EPISODES, checked_delta, checked_horizon, checked_layout
from advmdp.one_thread import OneThread
from advmdp.seeds import seed_sequence


class Doubling(Saveable):
    """Any learner with a horizon, for a number of episodes that nobody knows.

    Round i = 1, 2, ... plays ``first`` 2^(i-1) episodes with a new learner that is tuned for just
    that many.  The counts of transitions go from round to round (``adopt_counts``), because the
    transition stays what it is; the iterate starts again, because its rates were made for a horizon
    that is over.  Learners that count nothing take nothing along.

    Parameters
    ----------
    make
        The class of the learner; it must have a parameter ``n_episodes``.
    layout
        Layers, actions and declared successors [X, A].
    first
        Episodes of the first round; by default |X| |A|, below which there is little to learn.
    **parameters
        All other parameters of the learner, ``transitions`` included where it knows them.

    ``delta`` is for all rounds together; round i gets delta / (2 i (i + 1)), and the sum of
    2 delta_i is delta.  The factor 2: with the counts kept, a pair can have been visited almost
    2 T_i times, and the union bound behind the sets runs over the numbers of visits: twice as many
    as in a single run.  A ``seed`` is spawned anew for every round.

    Like every learner, it serves one thread at a time.

    Guarantee: where a learner has R_T <= c sqrt(T), the rounds together have, from the end of the
    first one on, at most c sum_i sqrt(T_i) < sqrt(2) / (sqrt(2) - 1) c sqrt(T) < 3.42 c sqrt(T), up
    to the logarithm of the smaller delta_i: the regret against one policy is at most the sum of
    the rounds' regrets.  What the unknown transition costs, the term ERROR of the regret, is paid
    once and not in every round.

    >>> from advmdp.learners.mirror.uob_reps import UOBREPS
    >>> from advmdp.learners.feedback import Trajectory
    >>> learner = Doubling(UOBREPS, Layout(layer_sizes=(1, 2, 1), n_actions=2), first=2)
    >>> for _ in range(7):
    ...     learner.update(Trajectory(states=[0, 1, 0], actions=[0, 1], losses=[1.0, 0.0]))
    >>> _ = learner.policy()
    >>> learner.episodes, learner.learner.n_episodes, learner.learner.visits[0]
    (7, 8, array([[7., 0.]]))

    Reference: the doubling trick; Cesa-Bianchi and Lugosi, "Prediction, Learning, and Games",
    2006, section 2.3.
    """

    _learner: Any

    def __init__(
        self,
        make: type[CompiledLearner],
        layout: Layout,
        first: int | None = None,
        **parameters: Any,
    ) -> None:
        self._one_thread = OneThread("learner")
        self._parameters = {**_defaults(make), **parameters}
        self._make, self.layout = make, checked_layout(layout)
        if "n_episodes" in parameters:
            raise InvalidInput("n_episodes: Doubling chooses the horizons; give the first as first")
        if self._parameters.get("delta") is not None:
            self._parameters["delta"] = checked_delta(self._parameters["delta"])
        default = self.layout.n_states * self.layout.n_actions
        self.first = checked_horizon(default if first is None else whole_number(first, "first"))
        self._enter(self._new(1), 1, played=0, before=0)

    # ------------------------------------------------------------------ the contract

    @property
    def feedback(self) -> Literal["bandit", "full", "aggregate"]:
        """What the learner sees."""
        return self._make.feedback

    def policy(self) -> Table:
        """The policy of the coming episode, a pair table."""
        with self._one_thread:
            policy: Table = self._running().policy()
        return policy

    def update(self, feedback: Any, record: EpisodeRecord | None = None) -> None:
        """Learn from one episode played with ``policy()``, or with the policy of a record.

        A record of an earlier round is as good as one of this: it holds what the episode's own
        policy and set say, and the layout is the same.
        """
        with self._one_thread:
            running = self._running()
            if record is None:
                running.update(feedback)
            else:
                running.update(feedback, record)
            self._played += 1

    def _issue(self) -> EpisodeRecord:
        """``issue()`` of the learner of the coming episode, numbered over all rounds."""
        with self._one_thread:
            record: EpisodeRecord = self._running().issue()
        return replace(record, number=self.episodes + 1)

    # ------------------------------------------------------------------ what can be looked at

    @property
    def episodes(self) -> int:
        """Episodes learnt from so far, in all rounds."""
        return self._before + self._played

    @property
    def round(self) -> int:
        """The round of the last episode: 1, 2, ..."""
        return self._round

    @property
    def learner(self) -> Any:
        """The learner of this round."""
        return self._learner

    def __getattr__(self, name: str) -> Any:
        """What the accounting of ``play`` looks at, if the learner has it."""
        if name in (
            "kernel_state",
            "moved",
            "iterate_loss",
            "account_for_last",
            "mean_width",
            "needs_python",
        ):
            return getattr(self._learner, name)
        if name == "issue" and hasattr(self._make, name):
            return self._issue
        raise AttributeError(f"Doubling has no {name!r}; see the current learner, .learner")

    def pair_knowledge(self) -> PairKnowledge:
        """What it holds of every pair."""
        known: PairKnowledge = self._running().pair_knowledge()
        return known

    # ------------------------------------------------------------------ rounds

    def _running(self) -> Any:
        """The learner of the coming episode; a round begins when its first policy is needed.

        Not earlier: until then everything about the last episode can be looked at.
        """
        if self._played == self._horizon(self._round):
            following = self._new(self._round + 1)
            following.adopt_counts(self._learner)
            self._enter(following, self._round + 1, played=0, before=self.episodes)
        return self._learner

    def _enter(self, learner: CompiledLearner, number: int, *, played: int, before: int) -> None:
        self._learner = learner
        self._round, self._played, self._before = number, played, before

    def _horizon(self, number: int) -> int:
        return int(self.first * 2 ** (number - 1))

    def _new(self, number: int) -> CompiledLearner:
        """The learner of a round, before it has seen anything."""
        horizon = self._horizon(number)
        if 2 * horizon >= MAX_EPISODES:
            raise InvalidInput(
                f"Doubling: round {number} would count up to {2 * horizon:,} episodes, and counts "
                "have 32 bits; start anew"
            )
        parameters = dict(self._parameters)
        if parameters.get("delta") is not None:
            parameters["delta"] /= 2 * number * (number + 1)
        if "seed" in parameters:
            root = seed_sequence(parameters["seed"])
            key = (*root.spawn_key, number)
            parameters["seed"] = np.random.SeedSequence(root.entropy, spawn_key=key)
        return self._make(layout=self.layout, n_episodes=horizon, **parameters)  # type: ignore[call-arg]

    # ------------------------------------------------------------------ keeping, and speed

    def state(self) -> Saved:
        """A copy of everything the future depends on, as plain arrays."""
        clock = np.array([self._round, self._played, self._before])
        return {"clock": clock} | {
            f"learner.{name}": array for name, array in self._learner.state().items()
        }

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what ``state()`` returned, on a learner made with the same parameters."""
        clock = saved.get("clock", np.zeros(0))
        if clock.shape != (3,) or clock.dtype.kind != "i":
            raise InvalidInput("restore: no clock of rounds; restore into a learner of this class")
        number, played, before = (int(value) for value in clock)
        if not self._is_possible(number, played, before):
            raise InvalidInput(
                f"restore: clock has round {number} with {played} episodes after {before}, which "
                f"does not follow from first={self.first}; restore it from a copy"
            )
        learner = self._new(number)
        inner = [name for name in saved if name.startswith("learner.")]
        learner.restore({name.removeprefix("learner."): saved[name] for name in inner})
        # adopted visits count as episodes where nothing else tells how many were played
        if getattr(learner, "episodes", played) not in (played, before + played):
            raise InvalidInput(
                f"restore: clock has {played} episodes of this round, its learner has "
                f"{learner.episodes}; restore it from a copy"  # type: ignore[attr-defined]
            )
        self._enter(learner, number, played=played, before=before)

    def _is_possible(self, number: int, played: int, before: int) -> bool:
        """Whether a clock can be reached: the rounds before have all been played to their end."""
        if not 1 <= number <= MAX_EPISODES.bit_length():
            return False
        return (
            0 <= played <= self._horizon(number)
            and before == self._horizon(number) - self.first
            and self._horizon(number) < MAX_EPISODES
        )

    def compiled_loop(self) -> CompiledLoop:
        """For ``play``: compiled episodes up to the end of a round, then those of the next."""
        return CompiledLoop(self._compiled_slices, (), self._finish)

    def _compiled_slices(self, *world: Any) -> int:
        *shared, start, stop = world
        while start < stop:
            loop = self._running().compiled_loop()
            end = min(stop, start + self._horizon(self._round) - self._played)
            reached = int(loop.kernel(*shared, start, end, *loop.state))
            self._played += reached - start
            if reached < end:
                return reached
            start = end
        return int(stop)

    def _finish(self, states: NDArray[np.int64], path: NDArray[np.int64]) -> None:
        self._learner.compiled_loop().finish(states, path)
        self._played += 1


def _defaults(make: Any) -> dict[str, Any]:
    """The learner's own delta and seed, which every round gets its share of."""
    make = checked_class(make)
    parameters = inspect.signature(make).parameters
    if "n_episodes" not in parameters:
        raise InvalidInput(
            f"make: {make.__name__} has no horizon and needs no doubling; play it as it is"
        )
    shared = {name: parameters[name] for name in ("delta", "seed") if name in parameters}
    return {name: parameter.default for name, parameter in shared.items()}
