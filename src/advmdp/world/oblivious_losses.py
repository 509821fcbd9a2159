"""Oblivious loss processes: fixed in advance, independent of what the learner does."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from advmdp.checks.arguments import flag, is_sequence
from advmdp.checks.numbers import float_array, unit_number, whole_number
from advmdp.errors import InvalidInput
from advmdp.kernels.model.losses import CYCLE, DRIFT, MAJORITY, MARKED
from advmdp.layout import Layout
from advmdp.seeds import Seed, generator
from advmdp.world.checks import SAY_ANY, refuse_function, unit_pairs, unit_tables
from advmdp.world.loss_streams import ProgramStream, loss_program

MOST_CORRUPTED = 10**8  # episodes; their numbers are kept


def keep_copy(process: object, *names: str) -> None:
    """Copy the arrays of the caller, so that a process cannot be changed through them."""
    for name in names:
        try:
            settle(process, **{name: deepcopy(getattr(process, name))})
        except TypeError:  # what cannot be copied (a generator, a file) is not a table either
            raise InvalidInput(f"{name}: give tables as lists or arrays") from None


def settle(process: object, **checked: Any) -> None:
    """Put checked values in the place of what was given."""
    for name, value in checked.items():
        object.__setattr__(process, name, value)


@dataclass(frozen=True, eq=False)
class Stochastic:
    """Bernoulli losses with fixed means, independent for every pair and every episode.

    ``l_t(x, a) ~ Bernoulli(mean(x, a))``, independent over t, x and a.

    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> stream = Stochastic([[[0.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]]]).begin(layout, seed=0)
    >>> stream.table(0)[:2]
    array([0., 1.])
    """

    mean: Any = field(repr=False)

    def __post_init__(self) -> None:
        keep_copy(self, "mean")

    def begin(self, layout: Layout, seed: Seed) -> ProgramStream:
        tables = unit_pairs(layout, self.mean, "mean")[np.newaxis]
        return ProgramStream(loss_program(layout, CYCLE, tables, noisy=True), seed)


@dataclass(frozen=True, eq=False)
class Switching:
    """Several tables in turn, each for ``period`` episodes, cyclically.

    ``mean_t = tables[(t // period) mod K]`` for t = 0, 1, ...; with ``noisy`` these are the means
    of Bernoulli losses, otherwise the losses themselves.

    >>> layout = Layout(layer_sizes=(1, 1), n_actions=2)
    >>> stream = Switching([[[[0.0, 1.0]]], [[[1.0, 0.0]]]], period=2).begin(layout, seed=0)
    >>> [stream.table(t)[0].item() for t in range(6)]
    [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]
    """

    tables: Sequence[Any] = field(repr=False)
    period: int
    noisy: bool = False

    def __post_init__(self) -> None:
        settle(self, period=whole_number(self.period, "period"), noisy=flag(self.noisy, "noisy"))
        keep_copy(self, "tables")

    def begin(self, layout: Layout, seed: Seed) -> ProgramStream:
        tables = unit_tables(layout, self.tables, "tables")
        program = loss_program(layout, CYCLE, tables, period=self.period, noisy=self.noisy)
        return ProgramStream(program, seed)


@dataclass(frozen=True, eq=False)
class Majority:
    """Usual losses; every period ends with a stretch of adverse ones.

    With ``m = floor(adverse_share * period)`` the table of episode t is ``usual`` if
    ``t mod period < period - m`` and ``adverse`` otherwise.  The adverse stretch comes last, so
    that no prefix of the sequence has more than its share of adverse episodes.

    The sequence is constructed so that one fixed policy stays the best throughout.  For
    ``Majority.against(usual)``, where ``adverse = 1 - usual``, this is guaranteed: after n usual
    and m adverse episodes a policy with expected usual loss v has suffered ``(n - m) v + m L``,
    and ``n > m`` for every prefix because ``adverse_share < 1/2``.  Hence the policies are ranked
    as by the usual table after every episode (in expectation, if ``noisy``).  For another
    ``adverse`` table the best fixed policy is that of ``(period - m) usual + m adverse`` at the end
    of every period.

    >>> layout = Layout(layer_sizes=(1, 1), n_actions=2)
    >>> process = Majority.against([[[0.2, 0.7]]], period=5, adverse_share=0.4, noisy=False)
    >>> [process.begin(layout, seed=0).table(t)[0].item() for t in range(6)]
    [0.2, 0.2, 0.2, 0.8, 0.8, 0.2]
    """

    usual: Any = field(repr=False)
    adverse: Any = field(repr=False)
    period: int = 100
    adverse_share: float = 0.3
    noisy: bool = True

    def __post_init__(self) -> None:
        settle(
            self,
            period=whole_number(self.period, "period"),
            adverse_share=unit_number(self.adverse_share, "adverse_share"),
            noisy=flag(self.noisy, "noisy"),
        )
        if self.adverse_share >= 0.5:
            raise InvalidInput(
                f"adverse_share: {self.adverse_share!r} leaves no majority; use less than 0.5"
            )
        if self.n_adverse == 0:
            raise InvalidInput(
                f"adverse_share: {self.adverse_share!r} of a period of {self.period} is no whole "
                "episode; use a longer period or a larger share"
            )
        keep_copy(self, "usual", "adverse")

    def adverse_stretches(self, n_episodes: int) -> list[tuple[int, int]]:
        """First episode and end of every adverse stretch of a run.

        >>> Majority.against([[[0.2, 0.7]]], period=10).adverse_stretches(18)
        [(7, 10), (17, 18)]
        """
        ends = range(self.period, n_episodes + self.period, self.period)
        stretches = ((end - self.n_adverse, min(end, n_episodes)) for end in ends)
        return [(begin, end) for begin, end in stretches if begin < end]

    @classmethod
    def against(
        cls, usual: Any, period: int = 100, adverse_share: float = 0.3, noisy: bool = True
    ) -> Majority:
        """The process with all preferences reversed when adverse: ``adverse = 1 - usual``."""
        adverse: Any
        refuse_function(usual, "usual")
        if isinstance(usual, np.ndarray) and usual.ndim == 1 and usual.dtype != object:
            adverse = 1.0 - float_array(usual, "usual")
        elif is_sequence(usual):
            adverse = [1.0 - float_array(a, f"usual: layer {k}") for k, a in enumerate(usual)]
        else:
            raise InvalidInput("usual: give a pair table, one array for each layer")
        return cls(usual, adverse, period, adverse_share, noisy)

    @property
    def n_adverse(self) -> int:
        """The number of adverse episodes in each period."""
        return int(self.adverse_share * self.period + 1e-9)  # 0.29 * 100 is 28.999...

    def begin(self, layout: Layout, seed: Seed) -> ProgramStream:
        tables = [
            unit_pairs(layout, self.usual, "usual"),
            unit_pairs(layout, self.adverse, "adverse"),
        ]
        turn = self.period - self.n_adverse
        program = loss_program(
            layout, MAJORITY, np.stack(tables), period=self.period, turn=turn, noisy=self.noisy
        )
        return ProgramStream(program, seed)


@dataclass(frozen=True, eq=False)
class Drifting:
    """A smooth change from one table to another and back, once in every period.

    ``mean_t = start + s_t (end - start)`` with ``s_t = w^2 (3 - 2 w)`` and w the triangle wave that
    is 0 at t = 0 and 1 half a period later; with ``noisy`` these are means of Bernoulli losses.

    >>> layout = Layout(layer_sizes=(1, 1), n_actions=1)
    >>> stream = Drifting([[[0.0]]], [[[1.0]]], period=8).begin(layout, seed=0)
    >>> [stream.table(t).item() for t in range(5)]
    [0.0, 0.15625, 0.5, 0.84375, 1.0]
    """

    start: Any = field(repr=False)
    end: Any = field(repr=False)
    period: int
    noisy: bool = False

    def __post_init__(self) -> None:
        period = whole_number(self.period, "period", least=2)
        settle(self, period=period, noisy=flag(self.noisy, "noisy"))
        keep_copy(self, "start", "end")

    def begin(self, layout: Layout, seed: Seed) -> ProgramStream:
        tables = [unit_pairs(layout, self.start, "start"), unit_pairs(layout, self.end, "end")]
        program = loss_program(
            layout, DRIFT, np.stack(tables), period=self.period, noisy=self.noisy
        )
        return ProgramStream(program, seed)


@dataclass(frozen=True, eq=False)
class Corrupted:
    """Bernoulli losses with fixed means, except in ``n_corrupted`` random episodes.

    The corrupted episodes are a uniformly random subset of the first ``n_episodes`` episodes,
    determined by the ``seed`` of the process and hence the same in every run.  Their means are
    those of ``corrupted_table``.

    >>> layout = Layout(layer_sizes=(1, 1), n_actions=1)
    >>> process = Corrupted([[[0.0]]], [[[1.0]]], n_corrupted=3, n_episodes=50, seed=1)
    >>> stream = process.begin(layout, seed=0)
    >>> sum(stream.table(t).item() for t in range(50))
    3.0
    """

    mean: Any = field(repr=False)
    corrupted_table: Any = field(repr=False)
    n_corrupted: int
    n_episodes: int
    seed: int = 0

    def __post_init__(self) -> None:
        settle(
            self,
            n_episodes=whole_number(self.n_episodes, "n_episodes"),
            n_corrupted=whole_number(self.n_corrupted, "n_corrupted", least=0, most=MOST_CORRUPTED),
        )
        if self.n_corrupted > self.n_episodes:
            raise InvalidInput(
                f"n_corrupted: {self.n_corrupted} exceeds the {self.n_episodes} episodes; "
                "corrupt fewer or play more"
            )
        generator(self.seed)
        keep_copy(self, "mean", "corrupted_table")

    def begin(self, layout: Layout, seed: Seed) -> ProgramStream:
        tables = [
            unit_pairs(layout, self.mean, "mean"),
            unit_pairs(layout, self.corrupted_table, "corrupted_table"),
        ]
        places = generator(self.seed).choice(self.n_episodes, self.n_corrupted, replace=False)
        marks = np.sort(places).astype(np.int64)
        return ProgramStream(
            loss_program(layout, MARKED, np.stack(tables), noisy=True, marks=marks), seed
        )


@dataclass(frozen=True, eq=False)
class Replayed:
    """Recorded losses: one table for each episode, used as given.

    ``tables`` is an array of shape ``(T', R)`` (flat vectors over rows) or a sequence of pair
    tables.  A run of more than T' episodes is rejected unless ``repeat`` is set; the tables are
    then used cyclically.  With ``any_losses`` the losses may be in any unit and of any sign, as
    learners take them that declare it (``learners/base.py: AcceptsAnyLosses``).

    >>> layout = Layout(layer_sizes=(1, 1), n_actions=2)
    >>> stream = Replayed(np.array([[0.1, 0.2], [0.3, 0.4]])).begin(layout, seed=0)
    >>> stream.table(1)
    array([0.3, 0.4])
    >>> stream.check_length(3)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    advmdp.errors.InvalidInput: losses: 2 recorded episodes cannot serve 3; ...
    """

    tables: Any = field(repr=False)
    repeat: bool = False
    any_losses: bool = False

    def __post_init__(self) -> None:
        settle(
            self,
            repeat=flag(self.repeat, "repeat"),
            any_losses=flag(self.any_losses, "any_losses"),
        )
        keep_copy(self, "tables")

    def begin(self, layout: Layout, seed: Seed) -> ProgramStream:
        tables = unit_tables(
            layout, self.tables, "tables", any_losses=self.any_losses, remedy=SAY_ANY
        )
        length = None if self.repeat else len(tables)
        program = loss_program(layout, CYCLE, tables)
        return ProgramStream(program, seed, length, any_losses=self.any_losses)
