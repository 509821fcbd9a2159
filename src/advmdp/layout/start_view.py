"""The part of a layout that can be reached from one start state.

Several start states are represented by an *opening layer*: layer 0 has one state, layer 1 holds the
start states.  If the adversary chooses the start, episodes begin in layer 1 and stay in the view
from there, which is a layout with one first state again.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.arguments import instance
from advmdp.errors import InvalidInput
from advmdp.layout import Layout
from advmdp.layout.names import Names


@dataclass(frozen=True)
class StartView:
    """The layout from one start state, and its position in the whole layout.

    ``flat[view.rows]`` and ``flat[view.entries]`` restrict flat vectors of the whole layout to the
    view.
    """

    start: int
    layout: Layout
    rows: NDArray[np.int64]
    entries: NDArray[np.int64]


def start_views(layout: Layout) -> list[StartView]:
    """The views from all states of layer 1.

    >>> views = start_views(Layout(layer_sizes=(1, 2, 3, 1), n_actions=2))
    >>> [view.layout for view in views]
    [Layout(layer_sizes=(1, 3, 1), n_actions=2), Layout(layer_sizes=(1, 3, 1), n_actions=2)]
    >>> views[1].rows                       # rows 0, 1 are the opening, 2, 3 the other start state
    array([ 4,  5,  6,  7,  8,  9, 10, 11])
    """
    if instance(layout, Layout, "layout").n_layers < 2:
        raise InvalidInput(
            "layout: no layer of start states; put an opening layer with one state in front"
        )
    n_starts, n_actions = layout.layer_sizes[1], layout.n_actions
    sizes = (1, *layout.layer_sizes[2:])
    if layout.is_dense:
        whole = Layout(sizes, n_actions)
        return [_view(layout, start, whole) for start in range(n_starts)]
    masks = [table != 0.0 for table in layout.triples(np.ones(layout.n_entries))[1:]]
    return [
        _view(layout, start, Layout(sizes, n_actions, [masks[0][[start]], *masks[1:]]))
        for start in range(n_starts)
    ]


def _view(layout: Layout, start: int, view: Layout) -> StartView:
    """Every row keeps all its successors in their order, so entries move with their rows."""
    kept = [np.array([start]), *view.original_state[1:-1]]
    states = np.concatenate([layout.layer_start[k + 1] + kept[k] for k in range(len(kept))])
    rows = (states[:, np.newaxis] * layout.n_actions + np.arange(layout.n_actions)).ravel()
    sizes = view.row_sizes()
    shift = np.repeat(layout.row_start[rows] - view.row_start[:-1], sizes)
    entries = np.arange(view.n_entries) + shift
    view = copy(view)
    view.names, view.rest_loss = _names_from(layout, start), layout.rest_loss
    if layout.stands_for is not None:
        counts = layout.action_counts
        view.declared_counts = [counts[1][[start]], *counts[2:]]
        view.counter_row = view.stands_for = np.searchsorted(rows, layout.stands_for[rows])
    if layout.known is not None:
        view.known = (layout.known[0][rows], layout.known[1][entries])
    return StartView(start, view, rows, entries)


def _names_from(layout: Layout, start: int) -> Names:
    """The names of the layers behind the opening; there is one state in the first of them.

    The declared numbers of a view are the numbers within the layers of the whole layout.
    """
    kept = [layout.original_state[1][[start]], *layout.original_state[2:]]
    states, actions = layout.names
    if states is not None:
        states = tuple(
            tuple(names[x] for x in here) for names, here in zip(states[1:], kept, strict=False)
        )
    if actions is not None and not isinstance(actions[0], str):
        actions = tuple(
            tuple(names[x] for x in here) for names, here in zip(actions[1:], kept, strict=False)
        )
    return Names(states, actions)
