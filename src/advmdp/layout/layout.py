"""The shape of a layered MDP: layers, actions and declared successors.

All index arithmetic of the package lives in this room.  Three flat orders are used everywhere below
the public API (the paper's symbols in brackets):

* states  ``x = 0 .. n_states - 1``, layer after layer, the terminal state last        [X]
* rows    ``r = x * n_actions + a`` for every state except the terminal one           [(x, a)]
* entries ``e = row_start[r] .. row_start[r + 1]``, the declared successors of a row  [(x, a, x')]

Users see *tables*: lists over layers ``k = 0 .. L - 1`` of float64 arrays, a pair table with
arrays of shape ``(n_k, A)``, a triple table with arrays of shape ``(n_k, A, n_{k+1})``.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.display.layers import layers_text, sizes_text
from advmdp.display.pictures import layers_picture
from advmdp.display.shown import Shown
from advmdp.kernels.model.graph import Graph
from advmdp.layout.actions import checked_actions, rows_in_place, same_rows
from advmdp.layout.checks import (
    MAX_ENTRIES,
    checked_shared_rows,
    checked_sizes,
    checked_support,
    reachable,
    refuse_too_large,
    refuse_too_many,
)
from advmdp.layout.known_rows import checked_known_rows
from advmdp.layout.names import checked_names
from advmdp.layout.tables import Tables


class Layout(Shown, Tables):
    """Layers, actions and the possible successors of every (state, action).

    Parameters
    ----------
    layer_sizes
        ``(n_0, ..., n_L)``; the first and the last layer have one state.
    n_actions
        The number of actions, the same in every state; or a list for each layer k < L with the
        numbers of its states.  Then ``n_actions`` is the largest of them, all tables have room for
        so many, and what they hold for actions that do not exist is ignored
        (``advmdp.layout.actions``).
    successors
        Optional declared support, one array per layer ``k < L``: either booleans of shape
        ``(n_k, A, n_{k+1})`` or state numbers of shape ``(n_k, A, m)`` padded with -1.
        By default every state of the next layer is possible.  States that the support cannot
        reach are pruned; ``original_state[k][i]`` is the declared number of the i-th kept state.
    shared_rows
        Optional knowledge that rows have the same transition, as in an MDP whose dynamics do not
        change over time: one array of whole numbers of shape ``(n_k, A)`` per layer.  Rows with the
        same number share their visit counts, the j-th successor of one corresponding to the j-th
        of the other; -1 shares with nobody.  For learners with confidence sets by epochs (UOB-REPS
        and its relatives, FPOP), and for UCBVI and UCRL2 with ``stationary=True``.  With it,
        Q-learning learns from a step in all rows that share, each towards its own next value.  All
        others take no notice, and neither does equality.
    known_rows
        Optional knowledge of single rows: a triple table in which every row is a distribution that
        is known exactly, or all NaN.  Deterministic moves and the draw of a start state are such
        rows.  Learners with confidence sets (UOB-REPS and its relatives, FPOP, UCRL2) have nothing
        to learn there; all others take no notice, and neither does equality.  See
        ``LayeredMDP.with_known_rows``.
    state_names
        Optional names for tables, exports and messages: a list for each layer, by declared numbers
        (the last layer may be left out).  Without them states are called by their numbers.
    action_names
        Optional names of the actions: one list for all states, or for each layer a list with the
        names of every state.  Names are no part of equality.

    >>> layout = Layout(layer_sizes=(1, 3, 3, 1), n_actions=2)
    >>> layout.n_layers, layout.n_states, layout.n_rows, layout.n_entries
    (3, 8, 14, 30)
    >>> Layout(layer_sizes=(1, 2, 1), n_actions=[[2], [1, 3]]).action_counts
    [array([2]), array([1, 3])]
    >>> named = Layout((1, 2, 1), 2, state_names=[["depot"], ["north", "south"]])
    >>> named.state_name(1, 0), named.state_name(2, 0), named.action_name(1, 0, 1)
    ('north', '0', '1')
    """

    def __init__(
        self,
        layer_sizes: Sequence[int],
        n_actions: int | Sequence[Any],
        successors: Sequence[Any] | None = None,
        shared_rows: Sequence[Any] | None = None,
        known_rows: Sequence[Any] | None = None,
        state_names: Sequence[Sequence[str]] | None = None,
        action_names: Sequence[Any] | None = None,
    ) -> None:
        self.declared_sizes = checked_sizes(layer_sizes)
        self.n_actions, counts = checked_actions(n_actions, self.declared_sizes, MAX_ENTRIES)
        self.declared_counts = counts
        """The numbers of actions of all declared states; None where they are all the same."""
        self.names = checked_names(
            state_names, action_names, self.declared_sizes, self.n_actions, counts
        )
        self.n_layers = len(self.declared_sizes) - 1
        self.is_dense = successors is None
        refuse_too_large(self.declared_sizes, self.n_actions, is_dense=self.is_dense)
        if successors is None:
            self.layer_sizes = self.declared_sizes
            self.original_state = [np.arange(n) for n in self.declared_sizes]
        else:
            masks = checked_support(successors, self.declared_sizes, self.n_actions, counts)
            self.original_state = reachable(masks)
            self.layer_sizes = tuple(len(kept) for kept in self.original_state)
        self.n_states = sum(self.layer_sizes)
        self.n_rows = (self.n_states - 1) * self.n_actions
        self.layer_start = np.concatenate([[0], np.cumsum(self.layer_sizes)]).astype(np.int64)
        if successors is None:
            self._index_dense()
        else:
            self._index_sparse(masks)
        self.n_entries = int(self.row_start[-1])
        self.stands_for = (
            None if counts is None else rows_in_place(counts, self.original_state, self.n_actions)
        )
        """For every row the row that is played in its place; None where every action exists."""
        self.counter_row = checked_shared_rows(shared_rows, self)
        self.row_layer = np.repeat(
            np.arange(self.n_layers), [n * self.n_actions for n in self.layer_sizes[:-1]]
        )
        # of the arrays of triple tables, and where each lies in a flat vector
        self._shapes = [(n, self.n_actions, m) for n, m in pairwise(self.layer_sizes)]
        self._row_slices = [self.layer_rows(k) for k in range(self.n_layers)]
        self._pair_shapes = [shape[:2] for shape in self._shapes]
        self._slices = [self.layer_entries(k) for k in range(self.n_layers)]
        self.known = checked_known_rows(self, known_rows)
        """Which rows are known and their transition over entries; None where no row is."""
        self.rest_loss: float | None = None
        """The loss of each step after an episode broke off (``advmdp.with_break_off``), or None."""
        self._graphs: dict[str, Graph] = {}  # made when first asked for: nobody writes to them

    # ------------------------------------------------------------------ construction

    def _index_dense(self) -> None:
        sizes, n_actions = self.layer_sizes, self.n_actions
        rows = [n * n_actions for n in sizes[:-1]]
        row_size = np.repeat(np.array(sizes[1:]), rows)
        self.row_start = np.concatenate([[0], np.cumsum(row_size)]).astype(np.int64)
        self.first_successor = np.repeat(self.layer_start[1:-1], rows)
        self.successor = np.zeros(0, dtype=np.int64)

    def _index_sparse(self, masks: list[NDArray[np.bool_]]) -> None:
        successor, row_size, first = [], [], []
        for k, mask in enumerate(masks):
            here, there = self.original_state[k], self.original_state[k + 1]
            rows = mask[here][:, :, there].reshape(-1, len(there))
            size = rows.sum(axis=1)
            targets = np.nonzero(rows)[1]
            begin = np.concatenate([[0], np.cumsum(size)])[:-1]
            # a row whose successors are consecutive needs no index table in the kernels
            contiguous = rows.shape[1] - rows[:, ::-1].argmax(1) - rows.argmax(1) == size
            first.append(np.where(contiguous, targets[begin] + self.layer_start[k + 1], -1))
            successor.append(targets + self.layer_start[k + 1])
            row_size.append(size)
        refuse_too_many(sum(len(s) for s in successor))
        self.successor = np.concatenate(successor).astype(np.int64)
        self.row_start = np.concatenate([[0], np.cumsum(np.concatenate(row_size))]).astype(np.int64)
        self.first_successor = np.concatenate(first).astype(np.int64)

    def knowing(self, known_rows: Any) -> Layout:
        """The same layout with other knowledge of single rows, see ``known_rows``."""
        other = copy(self)
        other.known = checked_known_rows(other, known_rows)
        return other

    def named(self, state_names: Any = None, action_names: Any = None) -> Layout:
        """The same layout with other names, see ``state_names`` and ``action_names``."""
        other = copy(self)
        other.names = checked_names(
            state_names, action_names, self.declared_sizes, self.n_actions, self.declared_counts
        )
        return other

    def graph(self) -> Graph:
        """The index arrays in the form that the kernels take."""
        if "rows" not in self._graphs:
            self._graphs["rows"] = self._new_graph()
        return self._graphs["rows"]

    def lines(self) -> Graph:
        """A row for each state, to hold the sum of its actions; without entries when sparse."""
        if "lines" not in self._graphs:
            self._graphs["lines"] = self._new_lines()
        return self._graphs["lines"]

    def _new_graph(self) -> Graph:
        scattered = self.first_successor < 0
        return Graph(
            n_actions=self.n_actions,
            layer_start=self.layer_start.astype(np.uint32),
            row_start=self.row_start.astype(np.uint32),
            first=np.where(scattered, 0, self.first_successor).astype(np.uint32),
            scattered=scattered.astype(np.uint8),
            successor=self.successor.astype(np.uint32),
            owner=np.repeat(np.arange(self.n_states - 1), self.n_actions).astype(np.uint32),
            layer=np.repeat(np.arange(self.n_layers + 1), self.layer_sizes).astype(np.uint32),
        )

    def _new_lines(self) -> Graph:
        if self.n_entries < sum(n * n_actions * m for n, n_actions, m in self._shapes):
            nothing = np.zeros(self.n_states, dtype=np.uint32)
            return self.graph()._replace(n_actions=1, row_start=nothing)
        return Layout(self.layer_sizes, 1).graph()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Layout):
            return NotImplemented
        if other is self:
            return True
        return (
            self.layer_sizes == other.layer_sizes
            and self.n_actions == other.n_actions
            and np.array_equal(self.row_start, other.row_start)
            and np.array_equal(self.entry_successors(), other.entry_successors())
            and same_rows(self.stands_for, other.stands_for)
        )

    def __hash__(self) -> int:
        return hash((self.layer_sizes, self.n_actions, self.n_entries))

    def __repr__(self) -> str:
        support = "" if self.is_dense else f", {self.n_entries} declared triples"
        sizes = sizes_text(self.layer_sizes)
        return f"Layout(layer_sizes={sizes}, n_actions={self._told_actions()}{support})"

    def _told_actions(self) -> str:
        counts = np.concatenate(self.action_counts)
        same = counts.min() == counts.max()
        return f"{counts.max()}" if same else f"{counts.min()} to {counts.max()}"

    def _facts(self) -> dict[str, Any]:
        return {
            "states in each layer": layers_text(self.layer_sizes).replace(",", ", "),
            "actions": self._told_actions(),
            "triples": f"{self.n_entries:,}" + ("" if self.is_dense else ", declared"),
        }

    def _picture(self) -> str:
        return layers_picture(self.layer_sizes)
