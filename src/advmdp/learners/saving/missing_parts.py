"""What files of earlier versions lack, in the state of a learner of today."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.layout import Layout

Saved = dict[str, NDArray[Any]]


def completed(
    saved: Mapping[str, NDArray[Any]], mine: Mapping[str, NDArray[Any]], layout: Layout
) -> Saved:
    """A saved state with what earlier versions did not keep.

    Arrays without entries may be missing, kept factors, which are forgotten then, and the widths of
    the rows of a box, which its bounds tell.
    """
    found = {**{name: array for name, array in mine.items() if array.size == 0}, **saved}
    kept = {name: np.zeros_like(array) for name, array in mine.items() if ".kept." in name}
    if not kept.keys() & found.keys():
        found |= kept
    for name in mine.keys() - found.keys():
        box = name.removesuffix("widths")
        sides = (f"{box}lower", f"{box}upper")
        if name.endswith("rows.widths") and all(_are_of(layout, found.get(side)) for side in sides):
            lower, upper = (found[side] for side in sides)
            found[name] = np.add.reduceat(upper - lower, layout.row_start[:-1])
    return found


def _are_of(layout: Layout, table: Any) -> bool:
    """Whether it is a number for every triple."""
    return isinstance(table, np.ndarray) and table.shape == (layout.n_entries,)
