"""What every set of transitions answers: the only place where sets are told apart.

A set is a product over rows (x, a) of sets of distributions over the successors.  Its record has
the fields of ``status`` and arrays of its own, and it registers an implementation of each function
below (see ``runtime/dispatch``).  A caller asks about BOUND rows only, unless a function says that
it answers for all; FREE and KNOWN rows are the same in every set.

To add a set: its file in this folder, its line in ``__init__``, its class in ``advmdp.steps``.
``tests/test_every_set.py`` finds it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model.graph import Floats, Graph
from ..model.visits import Visits
from ..runtime.dispatch import Borrowed, dispatched
from ..runtime.targets import leaf
from .held import UNKNOWN, HeldRows
from .packed import ListedSuccessors, PackedRows

Order = NDArray[np.int64]


class Matrices(NamedTuple):
    """A transition that is known, as matrices (``known``); empty where there are none."""

    along: Any
    across: Any


# ---------------------------------------------------------------------- linear functions


@dispatched("rows")
def maximise_row(graph: Graph, r: int, rows: Any, value: Floats, order: Order) -> float:
    """max <p, value> over the row; ``order`` has its successors by descending value >= 0."""


@leaf
def _exact_maximum(graph: Graph, r: int, rows: Any, value: Floats, order: Order) -> float:
    return maximise_row(graph, r, rows, value, order)  # type: ignore[no-any-return]


@dispatched("rows", default=_exact_maximum)
def maximise_printed(graph: Graph, r: int, rows: Any, value: Floats, order: Order) -> float:
    """The same for any row, by the procedure that a paper prints, where that is another one."""


@dispatched("rows")
def largest_probability(graph: Graph, r: int, position: int, rows: Any) -> float:
    """max p(position) over the row: the same for the indicator of one successor."""


@leaf
def _nothing_to_fetch(rows: Any, e: int) -> None:
    return


@dispatched("rows", default=_nothing_to_fetch)
def fetch_entry(rows: Any, e: int) -> None:
    """Ask memory for what the set says of entry e; of any row, also of none (``prefetch``)."""


@leaf
def _never(rows: Any) -> bool:
    return False


@leaf
def _no_box(rows: Any, r: int, begin: int, size: int, lower: Floats, room: Floats) -> float:
    return math.nan


@dispatched("rows", default=_never)
def has_boxes(rows: Any) -> bool:
    """Whether the set of every row is lower <= p <= upper: then it has ``write_box`` and
    ``load_pack`` too."""


@dispatched("rows", default=_no_box)
def write_box(rows: Any, r: int, begin: int, size: int, lower: Floats, room: Floats) -> float:
    """Lower bounds of a row, of any status, and upper - lower; returns 1 - the sum of ``lower``."""


@leaf
def _no_eight(graph: Graph, r: int, rows: Any, value: Floats, order: Order, out: Floats) -> None:
    return


@leaf
def _no_eight_entries(graph: Graph, r: int, position: int, rows: Any, out: Floats) -> None:
    return


@dispatched("rows", default=_never)
def takes_eight_rows(rows: Any) -> bool:
    """Whether the set has the two functions below: for full rows r .. r + 7 of one layer."""


@dispatched("rows", default=_no_eight)
def maximise_eight_rows(
    graph: Graph, r: int, rows: Any, value: Floats, order: Order, out: Floats
) -> None:
    """out[r ..] = ``maximise_row`` of eight rows of any status."""


@dispatched("rows", default=_no_eight_entries)
def eight_probabilities(graph: Graph, r: int, position: int, rows: Any, out: Floats) -> None:
    """out[r ..] = ``largest_probability`` of eight rows of any status."""


# ---------------------------------------------------------------------- known rows


@dispatched("rows", returns_record=True)
def known_transition(rows: Any) -> Borrowed:
    """The array over entries in which KNOWN rows stand."""


@dispatched("rows")
def make_row_known(graph: Graph, r: int, transition: Floats, rows: Any) -> None:
    """Make row r KNOWN: its set is the one distribution that ``transition`` has there."""


@dispatched("rows", default=_never)
def knows_every_row(rows: Any) -> bool:
    """Whether the set is one transition function."""


@leaf
def _no_matrices(chance: Floats, rows: Any) -> Matrices:
    return Matrices(chance, chance)


@dispatched("rows", default=_no_matrices, returns_record=True)
def known_matrices(chance: Floats, rows: Any) -> Matrices:
    """The matrices of a set that knows every row; nobody asks another one, which has none."""


# ---------------------------------------------------------------------- the relative-entropy step


@dispatched("rows")
def solve_row(
    graph: Graph, r: int, chance: Floats, tilt: Floats, beta: Floats, rows: Any, held: HeldRows
) -> float:
    """Solve the row problem (``held``) with tilt = e^beta; e^gain, or -1 if floats cannot hold it.

    A row that no bound touches is left SCALED; otherwise it is WRITTEN.
    """


@dispatched("rows")
def solve_row_in_logs(
    graph: Graph, r: int, chance: Floats, beta: Floats, rows: Any, held: HeldRows
) -> None:
    """The same in the log domain: always WRITTEN, and nothing overflows.

    ``held.work`` holds ln p~ + beta on entry.
    """


@leaf
def _not_inside(
    graph: Graph, r: int, chance: Floats, tilt: Floats, rows: Any, held: HeldRows
) -> bool:
    return False


@leaf
def _unknown(graph: Graph, r: int, chance: Floats, rows: Any) -> float:
    return UNKNOWN


@leaf
def _no_guess(
    graph: Graph, r: int, chance: Floats, rows: Any, held: HeldRows, push: Floats
) -> None:
    return


@dispatched("rows", default=_never)
def has_tightness(rows: Any) -> bool:
    """Whether the set can say how far a row is from its bounds: such rows may be merged."""


@dispatched("rows", default=_not_inside)
def stays_inside(
    graph: Graph, r: int, chance: Floats, tilt: Floats, rows: Any, held: HeldRows
) -> bool:
    """Whether scale p~ tilt lies in the row's set."""


