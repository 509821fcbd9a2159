"""How a learner is kept in a file: what it was made with, and everything it has learnt.

A file holds the name of the class, the arguments of its constructor, the layout and the arrays of
``state()``.  The arguments are noted when the learner is made, so that no learner has to list its
own a second time.  Reading a file back is in ``advmdp.learners.saving.loading``.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.arguments import is_sequence
from advmdp.checks.numbers import shown
from advmdp.display.layers import layers_text
from advmdp.display.shown import Shown
from advmdp.errors import InvalidInput
from advmdp.files.archive import JSON, write_archive
from advmdp.layout import Layout
from advmdp.layout.io import declared_successors, described_actions_and_names, shared_row_tables
from advmdp.layout.known_rows import known_row_tables
from advmdp.layout.pair_frame import frame_of
from advmdp.learners.base import CountsEpisodes, KnowsPairs, offers
from advmdp.learners.mirror.hints import checked_table
from advmdp.learners.pair_knowledge import PairKnowledge, mean_estimates, pair_columns

Saved = dict[str, NDArray[Any]]

KIND = "learner"
TABLES = ("layout", "transitions")
PARTS = ("experts", "learners")  # arguments that hold learners
VERSION = 2  # of what is described above; how it is written is the archive's affair


class Saveable(Shown, KnowsPairs):
    """Remembers the arguments it is made with, and can be saved.

    Every built-in learner derives from it, and so can a learner of your own that has a layout,
    ``state()`` and ``restore()``; name its class when loading: ``load(path, MyLearner)``.
    """

    layout: Layout
    _made_with: tuple[Any, Any]

    def __new__(cls, *arguments: Any, **named: Any) -> Self:
        learner = super().__new__(cls)
        learner._made_with = (_snapshot(arguments), _snapshot(named))
        return learner

    def state(self) -> Saved:
        """A copy of everything the future depends on, as plain arrays."""
        raise NotImplementedError

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what ``state()`` returned, on a learner made with the same parameters."""
        raise NotImplementedError

    def _facts(self) -> dict[str, Any]:
        """What it was made with, except for tables, and how much it has played."""
        given = _arguments(self)
        layout = f"{layers_text(self.layout.layer_sizes)} x{self.layout.n_actions}"
        plain = {name: _brief(value) for name, value in given.items() if name not in TABLES}
        learner: Any = self
        played = {"played": learner.episodes} if offers(learner, CountsEpisodes) else {}
        return {"layout": layout, **plain, **played}

    def to_frame(self, library: str = "polars", run: Any = None) -> Any:
        """What it knows about every state and action, a row for each.

        The columns are those of ``advmdp.learners.pair_knowledge`` that this learner has.

        Parameters
        ----------
        library
            "polars" or "pandas".
        run
            The run that it was played in: learners of the mirror-descent family do not keep their
            loss estimates, but the account of a run does.

        >>> import advmdp as am
        >>> learner = am.UOBREPS(am.Layout(layer_sizes=(1, 2, 1), n_actions=2), n_episodes=100)
        >>> learner.to_frame().columns
        ['layer', 'state', 'action', 'policy', 'occupancy', 'visits', 'width']
        """
        learner: Any = self
        known = self.pair_knowledge()
        if run is not None and known.estimated_loss is None:
            known = known._replace(estimated_loss=mean_estimates(self.layout, run))
        return frame_of(self.layout, pair_columns(self.layout, learner.policy(), known), library)

    def pair_knowledge(self) -> PairKnowledge:
        """What it holds beside its policy."""
        return PairKnowledge()

    def save(self, path: str | Path) -> None:
        """Keep the learner in a file; ``advmdp.load(path)`` continues with the same bits.

        The file replaces an older one in one step: after a crash, or on a full disk, ``path`` is
        either as it was or complete.

        >>> import tempfile
        >>> import advmdp as am
        >>> learner = am.UOBREPS(am.Layout(layer_sizes=(1, 2, 1), n_actions=2), n_episodes=100)
        >>> learner.update(am.Trajectory(states=[0, 1, 0], actions=[0, 1], losses=[1.0, 0.0]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     learner.save(f"{folder}/learner.am")
        ...     again = am.load(f"{folder}/learner.am")
        >>> again.episodes, bool((again.policy()[0] == learner.policy()[0]).all())
        (1, True)
        """
        write_archive(path, KIND, *contents(self))


