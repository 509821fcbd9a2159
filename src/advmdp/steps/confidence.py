"""Sets of transition functions: the box set of the paper, the L1 ball, a known transition.

Each is a product over pairs (x, a) of sets of distributions over the successors.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.arguments import instance
from advmdp.checks.numbers import real_number, unit_number
from advmdp.display.layers import layers_text
from advmdp.display.shown import Shown
from advmdp.errors import InvalidInput
from advmdp.kernels.model.row_status import BOUND, FREE, KNOWN
from advmdp.kernels.sets.ball import BallRows
from advmdp.kernels.sets.box.rows import BoxRows
from advmdp.kernels.sets.interface import known_transition
from advmdp.kernels.sets.known import KnownRows
from advmdp.layout import Floats, Layout, Table
from advmdp.layout.checks import normalised_rows
from advmdp.steps.first_sets import copy_of, free_balls, free_boxes, with_known_rows
from advmdp.steps.workspace import matrices_of

SUM_TOLERANCE = 1e-9


class ConfidenceSet(Shown):
    """What projections and upper occupancy bounds are taken over.

    ``rows`` is the set's record of arrays, as the kernels take it.
    """

    _class_of: ClassVar[dict[type, type[ConfidenceSet]]] = {}
    layout: Layout
    rows: Any

    def __init_subclass__(cls, *, rows: type | None = None, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        if rows is not None:
            ConfidenceSet._class_of[rows] = cls

    def _facts(self) -> dict[str, Any]:
        sizes = layers_text(self.layout.layer_sizes)
        least = float(self.rows.least_occupancy)
        status = self.rows.status[self.layout.row_sizes() > 1]  # one successor leaves no choice
        kinds = {"free": FREE, "bounded": BOUND, "known": KNOWN}
        counts = {name: int((status == kind).sum()) for name, kind in kinds.items()}
        return {
            "layout": f"{sizes} x{self.layout.n_actions}",
            "rows": " ".join(f"{n} {name}" for name, n in counts.items() if n),
            **({"least_occupancy": f"{least:g}"} if least else {}),
        }

    @classmethod
    def _made(cls, layout: Layout, rows: Any) -> Self:
        made = cls.__new__(cls)
        made.layout, made.rows = layout, rows
        return made

    @staticmethod
    def of_rows(layout: Layout, rows: Any) -> ConfidenceSet:
        """The set of a record of arrays, which are copied."""
        return ConfidenceSet._class_of[type(rows)]._made(layout, copy_of(rows))

    def with_least_occupancy(self, least: float) -> Self:
        """The same transitions; projections onto it also keep q(x) >= least for every state."""
        least = real_number(least, "least")
        if not 0.0 <= least <= 1.0 / max(self.layout.layer_sizes):
            raise InvalidInput(
                f"least: {least!r} must be between 0 and one over the widest layer "
                f"({1.0 / max(self.layout.layer_sizes):.4g})"
            )
        return self._made(self.layout, self.rows._replace(least_occupancy=least))

    def known_transition(self) -> Floats:
        """The vector over entries in which known rows stand."""
        return np.asarray(known_transition(self.rows).array)

    def _possible(self) -> NDArray[np.bool_]:
        """Which entries of bound and known rows can have a positive probability."""
        raise NotImplementedError

    def row_widths(self) -> Floats:
        """How much each row leaves open: 1 if everything is possible, 0 if it is known."""
        raise NotImplementedError

    def unreached(self) -> NDArray[np.bool_]:
        """The states to which no transition function of the set leads.

        >>> layout = Layout(layer_sizes=(1, 3, 1), n_actions=1)
        >>> P = [np.array([[[0.5, 0.5, 0.0]]]), np.ones((3, 1, 1))]
        >>> KnownTransition(layout, P).unreached()
        array([False, False, False,  True, False])
        """
        layout = self.layout
        row, successor = layout.entry_rows(), layout.entry_successors()
        possible = self._possible() | (self.rows.status == FREE)[row]
        missing = np.ones(layout.n_states, dtype=np.bool_)
        missing[0] = False
        for k in range(layout.n_layers):
            entries = layout.layer_entries(k)
            leads = possible[entries] & ~missing[row[entries] // layout.n_actions]
            missing[successor[entries][leads]] = False
        return missing


class BoxSet(ConfidenceSet, rows=BoxRows):
    """Distributions with ``lower <= p <= upper`` for every triple, Eq. (confidence_set).

    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=1)
    >>> box = BoxSet.from_counts(layout, [np.array([[900.0]]), np.array([[450.0], [450.0]])],
    ...     [np.array([[[450.0, 450.0]]]), np.array([[[450.0]], [[450.0]]])], log_term=10.0)
    >>> box.upper[0].round(3)
    array([[[0.701, 0.701]]])
    """

    def __init__(self, layout: Layout, lower: Any, upper: Any) -> None:
        low = instance(layout, Layout, "layout").flat_triples(lower, "lower", fill=True)
        high = layout.flat_triples(upper, "upper", fill=True)
        _refuse(layout, (low < 0) | (high > 1) | (low > high), "0 <= lower <= upper <= 1")
        start = layout.row_start[:-1]
        low_sum, high_sum = np.add.reduceat(low, start), np.add.reduceat(high, start)
        empty = (low_sum > 1 + SUM_TOLERANCE) | (high_sum < 1 - SUM_TOLERANCE)
        if empty.any():
            row = int(np.flatnonzero(empty)[0])
            raise InvalidInput(
                f"box set: no distribution fits the bounds at {layout.name_of_row(row)} "
                f"(they sum to {low_sum[row]:.6g} and {high_sum[row]:.6g}); widen them around 1"
            )
        vacuous = np.logical_and.reduceat((low == 0) & (high == 1), start)
        free = vacuous | (layout.row_sizes() == 1)
        status = np.where(free, FREE, BOUND).astype(np.uint8)
        self.layout, self.rows = (
            layout,
            BoxRows(status, low, high, 1.0 - low_sum, np.add.reduceat(high - low, start)),
        )

    def _possible(self) -> NDArray[np.bool_]:
        possible: NDArray[np.bool_] = self.rows.upper > 0.0
        return possible

    @classmethod
    def from_counts(cls, layout: Layout, visits: Any, transitions: Any, log_term: float) -> BoxSet:
        """The empirical Bernstein set of the paper, Eq. (width).

        ``visits`` is the pair table N, ``transitions`` the triple table M, ``log_term`` stands for
        ln(T |X| |A| / delta).
        """
        pairs, centre = _empirical(layout, visits, transitions)
        row = layout.entry_rows()
        scale = _checked_log_term(log_term) / np.maximum(1.0, pairs - 1.0)[row]
        width = 2.0 * np.sqrt(centre * scale) + 14.0 / 3.0 * scale
        width[(pairs == 0)[row]] = 1.0  # never visited: any transition, however small the log term
        lower, upper = np.maximum(0.0, centre - width), np.minimum(1.0, centre + width)
        return cls._made(layout, with_known_rows(layout, BoxSet(layout, lower, upper).rows))

    def row_widths(self) -> Floats:
        """The mean over the successors of a row of upper - lower."""
        widths = np.add.reduceat(self.rows.upper - self.rows.lower, self.layout.row_start[:-1])
        return np.asarray(widths / self.layout.row_sizes())

    @property
    def lower(self) -> Table:
        """Lower bounds, a triple table."""
        return self.layout.triples(self.rows.lower)

    @property
    def upper(self) -> Table:
        """Upper bounds, a triple table."""
        return self.layout.triples(self.rows.upper)


class L1Set(ConfidenceSet, rows=BallRows):
    """Distributions with ``|p - centre|_1 <= width`` for every pair: the supplement's set.

    With a ``floor`` every probability is also at least that much, as in the shifted set of Bandit
    UC-O-REPS; the centre must keep to it.
    """

    def __init__(self, layout: Layout, centre: Any, width: Any, floor: float = 0.0) -> None:
        middle = _checked_distributions(layout, centre, "centre")
        radius = layout.flat_pairs(width, "width", fill=True)
        if (radius < 0).any():
            row = int(np.flatnonzero(radius < 0)[0])
            raise InvalidInput(f"width: negative at {layout.name_of_row(row)}; use 0 or more")
        floor = real_number(floor, "floor")
        if not 0.0 <= floor < 1.0 or middle.min() < floor - SUM_TOLERANCE:
            raise InvalidInput(f"floor: {floor!r} must be at least 0 and below every centre")
        whole = ((radius >= 2.0) & (floor == 0.0)) | (layout.row_sizes() == 1)
        status = np.where(whole, FREE, np.where(radius == 0.0, KNOWN, BOUND)).astype(np.uint8)
        rows = BallRows(status, middle, np.minimum(radius, 2.0), floor)
        self.layout, self.rows = layout, rows

    @classmethod
    def everything(cls, layout: Layout, floor: float = 0.0, least_occupancy: float = 0.0) -> L1Set:
        """Every transition function that the layout allows, shifted by ``floor``."""
        instance(layout, Layout, "layout")
        shift = unit_number(floor, "floor", below_one=True)
        least = unit_number(least_occupancy, "least_occupancy")
        return cls._made(layout, free_balls(layout, shift, least))

    def row_widths(self) -> Floats:
        """The radius of a row as a share of 2, the largest distance of two distributions."""
        return np.asarray(self.rows.width / 2.0)

    def _possible(self) -> NDArray[np.bool_]:
        wide = ((self.rows.status == BOUND) & (self.rows.width > 0.0))[self.layout.entry_rows()]
        possible: NDArray[np.bool_] = (self.rows.centre > 0.0) | wide
        return possible

    @classmethod
    def from_counts(cls, layout: Layout, visits: Any, transitions: Any, log_term: float) -> L1Set:
        """Radius sqrt(2 n ln(.) / N) around the empirical transition; everything where N = 0."""
        pairs, centre = _empirical(layout, visits, transitions)
        size = layout.row_sizes().astype(np.float64)
        width = np.sqrt(2.0 * size * _checked_log_term(log_term) / np.maximum(1.0, pairs))
        never = pairs == 0
        centre = np.where(never[layout.entry_rows()], (1.0 / size)[layout.entry_rows()], centre)
        ball = L1Set(layout, centre, np.minimum(np.where(never, 2.0, width), 2.0))
        return cls._made(layout, with_known_rows(layout, ball.rows))


class KnownTransition(ConfidenceSet, rows=KnownRows):
    """A set of one element."""

    def __init__(self, layout: Layout, transitions: Any) -> None:
        chance = _checked_distributions(layout, transitions, "transitions")
        status = np.where(layout.row_sizes() == 1, FREE, KNOWN).astype(np.uint8)
        self.layout, self.rows = layout, KnownRows(status, chance, *matrices_of(layout, chance))

    def row_widths(self) -> Floats:
        """Zero: nothing is open."""
        return np.zeros(self.layout.n_rows)

    def _possible(self) -> NDArray[np.bool_]:
        possible: NDArray[np.bool_] = self.rows.transition > 0.0
        return possible


class AnyTransition(BoxSet):
    """Every transition function that the layout allows: the set of the first epoch."""

    def __init__(self, layout: Layout) -> None:
        self.layout = instance(layout, Layout, "layout")
        self.rows = free_boxes(layout)


def _refuse(layout: Layout, wrong: NDArray[np.bool_], rule: str) -> None:
    if wrong.any():
        row = int(layout.entry_rows()[np.flatnonzero(wrong)[0]])
        raise InvalidInput(f"box set: bounds must keep {rule}; see {layout.name_of_row(row)}")


def _checked_distributions(layout: Layout, table: Any, name: str) -> Floats:
    flat = instance(layout, Layout, "layout").flat_triples(table, name, fill=True)
    total = np.add.reduceat(flat, layout.row_start[:-1])
    smallest = np.minimum.reduceat(flat, layout.row_start[:-1])
    wrong = (abs(total - 1.0) > SUM_TOLERANCE) | (smallest < 0)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise InvalidInput(
            f"{name}: {layout.name_of_row(row)} is not a distribution (sum {total[row]:.9g}, "
            f"smallest {smallest[row]:.3g}); make it non-negative and sum to one, in float64"
        )
    return normalised_rows(flat, layout.row_start)


def _checked_log_term(log_term: float) -> float:
    number = real_number(log_term, "log_term")
    if number < 0.0:
        raise InvalidInput(f"log_term: {number!r} must be finite and not negative")
    return number


def _empirical(layout: Layout, visits: Any, transitions: Any) -> tuple[Floats, Floats]:
    pairs = instance(layout, Layout, "layout").flat_pairs(visits, "visits", fill=True)
    triples = layout.flat_triples(transitions, "transitions", fill=True)
    total = np.add.reduceat(triples, layout.row_start[:-1])
    wrong = (total != pairs) | (np.minimum.reduceat(triples, layout.row_start[:-1]) < 0)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise InvalidInput(
            f"transitions: counts at {layout.name_of_row(row)} sum to {total[row]:g}, "
            f"visits say {pairs[row]:g}; count every visit's successor once"
        )
    return pairs, triples / np.maximum(1.0, pairs)[layout.entry_rows()]
