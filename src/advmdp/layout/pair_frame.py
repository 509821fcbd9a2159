"""Columns over state-action pairs as a frame: a row for every state and action, by their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.frames import frame_in
from advmdp.layout import Floats, Layout

PLACES = ("layer", "state", "action")


def existing_rows(layout: Layout) -> NDArray[np.int64]:
    """The rows of actions that their states have; the others only fill up the tables."""
    actions = np.arange(layout.n_actions)
    exists = [actions < counts[:, np.newaxis] for counts in layout.action_counts]
    return np.flatnonzero(np.concatenate(exists).ravel())


def pair_places(layout: Layout) -> dict[str, list[Any]]:
    """The layer, the state and the action of every existing row, by their names."""
    places: dict[str, list[Any]] = {name: [] for name in PLACES}
    for r in existing_rows(layout).tolist():
        k, (flat_state, action) = int(layout.row_layer[r]), divmod(r, layout.n_actions)
        state = flat_state - int(layout.layer_start[k])
        places["layer"].append(k)
        places["state"].append(layout.state_name(k, state))
        places["action"].append(layout.action_name(k, state, action))
    return places


def frame_of(layout: Layout, columns: Mapping[str, Floats], library: str = "polars") -> Any:
    """The columns beside the places, as a frame."""
    rows = existing_rows(layout)
    content = {**pair_places(layout), **{name: values[rows] for name, values in columns.items()}}
    return frame_in(library, content)