def contents(learner: Saveable) -> tuple[dict[str, JSON], Saved]:
    """Header and arrays of a learner's file."""
    layout = learner.layout
    arrays = {f"state.{name}": array for name, array in learner.state().items()}
    for k, table in enumerate(declared_successors(layout) or []):
        arrays[f"layout.{k}"] = table
    for k, table in enumerate(shared_row_tables(layout) or []):
        arrays[f"pools.{k}"] = table
    for k, known in enumerate(known_row_tables(layout) or []):
        arrays[f"known.{k}"] = known
    arguments, tables = _described_arguments(learner)
    return {
        "version": VERSION,
        "class": type(learner).__name__,
        "arguments": arguments,
        "layout": {
            "sizes": layout.declared_sizes,
            "n_actions": layout.n_actions,
            **described_actions_and_names(layout),
        },
    }, {**arrays, **tables}


def _described_arguments(learner: Saveable) -> tuple[dict[str, JSON], Saved]:
    """What it was made with: as JSON, and what are tables."""
    layout = learner.layout
    arguments: dict[str, JSON] = {}
    arrays: Saved = {}
    for name, value in _arguments(learner).items():
        if name == "transitions":
            arrays[name] = layout.flat_triples(value, fill=True)
        elif name == "hint" and is_sequence(value) and not isinstance(value, str):
            arrays[name] = checked_table(layout, value, any_losses=True)  # checked before
        elif name in PARTS and is_sequence(list(value) if isinstance(value, Mapping) else value):
            arguments[name] = {"parts": _described_parts(layout, name, value, arrays)}
        elif name != "layout":
            arguments[name] = _plain(name, value)
    return arguments, arrays


def _described_parts(layout: Layout, name: str, parts: Any, arrays: Saved) -> JSON:
    """Learners and policies inside a learner; their tables go to ``arrays``."""
    named = isinstance(parts, Mapping)
    described: list[JSON] = []
    for i, (key, part) in enumerate(parts.items() if named else enumerate(parts)):
        called: dict[str, JSON] = {"name": str(key)} if named else {}
        if isinstance(part, Saveable):
            arguments, inside = _described_arguments(part)
            called |= {"class": type(part).__name__, "arguments": arguments}
        elif callable(part) or hasattr(part, "update"):
            what = "function" if callable(part) else type(part).__name__
            raise InvalidInput(
                f"save: {key} of {name} is a {what}; only learners that can be saved and tables "
                "can be kept in a file"
            )
        else:
            inside = {"policy": layout.flat_pairs(part)}
        arrays |= {f"{name}.{i}.{table}": array for table, array in inside.items()}
        described.append(called)
    return described


def made_again(learner: Saveable) -> Any:
    """A new learner, made with the same arguments, that has learnt nothing."""
    given = _arguments(learner)
    if any(_holds_learners(value) for value in given.values()):
        raise InvalidInput(
            f"a {type(learner).__name__} holds learners of its own, which cannot begin anew",
            field="learner",
        )
    positional, named = learner._made_with
    return type(learner)(*positional, **named)


def _holds_learners(value: Any) -> bool:
    parts = list(value.values()) if isinstance(value, dict) else value
    parts = parts if isinstance(parts, list | tuple) else [parts]
    return any(isinstance(part, Saveable) for part in parts)


def _arguments(learner: Saveable) -> dict[str, Any]:
    """The arguments of the constructor by their names."""
    positional, named = learner._made_with
    signature = inspect.signature(type(learner))
    given = signature.bind(*positional, **named).arguments
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            given |= given.pop(name, {})
    return dict(given)


def _snapshot(value: Any) -> Any:
    """The value as it is now, whatever its owner does to its arrays later."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, list | tuple):
        return [_snapshot(each) for each in value]
    if isinstance(value, dict):
        return {name: _snapshot(each) for name, each in value.items()}
    return value


def _brief(value: Any) -> str:
    """An argument as it is shown: a class by its name, other things on one short line."""
    return value.__name__ if isinstance(value, type) else shown(value)


def _plain(name: str, value: Any) -> JSON:
    """An argument as JSON."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.random.SeedSequence):
        parts = {"entropy": value.entropy, "spawn_key": value.spawn_key}
        return {"seed": {**parts, "pool_size": value.pool_size}}  # type: ignore[dict-item]
    if isinstance(value, type) and issubclass(value, Saveable):
        return {"class": value.__name__}
    if isinstance(value, Mapping):
        return {"mapping": {str(key): _plain(name, each) for key, each in value.items()}}
    raise InvalidInput(
        f"save: the argument {name} is a {type(value).__name__}; only numbers, text, seeds, "
        "classes of learners and transitions can be kept in a file"
    )
