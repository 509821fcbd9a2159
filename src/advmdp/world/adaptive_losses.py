"""Adaptive loss processes: they depend on past episodes, never on the current one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.arguments import flag, function, instance
from advmdp.checks.numbers import unit_number
from advmdp.errors import InvalidInput
from advmdp.kernels.model.losses import CYCLE
from advmdp.layout import Floats, Layout
from advmdp.seeds import Seed, seed_words
from advmdp.world.checks import SAY_ANY, unit_pairs
from advmdp.world.loss_streams import Integers, ProgramStream, State, loss_program
from advmdp.world.oblivious_losses import keep_copy, settle


@dataclass(frozen=True, eq=False)
class Adaptive:
    """Raises the losses of pairs that the learner has played often recently.

    ``mean_t(x, a) = min(1, base(x, a) + strength * pressure_t(x, a))`` with ``pressure_0 = 0`` and
    ``pressure_{t+1} = memory * pressure_t + (1 - memory) * [(x, a) was played in episode t]``,
    an average over about ``1 / (1 - memory)`` episodes, always in [0, 1].  With ``noisy`` these
    are the means of Bernoulli losses.

    >>> layout = Layout(layer_sizes=(1, 1), n_actions=2)
    >>> stream = Adaptive([[[0.25, 0.25]]], strength=0.5, memory=0.5).begin(layout, seed=0)
    >>> stream.table(0)
    array([0.25, 0.25])
    >>> stream.observe(np.array([1]), np.array([0.25]))
    >>> stream.table(1)
    array([0.25, 0.5 ])
    """

    base: Any = field(repr=False)
    strength: float = 0.5
    memory: float = 0.99
    noisy: bool = False

    def __post_init__(self) -> None:
        settle(
            self,
            strength=unit_number(self.strength, "strength"),
            memory=unit_number(self.memory, "memory", below_one=True),
            noisy=flag(self.noisy, "noisy"),
        )
        keep_copy(self, "base")

    def begin(self, layout: Layout, seed: Seed) -> ProgramStream:
        tables = unit_pairs(layout, self.base, "base")[np.newaxis]
        program = loss_program(
            layout,
            CYCLE,
            tables,
            noisy=self.noisy,
            strength=self.strength,
            memory=self.memory,
        )
        return ProgramStream(program, seed)


class PlayedEpisode(NamedTuple):
    """The trajectory of a past episode, layer after layer."""

    states: Integers  # (L,), numbered within their layer
    actions: Integers  # (L,)
    losses: Floats  # (L,)


class History(Sequence[PlayedEpisode]):
    """The past episodes, oldest first, as a read-only sequence."""

    def __init__(self, layout: Layout, rows: list[Integers], losses: list[Floats]) -> None:
        self._layout = layout
        self._rows = rows
        self._losses = losses

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> PlayedEpisode: ...

    @overload
    def __getitem__(self, index: slice) -> list[PlayedEpisode]: ...

    def __getitem__(self, index: int | slice) -> PlayedEpisode | list[PlayedEpisode]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        flat_states, actions = np.divmod(self._rows[index], self._layout.n_actions)
        states = flat_states - self._layout.layer_start[:-2]
        return PlayedEpisode(states, actions, self._losses[index].copy())

    def __iter__(self) -> Iterator[PlayedEpisode]:
        return (self[i] for i in range(len(self)))


@dataclass(frozen=True, eq=False)
class Custom:
    """User-written losses: any function of the episode number and of the past.

    ``function(episode, history)`` returns the pair table of episode 0, 1, ...; ``history[t]``
    holds the ``states``, ``actions`` and ``losses`` of the earlier episode t.  Every table is
    checked before it is used.  The function should have no state of its own, since a resumed run
    could not restore it.  It is called in every episode, so the run is not compiled.  With
    ``any_losses`` the losses may be in any unit and of any sign, for learners that take them.

    >>> layout = Layout(layer_sizes=(1, 1), n_actions=2)
    >>> def punish_repetition(episode, history):
    ...     table = np.zeros((1, 2))
    ...     if history:
    ...         table[0, history[-1].actions[0]] = 1.0
    ...     return [table]
    >>> stream = Custom(punish_repetition).begin(layout, seed=0)
    >>> stream.table(0)
    array([0., 0.])
    >>> stream.observe(np.array([1]), np.array([0.0]))
    >>> stream.table(1)
    array([0., 1.])
    """

    function: Callable[[int, History], Any]
    any_losses: bool = False

    def __post_init__(self) -> None:
        function(self.function, "function", "function(episode, history)", n_arguments=2)
        settle(self, any_losses=flag(self.any_losses, "any_losses"))

    def begin(self, layout: Layout, seed: Seed) -> CustomStream:
        layout = instance(layout, Layout, "layout")
        return CustomStream(self.function, layout, seed, any_losses=self.any_losses)


class CustomStream:
    """A stream that calls a Python function; its state is the history."""

    program = None

    def __init__(
        self,
        function: Callable[[int, History], Any],
        layout: Layout,
        seed: Seed,
        *,
        any_losses: bool = False,
    ) -> None:
        self.words = seed_words(seed)
        self.any_losses = any_losses
        self._function = function
        self._layout = layout
        self._rows: list[Integers] = []
        self._losses: list[Floats] = []

    def check_length(self, n_episodes: int) -> None:
        """Accept any number of episodes."""

    def table(self, episode: int) -> Floats:
        history = History(self._layout, self._rows, self._losses)
        given = self._function(episode, history)
        name = f"losses of episode {episode}"
        any_losses = self.any_losses
        return unit_pairs(self._layout, given, name, any_losses=any_losses, remedy=SAY_ANY)

    def observe(self, rows: Integers, losses: Floats) -> None:
        self._rows.append(np.array(rows, dtype=np.int64))
        self._losses.append(np.array(losses, dtype=np.float64))

    def state(self) -> State:
        shape = (len(self._rows), self._layout.n_layers)
        return {
            "rows": np.array(self._rows, dtype=np.int64).reshape(shape),
            "losses": np.array(self._losses, dtype=np.float64).reshape(shape),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        if not {"rows", "losses"} <= set(state):
            raise InvalidInput("losses: the saved state has no history; restore the same process")
        rows, losses = state["rows"], state["losses"]
        if rows.shape != losses.shape or rows.shape[1:] != (self._layout.n_layers,):
            raise InvalidInput(
                f"losses: the saved history has shape {rows.shape}, "
                f"the layout {self._layout.n_layers} layers; restore into the same layout"
            )
        bounds = (-np.inf, np.inf) if self.any_losses else (0.0, 1.0)
        if rows.dtype.kind != "i" or not _is_history(self._layout, rows, losses, bounds):
            raise InvalidInput(
                "losses: the saved history has rows outside their layers or losses outside "
                "their range; restore it from a copy"
            )
        self._rows = list(np.array(rows, dtype=np.int64))
        self._losses = list(np.array(losses, dtype=np.float64))


def _is_history(
    layout: Layout, rows: Integers, losses: Floats, bounds: tuple[float, float]
) -> bool:
    """Whether rows lie in their layers and losses within their bounds; they must be finite."""
    here = [layout.layer_rows(k) for k in range(layout.n_layers)]
    first, end = np.array([[part.start, part.stop] for part in here]).T
    inside = (rows >= first) & (rows < end) & (losses >= bounds[0]) & (losses <= bounds[1])
    return bool(inside.all() and np.isfinite(losses).all())
