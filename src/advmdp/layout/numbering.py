"""Where layers, rows and entries lie in flat vectors, and what states and actions are called."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from advmdp.layout.names import Names

Numbers = NDArray[np.int64]


class Numbering:
    """The index arithmetic of a layout, which sets these arrays."""

    n_layers: int
    n_actions: int
    n_rows: int
    n_entries: int
    is_dense: bool
    declared_sizes: tuple[int, ...]
    layer_sizes: tuple[int, ...]
    declared_counts: list[Numbers] | None
    original_state: list[Numbers]
    names: Names
    layer_start: Numbers
    row_layer: Numbers
    row_start: Numbers
    first_successor: Numbers
    successor: Numbers

    @property
    def action_counts(self) -> list[Numbers]:
        """The number of actions of every state, layer after layer."""
        if self.declared_counts is None:
            return [np.full(n, self.n_actions) for n in self.layer_sizes[:-1]]
        here = zip(self.declared_counts, self.original_state, strict=False)
        return [counts[kept] for counts, kept in here]

    def layer_rows(self, k: int) -> slice:
        """The rows of layer ``k``."""
        start = self.layer_start
        return slice(int(start[k]) * self.n_actions, int(start[k + 1]) * self.n_actions)

    def layer_entries(self, k: int) -> slice:
        """The entries of layer ``k``."""
        rows = self.layer_rows(k)
        return slice(int(self.row_start[rows.start]), int(self.row_start[rows.stop]))

    def row_sizes(self) -> Numbers:
        """The number of declared successors of every row."""
        return np.diff(self.row_start)

    def entry_rows(self) -> Numbers:
        """The row of every entry."""
        return np.repeat(np.arange(self.n_rows), self.row_sizes())

    def entry_successors(self) -> Numbers:
        """The successor state of every entry (flat state number)."""
        if not self.is_dense:
            return self.successor
        offset = np.arange(self.n_entries) - np.repeat(self.row_start[:-1], self.row_sizes())
        return np.repeat(self.first_successor, self.row_sizes()) + offset

    def state_name(self, layer: int, state: int) -> str:
        """The name of a state, given by its number within the layer; its declared number if none.

        With a declared support the number within the layer counts the states that are kept, and
        ``original_state[layer][state]`` is the declared one.
        """
        return self.names.state(layer, int(self.original_state[layer][state]))

    def action_name(self, layer: int, state: int, action: int) -> str:
        """The name of an action in a state, both given by their numbers; the number if none."""
        return self.names.action(layer, int(self.original_state[layer][state]), action)

    def name_of_row(self, r: int) -> str:
        """A row in the user's terms, for messages."""
        k = int(self.row_layer[r])
        flat_state, action = divmod(int(r), self.n_actions)
        state = flat_state - int(self.layer_start[k])
        named = self.action_name(k, state, action)
        return f"layer {k}, state {self.state_name(k, state)}, action {named}"
