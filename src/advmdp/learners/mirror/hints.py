"""Hints of the coming losses: how they are chosen, their arrays, and functions of the history."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.numbers import shown, whole_number
from advmdp.errors import AdvMDPError, InvalidInput
from advmdp.kernels.learners.mirror.baseline import UNDAMPED, Baseline
from advmdp.kernels.learners.mirror.hint import ALL_PAIRS, GIVEN, NO_HINT, OWN_PATH, Hint
from advmdp.kernels.model.recent import Recent
from advmdp.layout import Floats, Layout
from advmdp.learners.feedback import (
    FlatEpisode,
    FullInformation,
    Trajectory,
    check_full_information,
    check_losses,
    check_trajectory,
)
from advmdp.learners.mirror.baselines import estimates_of_all_pairs
from advmdp.steps.estimates import nothing_remembered

Arrays = dict[str, NDArray[Any]]
HintChoice = str | int | Sequence[Any] | Callable[..., Any] | None
"""``"last"``, a number of episodes, a table, or a function of the history."""
HISTORY = ("history.states", "history.path", "history.losses")


class AskedHint:
    """A function of the history, ``hint(history)``, and the history.

    The history is a tuple of the feedback so far, a ``FullInformation`` or a ``Trajectory`` for
    each episode; what the function returns is a pair table of losses, in [0, 1] unless the learner
    takes any.  An episode that was seen and not played has no states and no actions.
    """

    def __init__(
        self, layout: Layout, ask: Callable[..., Any], *, sees_all: bool, any_losses: bool = False
    ) -> None:
        self._layout, self._ask = layout, ask
        self._sees_all, self._any_losses = sees_all, any_losses
        self._seen: list[Any] = []

    def table(self, latest: FlatEpisode | None = None) -> Floats:
        """The hint of the episode after ``latest``, which is not kept yet."""
        seen = (*self._seen, *([] if latest is None else [self._shown(latest)]))
        return checked_table(self._layout, self._ask(seen), any_losses=self._any_losses)

    @contextmanager
    def learning_from(self, latest: FlatEpisode, coming: Floats) -> Iterator[None]:
        """Write the next hint to ``coming`` for an update with ``latest``, and keep the episode.

        Nothing has changed if the function fails, or the update.
        """
        before = coming.copy()
        coming[:] = self.table(latest)
        try:
            yield
        except AdvMDPError:
            coming[:] = before
            raise
        self._seen.append(self._shown(latest))

    def state(self) -> Arrays:
        """The history as arrays, an episode a row."""
        layout, seen = self._layout, [self._flat(each) for each in self._seen]
        width = layout.n_rows if self._sees_all else layout.n_layers
        shapes = (layout.n_layers + 1, layout.n_layers, width)
        kinds: tuple[Any, ...] = (np.int64, np.int64, np.float64)
        return {
            name: np.array([each[i] for each in seen], dtype=kind).reshape(len(seen), size)
            for i, (name, kind, size) in enumerate(zip(HISTORY, kinds, shapes, strict=True))
        }

    def restored(self, saved: Mapping[str, NDArray[Any]], n_episodes: int) -> AskedHint:
        """The same function with the history of ``state()``, which is checked."""
        mine = self.state()
        for name in HISTORY:
            found = saved.get(name, np.zeros(0))
            wanted = (n_episodes, mine[name].shape[1])
            if found.shape != wanted or found.dtype != mine[name].dtype:
                raise InvalidInput(
                    f"restore: {name} is not of {n_episodes} episodes of this learner"
                )
        again = AskedHint(
            self._layout, self._ask, sees_all=self._sees_all, any_losses=self._any_losses
        )
        for parts in zip(*(saved[name] for name in HISTORY), strict=True):
            seen = again._shown(FlatEpisode(*parts))
            again._flat(seen)
            again._seen.append(seen)
        return again

    def _shown(self, episode: FlatEpisode) -> Any:
        """The episode as its player would describe it; nobody can change it."""
        layout, losses = self._layout, episode.losses.copy()
        losses.setflags(write=False)
        if not (episode.path >= 0).any():
            return FullInformation(episode.path[:0], episode.path[:0], layout.pairs(losses))
        states = episode.states - layout.layer_start[:-1]
        actions = episode.path % layout.n_actions
        if self._sees_all:
            return FullInformation(states, actions, layout.pairs(losses))
        return Trajectory(states, actions, losses)

    def _flat(self, seen: Any) -> FlatEpisode:
        layout = self._layout
        if not self._sees_all:
            return check_trajectory(layout, seen)
        if len(seen.actions) == 0:  # as a row of an array
            losses = check_losses(layout, seen.losses, any_losses=self._any_losses)
            states = np.full(layout.n_layers + 1, -1)
            return FlatEpisode(states, states[1:], losses)
        return check_full_information(layout, seen, any_losses=self._any_losses)


def checked_table(layout: Layout, given: Any, *, any_losses: bool = False) -> Floats:
    """A pair table of losses, or a flat list as in specs, as a flat vector."""
    if isinstance(given, list | tuple) and given and all(np.isscalar(each) for each in given):
        given = np.array(given)
    return check_losses(layout, given, any_losses=any_losses, name="hint")


def no_hint() -> Hint:
    """Steps as the papers have them."""
    nothing, no_tables = np.zeros(0), np.zeros((0, 0))
    return Hint(NO_HINT, nothing, Recent(no_tables, nothing), Recent(no_tables, nothing))


def chosen_hint(
    layout: Layout, given: Any, *, sees_all: bool
) -> tuple[Hint, Baseline | None, AskedHint | None]:
    """What a learner was asked for: the hint, its baseline unless it sees all, its function.

    ``given`` is None, "last", a number n for the mean of the last n, a table, or a function.  The
    iterate has not heard any yet: ``coming`` is the hint of the first episode.
    """
    if given is None:
        return no_hint(), None, None
    if is_function(given):
        asked = AskedHint(layout, given, sees_all=sees_all)
        return *_given(layout, asked.table(), sees_all), asked
    window = window_of(given)
    if window is not None:
        return *_mean_of_last(layout, window, sees_all), None
    return *_given(layout, checked_table(layout, given), sees_all), None


def is_function(given: Any) -> bool:
    """Whether a hint is a function of the history."""
    return callable(given) and not isinstance(given, type)


def window_of(given: Any) -> int | None:
    """Of how many last episodes a hint is the mean; None for a table."""
    if isinstance(given, str) and given != "last":
        raise InvalidInput(
            f"{shown(given)} is not 'last', a whole number, a table or a function", field="hint"
        )
    if isinstance(given, str | int | np.integer):
        return 1 if given == "last" else whole_number(given, "hint")
    return None


def _given(layout: Layout, table: Floats, sees_all: bool) -> tuple[Hint, Baseline | None]:
    hint = _new(GIVEN, layout, nothing_remembered(layout, 0, "hint"))
    hint.coming[:] = table
    return hint, None if sees_all else estimates_of_all_pairs(layout, UNDAMPED, memory=0)


def _mean_of_last(layout: Layout, n: int, sees_all: bool) -> tuple[Hint, Baseline | None]:
    """Of all pairs over episodes, or of each pair over the visits that were seen."""
    if sees_all:
        return _new(ALL_PAIRS, layout, nothing_remembered(layout, n, "hint")), None
    hint = _new(OWN_PATH, layout, nothing_remembered(layout, 0, "hint"))
    return hint, estimates_of_all_pairs(layout, UNDAMPED, n)


def _new(kind: int, layout: Layout, recent: Recent) -> Hint:
    rows = layout.n_rows
    return Hint(kind, np.zeros(rows), recent, Recent(np.zeros((1, rows)), np.zeros(rows)))
