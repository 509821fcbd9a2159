"""Rows of the transition that are known exactly, beside rows that are not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.numbers import float_array
from advmdp.errors import InvalidInput
from advmdp.layout.checks import normalised_rows

if TYPE_CHECKING:
    from advmdp.layout import Layout

SUM_TOLERANCE = 1e-9


def checked_known_rows(
    layout: Layout, table: Any
) -> tuple[NDArray[np.bool_], NDArray[np.float64]] | None:
    """Which rows are known, and the transition over entries, zero elsewhere; None if none is.

    ``table`` is a triple table in which every row is a distribution or all NaN (not known).  A row
    that shares its counts with a known one has the same transition, so it is known as well.
    """
    if table is None:
        return None
    arrays = _arrays(layout, table)
    empty = [np.isnan(array) for array in arrays]
    known = _flat_marks(layout, [~marks.any(axis=2) for marks in empty])
    partly = ~known & _flat_marks(layout, [~marks.all(axis=2) for marks in empty])
    if partly.any():
        row = int(np.flatnonzero(partly)[0])
        raise InvalidInput(
            f"known_rows: {layout.name_of_row(row)} has NaN beside numbers; give all its "
            "probabilities, or NaN everywhere for a row that is not known"
        )
    filled = [np.where(marks, 0.0, array) for marks, array in zip(empty, arrays, strict=True)]
    flat = layout.flat_triples(filled, "known_rows", fill=True)
    total = np.add.reduceat(flat, layout.row_start[:-1])
    least = np.minimum.reduceat(flat, layout.row_start[:-1])
    wrong = known & ((abs(total - 1.0) > SUM_TOLERANCE) | (least < 0.0))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise InvalidInput(
            f"known_rows: {layout.name_of_row(row)} is not a distribution (sum {total[row]:.9g}, "
            f"smallest {least[row]:.3g}); give probabilities that sum to one, or NaN everywhere "
            "for a row that is not known"
        )
    flat = normalised_rows(flat, layout.row_start)
    _spread_to_shared_rows(layout, known, flat)
    return (known, flat) if known.any() else None


def _arrays(layout: Layout, table: Any) -> list[NDArray[np.float64]]:
    """The table as arrays with three axes, NaN and all."""
    if not isinstance(table, list | tuple) or len(table) != layout.n_layers:
        raise InvalidInput(f"known_rows: give a list of {layout.n_layers} arrays, one per layer")
    arrays = []
    for k, given in enumerate(table):
        array = float_array(given, f"known_rows: layer {k}")
        if array.ndim != 3:
            raise InvalidInput(f"known_rows: layer {k} needs shape (n_k, A, n_k+1)")
        arrays.append(array)
    return arrays


def _flat_marks(layout: Layout, marks: list[Any]) -> NDArray[np.bool_]:
    """A pair table of truth values over rows."""
    flat = layout.flat_pairs([mark.astype(np.float64) for mark in marks], "known_rows", fill=True)
    return np.asarray(flat > 0.0)


def known_row_tables(layout: Layout) -> list[NDArray[np.float64]] | None:
    """``known_rows`` as it can be declared again: NaN where nothing is known; None if no row is."""
    if layout.known is None:
        return None
    known, transition = layout.known
    tables = [np.array(table) for table in layout.triples(transition)]
    for table, mask in zip(tables, layout.pairs(known.astype(np.float64)), strict=True):
        table[mask == 0.0] = np.nan
    return tables


def _spread_to_shared_rows(
    layout: Layout, known: NDArray[np.bool_], flat: NDArray[np.float64]
) -> None:
    """Successor j of a row corresponds to successor j of every row that shares its counts."""
    if layout.counter_row is None:
        return
    teacher: dict[int, int] = {}
    for row in np.flatnonzero(known).tolist():
        teacher.setdefault(int(layout.counter_row[row]), row)
    size = layout.row_sizes()
    for r, pool in enumerate(layout.counter_row.tolist()):
        source = teacher.get(pool)
        if source is None:
            continue
        here, there = layout.row_start[r], layout.row_start[source]
        shared = flat[there : there + size[source]]
        if known[r] and abs(flat[here : here + size[r]] - shared).max() > SUM_TOLERANCE:
            raise InvalidInput(
                f"known_rows: {layout.name_of_row(r)} and {layout.name_of_row(source)} share their "
                "counts but have different transitions; give them one, or do not let them share"
            )
        flat[here : here + size[r]] = shared
        known[r] = True
