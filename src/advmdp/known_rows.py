"""Rows of the transition that are known exactly, beside rows that are not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from advmdp.errors import InvalidInput

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
    if not isinstance(table, list | tuple) or len(table) != layout.n_layers:
        raise InvalidInput(f"known_rows: give a list of {layout.n_layers} arrays, one per layer")
    filled, marks = [], []
    for k, given in enumerate(table):
        try:
            array = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidInput(f"known_rows: layer {k} is not an array of numbers") from None
        if array.ndim != 3:
            raise InvalidInput(f"known_rows: layer {k} needs shape (n_k, A, n_k+1)")
        missing = np.asarray(np.isnan(array).any(axis=2))
        filled.append(np.where(missing[:, :, None], 0.0, array))
        marks.append(np.where(missing, 0.0, 1.0))
    known = layout.flat_pairs(marks, "known_rows") > 0.0
    flat = layout.flat_triples(filled, "known_rows")
    total = np.add.reduceat(flat, layout.row_start[:-1])
    least = np.minimum.reduceat(flat, layout.row_start[:-1])
    wrong = known & ((abs(total - 1.0) > SUM_TOLERANCE) | (least < 0.0))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise InvalidInput(
            f"known_rows: {layout.name_of_row(row)} is not a distribution (sum {total[row]:.9g}); "
            "give probabilities that sum to one, or NaN for a row that is not known"
        )
    _spread_to_shared_rows(layout, known, flat)
    return (known, flat) if known.any() else None


def known_row_tables(layout: Layout) -> list[NDArray[np.float64]] | None:
    """``known_rows`` as it can be declared again, NaN in other rows; None if no row is known."""
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
    if layout.row_pool is None:
        return
    teacher: dict[int, int] = {}
    for row in np.flatnonzero(known).tolist():
        teacher.setdefault(int(layout.row_pool[row]), row)
    size = layout.row_sizes()
    for r, pool in enumerate(layout.row_pool):
        source = teacher.get(int(pool))
        if source is None:
            continue
        here, there = layout.row_start[r], layout.row_start[source]
        given = flat[there : there + size[source]]
        if known[r] and not np.allclose(flat[here : here + size[r]], given, atol=SUM_TOLERANCE):
            raise InvalidInput(
                f"known_rows: {layout.name_of_row(r)} and {layout.name_of_row(source)} share their "
                "counts but have different transitions; give them one, or do not let them share"
            )
        flat[here : here + size[r]] = given
        known[r] = True
