"""Tables as users see them, and the flat vectors of the kernels: from one to the other and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.arguments import is_sequence
from advmdp.checks.numbers import float_array
from advmdp.errors import InvalidInput
from advmdp.layout.actions import with_last_action
from advmdp.layout.numbering import Numbering, Numbers

Floats = NDArray[np.float64]
Table = list[Floats]
REAL = np.dtype(np.float64)


class Tables(Numbering):
    """The conversions of a layout."""

    stands_for: Numbers | None
    # shapes of the arrays of tables, and where each lies in a flat vector
    _shapes: list[tuple[int, int, int]]
    _pair_shapes: list[tuple[int, int]]
    _row_slices: list[slice]
    _slices: list[slice]

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

    def _sparse_index(self, k: int) -> tuple[Numbers, Numbers]:
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

    def _counts_of(self, k: int) -> list[Numbers]:
        """The numbers of actions of the declared states of a layer, and of those that are kept."""
        declared = [] if self.declared_counts is None else [self.declared_counts[k]]
        return [*declared, self.action_counts[k]]

    def _places(self, *, pairs: bool) -> Numbers:
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
