"""A learner from its file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.numbers import shown, unit_number, whole_number
from advmdp.errors import DamagedFile, InvalidInput
from advmdp.files.archive import read_archive
from advmdp.layout import Layout
from advmdp.layout.checks import checked_sizes
from advmdp.layout.io import names_again
from advmdp.learners.adaptive.per_context import PerContext
from advmdp.learners.catalogue import LEARNERS
from advmdp.learners.doubling import Doubling
from advmdp.learners.mixtures.corral import Corral
from advmdp.learners.mixtures.mixture import Mixture
from advmdp.learners.saving.saveable import KIND, VERSION, Saveable

SMALL = 10**6  # of a layout that may be built whatever the file holds
DEEPEST = 8  # points in the place of a learner inside of learners; two for each
MOST_SEED_WORDS = 1024  # of a seed's pool; NumPy's default is 4, and mixing takes its square
Classes = Mapping[str, Callable[..., Any]]


def load(path: str | Path, *own: type[Saveable]) -> Any:
    """The learner that ``learner.save(path)`` kept, which continues with the same bits.

    Only classes of the catalogue are made, and classes of ``own`` that are named here: a file can
    name a class but cannot bring one along.

    >>> import tempfile
    >>> import advmdp as am
    >>> learner = am.Exp3IX(am.Layout(layer_sizes=(1, 2, 1), n_actions=2), n_episodes=100)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     learner.save(f"{folder}/learner.am")
    ...     load(f"{folder}/learner.am").eta == learner.eta
    True
    """
    header, arrays = read_archive(path, KIND)
    return rebuilt(header, arrays, str(path), *own)


def rebuilt(
    header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], name: str, *own: type[Saveable]
) -> Any:
    """The learner of ``saveable.contents``; ``name`` is the file's, for messages."""
    classes = _classes(own)
    try:
        version = header["version"]
        if type(version) is not int:
            raise TypeError(f"version {shown(version)}")
        if version > VERSION:
            raise InvalidInput(
                f"{name}: a learner's file of version {version}, this advmdp reads up to version "
                f"{VERSION}; read it with a newer advmdp"
            )
        make = _class(header["class"], classes, name)
        layout = _layout(header["layout"], arrays)
        learner = make(layout=layout, **_arguments(header, arrays, layout, classes, name))
        state = [key for key in arrays if key.startswith("state.")]
        saved = {key.removeprefix("state."): arrays[key] for key in state}
        learner.restore(saved)
    except (LookupError, TypeError, AttributeError) as error:
        raise DamagedFile(
            f"{name}: its contents do not make a learner ({error}); "
            "read it with the advmdp that wrote it"
        ) from None
    return learner


def _classes(own: tuple[type[Saveable], ...]) -> Classes:
    """Every class that a file may name."""
    for make in own:
        if not isinstance(make, type) or not issubclass(make, Saveable):
            raise InvalidInput(f"load: {shown(make)} is not the class of a learner")
    makers: list[Any] = [entry.make for entry in LEARNERS.values()]
    return {make.__name__: make for make in [*makers, Doubling, PerContext, Mixture, Corral, *own]}


def _class(wanted: str, classes: Classes, name: str) -> Callable[..., Any]:
    if wanted not in classes:
        raise InvalidInput(
            f"{name}: holds a {wanted}, which is not in the catalogue; if it is your own class, "
            f"name it: load(path, {wanted})"
        )
    return classes[wanted]


def _layout(described: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Layout:
    sizes = described["sizes"]
    _refuse_larger_than_file(sizes, described["n_actions"], arrays)
    successors, shared, known = (
        [arrays[f"{part}.{k}"] for k in range(len(sizes) - 1)] if f"{part}.0" in arrays else None
        for part in ("layout", "pools", "known")
    )
    names = names_again(described)
    n_actions = described.get("action_counts", described["n_actions"])
    layout = Layout(sizes, n_actions, successors, shared, known, **names)
    if "rest_loss" in described:
        layout.rest_loss = unit_number(described["rest_loss"], "rest_loss")
    return layout


def _refuse_larger_than_file(
    sizes: Any, n_actions: Any, arrays: Mapping[str, NDArray[Any]]
) -> None:
    """A small file cannot hold the state of a learner on a huge layout: do not even build it."""
    stored = sum(array.size for array in arrays.values())
    sizes = checked_sizes(sizes)
    n_rows = (sum(sizes) - 1) * whole_number(n_actions, "n_actions")
    n_entries = n_actions * sum(n * m for n, m in pairwise(sizes))
    is_dense = "layout.0" not in arrays
    if n_rows > max(stored, SMALL) or (is_dense and n_entries > max(1000 * stored, SMALL)):
        raise InvalidInput(
            f"layout: {n_rows} pairs and {n_entries} triples, but the file holds {stored} numbers; "
            "restore it from a copy"
        )


def _seed(described: Mapping[str, Any]) -> np.random.SeedSequence:
    """A seed as ``saveable`` describes it."""
    pool_size = whole_number(described["pool_size"], "seed.pool_size")
    if pool_size > MOST_SEED_WORDS:
        raise InvalidInput(f"{pool_size} is above {MOST_SEED_WORDS}", field="seed.pool_size")
    try:
        return np.random.SeedSequence(
            described["entropy"], spawn_key=described["spawn_key"], pool_size=pool_size
        )
    except ValueError as problem:
        raise InvalidInput(f"{problem}; restore it from a copy", field="seed") from None


def _arguments(
    described: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    layout: Layout,
    classes: Classes,
    name: str,
    place: str = "",
) -> dict[str, Any]:
    """What a learner is made with, beside its layout; ``place`` is that of its tables."""
    if place.count(".") > DEEPEST:
        raise InvalidInput(f"{name}: learners inside of learners, too deep; restore it from a copy")
    tables = (f for f in ("transitions", "hint") if f"{place}{f}" in arrays)
    found: dict[str, Any] = {f: arrays[f"{place}{f}"] for f in tables}
    for key, value in described["arguments"].items():
        if isinstance(value, dict) and "parts" in value:
            parts = [
                (part.get("name"), _part(part, arrays, layout, classes, name, f"{place}{key}.{i}."))
                for i, part in enumerate(value["parts"])
            ]
            named = any(called is not None for called, _ in parts)
            found[key] = dict(parts) if named else [part for _, part in parts]
        else:
            found[key] = _value(value, classes, name)
    return found


def _part(
    described: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    layout: Layout,
    classes: Classes,
    name: str,
    place: str,
) -> Any:
    """A learner inside of another one, or the table of a policy."""
    if "class" not in described:
        return arrays[f"{place}policy"]  # whoever holds it checks it
    make = _class(described["class"], classes, name)
    return make(layout=layout, **_arguments(described, arrays, layout, classes, name, place))


def _value(value: Any, classes: Classes, name: str) -> Any:
    """An argument from JSON, the inverse of ``saveable._plain``."""
    if not isinstance(value, dict):
        return value
    if "seed" in value:
        return _seed(value["seed"])
    if "mapping" in value:
        return {key: _value(each, classes, name) for key, each in value["mapping"].items()}
    return _class(value["class"], classes, name)
