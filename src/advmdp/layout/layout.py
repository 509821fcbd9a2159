"""The shape of a layered MDP: layers, actions and declared successors.

All index arithmetic of the package lives here.  Three flat orders are used everywhere below the
public API (the paper's symbols in brackets):

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

from advmdp.checks.arguments import is_sequence
from advmdp.checks.numbers import float_array
from advmdp.display.pictures import layers_picture
from advmdp.display.shown import Shown
from advmdp.errors import InvalidInput
from advmdp.kernels.model.graph import Graph
from advmdp.layout.actions import checked_actions, rows_in_place, same_rows, with_last_action
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

Floats = NDArray[np.float64]
Table = list[Floats]
REAL = np.dtype(np.float64)


class Layout(Shown):
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
        and its relatives, FPOP), and for UCBVI and UCRL2 with ``stationary=True``; all others
        take no notice, and neither does equality.  Q-learning has no counts to share: its value
        of a pair is that of one step, and belongs to no other.
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

    # ------------------------------------------------------------------ places and names

    @property
    def action_counts(self) -> list[NDArray[np.int64]]:
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

    def row_sizes(self) -> NDArray[np.int64]:
        """The number of declared successors of every row."""
        return np.diff(self.row_start)

    def entry_rows(self) -> NDArray[np.int64]:
        """The row of every entry."""
        return np.repeat(np.arange(self.n_rows), self.row_sizes())

    def entry_successors(self) -> NDArray[np.int64]:
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

    # ------------------------------------------------------------------ tables <-> flat vectors

    def flat_pairs(self, table: Any, name: str = "table", *, fill: bool = False) -> Floats:
        """A pair table (or a flat vector over rows) as a new flat vector, checked.

        With ``fill``, for losses and the like, whatever it holds for actions that do not exist is
        replaced by the value of the action that is played in their place.
        """
        return self._flatten(table, name, pairs=True, fill=fill)

    def flat_triples(self, table: Any, name: str = "table", *, fill: bool = False) -> Floats:
        """A triple table (or a flat vector over entries) as a new flat vector, checked.

        Values outside the declared support must be zero; ``fill`` as for ``flat_pairs``.
        """
        return self._flatten(table, name, pairs=False, fill=fill)

    def gather_pairs(self, table: Any, name: str = "table") -> Floats:
        """``flat_pairs`` without the look at the values themselves."""
        return self._gather(table, name, pairs=True, fill=False)

    def gather_triples(self, table: Any, name: str = "table") -> Floats:
        """``flat_triples`` without the look at the values themselves."""
        return self._gather(table, name, pairs=False, fill=False)

    def pairs(self, flat: Floats) -> Table:
        """A flat vector over rows as a pair table (views)."""
        return [flat[rows].reshape(-1, self.n_actions) for rows in self._row_slices]

    def triples(self, flat: Floats) -> Table:
        """A flat vector over entries as a triple table; zero outside the declared support."""
        parts = zip(self._slices, self._shapes, strict=True)
        if self.is_dense:
            return [flat[entries].reshape(shape) for entries, shape in parts]
        tables = []
        for k, (entries, shape) in enumerate(parts):
            dense = np.zeros(shape, dtype=flat.dtype)
            dense.reshape(-1, shape[2])[self._sparse_index(k)] = flat[entries]
            tables.append(dense)
        return tables

    def _sparse_index(self, k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        entries, rows = self.layer_entries(k), self.layer_rows(k)
        row = np.repeat(np.arange(rows.stop - rows.start), self.row_sizes()[rows])
        return row, self.successor[entries] - int(self.layer_start[k + 1])

    def _flatten(self, table: Any, name: str, *, pairs: bool, fill: bool) -> Floats:
        flat = self._gather(table, name, pairs=pairs, fill=fill and self.stands_for is not None)
        if not np.isfinite(flat).all():
            place = int(np.flatnonzero(~np.isfinite(flat))[0])
            row = place if pairs else int(np.searchsorted(self.row_start, place, "right")) - 1
            raise InvalidInput(
                f"{name}: {flat[place]} at {self.name_of_row(row)}; use finite values"
            )
        return flat

    def _gather(self, table: Any, name: str, *, pairs: bool, fill: bool) -> Floats:
        if pairs and not fill:
            whole = self.whole_pairs(table)
            if whole is not None:
                return whole
        size = self.n_rows if pairs else self.n_entries
        if isinstance(table, np.ndarray) and table.ndim == 1 and table.dtype != object:
            if table.shape != (size,):
                raise InvalidInput(f"{name}: a flat vector needs {size} values, got {table.size}")
            flat = float_array(table, name).copy()
            return flat[self._places(pairs=pairs)] if fill else flat
        if not is_sequence(table) or len(table) != self.n_layers:
            raise InvalidInput(
                f"{name}: give a list of {self.n_layers} arrays, one per layer but the last"
            )
        parts = [self._layer_part(table[k], k, name, pairs, fill) for k in range(self.n_layers)]
        return np.concatenate(parts, axis=None)

    def whole_pairs(self, table: Any) -> Floats | None:
        """``gather_pairs`` where nothing is left to convert, as in what ``pairs`` returns."""
        if type(table) is not list or len(table) != self.n_layers:
            return None
        for part, shape in zip(table, self._pair_shapes, strict=True):
            if type(part) is not np.ndarray or part.dtype is not REAL or part.shape != shape:
                return None
        return np.concatenate(table).reshape(-1)

    def _counts_of(self, k: int) -> list[NDArray[np.int64]]:
        """The numbers of actions of the declared states of a layer, and of those that are kept."""
        declared = [] if self.declared_counts is None else [self.declared_counts[k]]
        return [*declared, self.action_counts[k]]

    def _places(self, *, pairs: bool) -> NDArray[np.int64]:
        """The row, or the entry, whose value counts for each."""
        rows = np.arange(self.n_rows) if self.stands_for is None else self.stands_for
        if pairs:
            return rows
        shift = np.repeat(self.row_start[rows] - self.row_start[:-1], self.row_sizes())
        return np.arange(self.n_entries) + shift

    def _layer_part(self, given: Any, k: int, name: str, pairs: bool, fill: bool) -> Floats:
        array = float_array(given, f"{name}: layer {k}")
        if fill:
            array = with_last_action(array, self.n_actions, *self._counts_of(k))
        shape: tuple[int, ...] = self._pair_shapes[k] if pairs else self._shapes[k]
        if self.is_dense and array.shape == shape:
            return array
        declared: tuple[int, ...] = (self.declared_sizes[k], self.n_actions)
        if not pairs:
            declared += (self.declared_sizes[k + 1],)
        if array.shape == declared and declared != shape:
            array = array[self.original_state[k]]
            if not pairs:
                array = array[:, :, self.original_state[k + 1]]
        if array.shape != shape:
            raise InvalidInput(f"{name}: layer {k} has shape {array.shape}, expected {declared}")
        if pairs:
            return array
        rows = array.reshape(-1, shape[2])
        index = self._sparse_index(k)
        outside = rows.copy()
        outside[index] = 0.0
        if outside.any():
            row = int(np.nonzero(outside.any(axis=1))[0][0]) + self.layer_rows(k).start
            raise InvalidInput(
                f"{name}: non-zero outside the declared successors at {self.name_of_row(row)}; "
                "add the successor to the layout or set the value to zero"
            )
        return np.asarray(rows[index], dtype=np.float64)

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
        return f"Layout(layer_sizes={self.layer_sizes}, n_actions={self.n_actions}{support})"

    def _facts(self) -> dict[str, Any]:
        return {
            "states in each layer": ", ".join(map(str, self.layer_sizes)),
            "actions": self.n_actions,
            "triples": f"{self.n_entries:,}" + ("" if self.is_dense else ", declared"),
        }

    def _picture(self) -> str:
        return layers_picture(self.layer_sizes)