@dispatched("rows", default=_unknown)
def row_tightness(graph: Graph, r: int, chance: Floats, rows: Any) -> float:
    """At least one over the factor by which the row may move; above one if it is outside."""


@dispatched("rows", default=_no_guess)
def guess_active_bounds(
    graph: Graph, r: int, chance: Floats, rows: Any, held: HeldRows, push: Floats
) -> None:
    """Mark the entries of a resting row that lie on a bound and that beta + push moves beyond."""


# ---------------------------------------------------------------------- rows in packs (``packed``)


@leaf
def _no_bounds(rows: Any, packed: PackedRows, begin: int, slot: int, size: int) -> None:
    return


@leaf
def _no_pack(
    rows: Any, packed: PackedRows, begin: int, vector: Floats, first: int, slot: int, size: int
) -> None:
    return


@dispatched("rows", default=_never)
def solves_packs(rows: Any) -> bool:
    """Whether the set solves eight rows at a time: then it has the five functions below too."""


@dispatched("rows", default=_no_bounds)
def load_pack(rows: Any, packed: PackedRows, begin: int, slot: int, size: int) -> None:
    """Copy the bounds of the rows of a pack."""


@leaf
def _no_short_bounds(
    rows: Any, packed: PackedRows, listed: ListedSuccessors, begin: int, slot: int, size: int
) -> None:
    return


@dispatched("rows", default=_no_short_bounds)
def load_short_pack(
    rows: Any, packed: PackedRows, listed: ListedSuccessors, begin: int, slot: int, size: int
) -> None:
    """The same for rows that list their successors, and may be shorter than the pack."""


@leaf
def _no_solution(
    rows: Any,
    packed: PackedRows,
    begin: int,
    tilt: Floats,
    beta: Floats,
    first: int,
    slot: int,
    size: int,
) -> None:
    return


@dispatched("rows", default=_no_solution)
def solve_packed(
    rows: Any,
    packed: PackedRows,
    begin: int,
    tilt: Floats,
    beta: Floats,
    first: int,
    slot: int,
    size: int,
) -> None:
    """Solve the row problems of a pack: p_beta and what ``packed`` says of it, and who is odd."""


@dispatched("rows", default=_no_pack)
def guess_packed(
    rows: Any, packed: PackedRows, begin: int, push: Floats, first: int, slot: int, size: int
) -> None:
    """``guess_active_bounds`` for a pack of resting rows."""


@leaf
def _no_short_pack(
    rows: Any,
    packed: PackedRows,
    listed: ListedSuccessors,
    begin: int,
    push: Floats,
    slot: int,
    size: int,
) -> None:
    return


@dispatched("rows", default=_no_short_pack)
def guess_short_pack(
    rows: Any,
    packed: PackedRows,
    listed: ListedSuccessors,
    begin: int,
    push: Floats,
    slot: int,
    size: int,
) -> None:
    """The same for rows that list their successors."""


# ---------------------------------------------------------------------- counters


@dispatched("rows")
def learns_from_counts(rows: Any) -> bool:
    """Whether the set shrinks as visits are counted."""


@dispatched("rows")
def rebuild_row(graph: Graph, r: int, visits: Visits, log_term: float, rows: Any) -> None:
    """The confidence set of a row (FREE or BOUND) from its counters."""


@dispatched("rows")
def copy_row(graph: Graph, r: int, rows: Any, target: Any) -> None:
    """Copy everything about row r from ``rows`` to ``target``."""


@dispatched("rows")
def mean_width(rows: Any) -> float:
    """How much is left open, over all rows: 1 while anything is possible, 0 when all is known."""


@dispatched("rows")
def contains_row(graph: Graph, r: int, transition: Floats, rows: Any, tolerance: float) -> bool:
    """Whether row r of ``transition`` lies in the row's set."""


@leaf
def _no_common_bounds(rows: Any, low: Floats, high: Floats) -> None:
    return


@dispatched("rows", default=_no_common_bounds)
def common_bounds(rows: Any, low: Floats, high: Floats) -> None:
    """Intersect bounds over entries with those of the set, where it has such bounds."""


@dispatched("rows")
def log_scale_to_contain(
    graph: Graph, r: int, transition: Floats, visits: Visits, log_term: float, rows: Any
) -> float:
    """The factor on ``log_term`` with which the set of a visited row would just contain it."""
