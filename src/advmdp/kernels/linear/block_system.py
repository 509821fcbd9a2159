"""The storage of a symmetric system that couples a layer with itself and with the next one.

Of a block D[k] on the diagonal only one triangle is used; C[k] couples layers k and k + 1.
"""

from __future__ import annotations

from typing import NamedTuple

from ..model.graph import Floats, Index
from ..runtime.storage import Common, Scratch


class Blocks(NamedTuple):
    """The matrix of narrow layers, 1 .. L - 1; empty for wide ones."""

    entries: Scratch[Floats]  # D[1], C[1], D[2], C[2], ...
    diagonal_at: Common[Index]  # (L,) where D[k] begins
    coupling_at: Common[Index]  # (L,) where C[k] begins
    slot_row: Common[Index]  # of each entry the state of its line
    slot_column: Common[Index]  # and that of its column
    pull: Scratch[Floats]  # (S,) scratch: the column that is being eliminated
    original: Scratch[Floats]  # (S,) scratch: pivots before their block was touched


class FullCouplings(NamedTuple):
    """Any state may be coupled with any of the next layer."""

    none: Common[Index]  # (0,)


class Strips(NamedTuple):
    """Where the entries of C begin: a state is coupled with few of the next layer."""

    at: Common[Index]  # (L,) where the strips of C[k] begin
    top: Common[Index]  # of eight columns each: the first of eight lines with any entries
