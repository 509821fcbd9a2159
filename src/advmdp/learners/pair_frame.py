"""``learner.to_frame()``: a row for every state and action."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from advmdp.errors import InvalidInput, MissingExtra
from advmdp.layout import Floats, Layout
from advmdp.number_checks import shown

PLACES = ("layer", "state", "action")


def pair_places(layout: Layout) -> dict[str, list[Any]]:
    """The layer, the state and the action of every row, by their names."""
    places: dict[str, list[Any]] = {name: [] for name in PLACES}
    for k in range(layout.n_layers):
        for i in range(layout.layer_sizes[k]):
            for a in range(layout.n_actions):
                for name, value in zip(
                    PLACES, (k, state_name(layout, k, i), action_name(layout, k, i, a)), strict=True
                ):
                    places[name].append(value)
    return places


def state_name(layout: Layout, k: int, i: int) -> str | int:
    """The name of the i-th state of layer k: the declared number, where it has no other."""
    return int(layout.original_state[k][i])


def action_name(layout: Layout, k: int, i: int, a: int) -> str | int:
    """The name of an action in that state."""
    return a


def frame_of(layout: Layout, columns: Mapping[str, Floats], library: str = "polars") -> Any:
    """The columns beside the places, as a frame."""
    if library not in ("polars", "pandas"):
        raise InvalidInput(f"{shown(library)} is neither 'polars' nor 'pandas'", field="library")
    content = {**pair_places(layout), **{name: np.asarray(v) for name, v in columns.items()}}
    try:
        return import_module(library).DataFrame(content)
    except ModuleNotFoundError:
        raise MissingExtra(f"{library} is not installed; install it", field="library") from None
