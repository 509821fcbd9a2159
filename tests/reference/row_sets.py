"""Every set of transitions once more, as plain constraints on its rows, with random instances.

A row's set is  lower <= p <= upper,  sum p = 1,  |p - centre|_1 <= width:  boxes, balls, points and
simplices are all of this form.  ``MAKERS`` draws, for each registered record, an instance and its
constraints; a new set needs a line there and one in ``EVERYTHING``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.kernels.model.row_status import BOUND, FREE, KNOWN
from advmdp.kernels.sets import SETS
from advmdp.kernels.sets.ball import BallRows
from advmdp.kernels.sets.box.rows import BoxRows
from advmdp.kernels.sets.confidence import make_rows_known
from advmdp.kernels.sets.known import KnownRows
from advmdp.steps.workspace import matrices_of
from tests.outside.lower_bounds import LowerBounds
from tests.outside.lower_bounds_kernel import LowerRows
from tests.reference.conic import best_row_conic
from tests.reference.linear_programs import best_row_of
from tests.reference.tables import Array

Rng = np.random.Generator


@dataclass(frozen=True)
class PlainRow:
    """The set of one row, written out."""

    lower: Array
    upper: Array
    centre: Array
    width: float  # 2: no ball

    @staticmethod
    def between(lower: Array, upper: Array) -> PlainRow:
        return PlainRow(lower, upper, np.full(len(lower), 1.0 / len(lower)), 2.0)

    def error(self, p: Array) -> float:
        """By how much p misses a constraint, at most."""
        distance = abs(p - self.centre).sum() - self.width
        return float(max((self.lower - p).max(), (p - self.upper).max(), distance, 0.0))

    def maximum(self, f: Array) -> float:
        """max <p, f>, by HiGHS."""
        return best_row_of(f, self.lower, self.upper, self.centre, self.width)

    def best_value(self, log_w: Array) -> float:
        """max <p, log_w> - <p, ln p>, by Clarabel."""
        return best_row_conic(log_w, self.lower, self.upper, self.centre, self.width)

    def near(self, rng: Rng) -> Array:
        """A distribution inside, outside or on the border: a random one pulled to a member."""
        member = np.clip(self.centre, self.lower, self.upper)
        if abs(member.sum() - 1.0) > 1e-12:
            room = self.upper - self.lower
            member = self.lower + room * (1.0 - self.lower.sum()) / max(room.sum(), 1e-300)
        other = rng.dirichlet(np.full(len(member), 0.5))
        away = other - member
        reach = [1.0, rng.random(), 1e-3 * rng.random()][rng.integers(3)]
        return np.asarray(member + reach * away)


Plain = list[PlainRow]
Made = tuple[Any, Plain]


def split(layout: am.Layout, flat: Array) -> list[Array]:
    """A vector over entries, row by row."""
    return np.split(flat, layout.row_start[1:-1])


def random_rows(layout: am.Layout, rng: Rng) -> Array:
    """A random transition over entries; small concentrations leave entries close to zero."""
    spread = rng.choice([0.1, 1.0, 5.0])
    return np.concatenate([rng.dirichlet(np.full(n, spread)) for n in layout.row_sizes()])


def random_status(layout: am.Layout, rng: Rng) -> Any:
    bound = (rng.random(layout.n_rows) < 0.7) & (layout.row_sizes() > 1)
    return np.where(bound, BOUND, FREE).astype(np.uint8)


def random_widths(layout: am.Layout, rng: Rng) -> Array:
    """Over several orders of magnitude, one for each row."""
    return np.asarray(10.0 ** rng.uniform(-3.0, 0.3, layout.n_rows))


def boxes(layout: am.Layout, rng: Rng) -> Made:
    status, centre = random_status(layout, rng), random_rows(layout, rng)
    width = np.repeat(random_widths(layout, rng), layout.row_sizes())
    free = np.repeat(status == FREE, layout.row_sizes())
    lower = np.where(free, 0.0, np.maximum(0.0, centre - width * rng.random(len(centre))))
    upper = np.where(free, 1.0, np.minimum(1.0, centre + width * rng.random(len(centre))))
    slack = 1.0 - np.add.reduceat(lower, layout.row_start[:-1])
    plain = list(map(PlainRow.between, split(layout, lower), split(layout, upper)))
    widths = np.add.reduceat(upper - lower, layout.row_start[:-1])
    return BoxRows(status, lower, upper, slack, widths), plain


def balls(layout: am.Layout, rng: Rng) -> Made:
    """With a floor in half of the instances; then no row of several successors is free."""
    sizes = layout.row_sizes()
    floor = float(rng.choice([0.0, 0.5 / sizes.max() * rng.random()]))
    status, centre = random_status(layout, rng), random_rows(layout, rng)
    if floor > 0.0:
        status = np.where(sizes > 1, BOUND, FREE).astype(np.uint8)
    shrink = 1.0 - floor * sizes
    centre = np.repeat(shrink, sizes) * centre + floor
    width = np.where(status == FREE, 2.0, shrink * np.minimum(2.0, random_widths(layout, rng)))
    plain = [
        PlainRow(np.full(len(c), floor if s == BOUND else 0.0), np.ones(len(c)), c, float(w))
        for c, w, s in zip(split(layout, centre), width, status, strict=True)
    ]
    return BallRows(status, centre, width, floor), plain


def points(layout: am.Layout, rng: Rng) -> Made:
    status = np.where(layout.row_sizes() == 1, FREE, KNOWN).astype(np.uint8)
    transition = random_rows(layout, rng)
    rows = split(layout, transition)
    made = KnownRows(status, transition, *matrices_of(layout, transition))
    return made, [PlainRow.between(row, row) for row in rows]


def lower_bounds(layout: am.Layout, rng: Rng) -> Made:
    status = random_status(layout, rng)
    bound = np.repeat(status == BOUND, layout.row_sizes())
    lower = np.where(bound, random_rows(layout, rng) * rng.random(layout.n_entries), 0.0)
    slack = 1.0 - np.add.reduceat(lower, layout.row_start[:-1])
    rows = split(layout, lower)
    return LowerRows(status, lower, slack), [PlainRow.between(r, np.ones(len(r))) for r in rows]


MAKERS: dict[type, Callable[[am.Layout, Rng], Made]] = {
    BoxRows: boxes,
    BallRows: balls,
    KnownRows: points,
    LowerRows: lower_bounds,
}


# The set that says nothing, for sets that shrink as visits are counted.
EVERYTHING: dict[type, Callable[[am.Layout], Any]] = {
    BoxRows: am.AnyTransition,
    BallRows: am.L1Set.everything,
    LowerRows: LowerBounds.everything,
}

EVERY_SET = (*SETS, LowerRows)
"""The registry, and a set from outside the package."""
every_set = pytest.mark.parametrize("kind", EVERY_SET, ids=lambda kind: kind.__name__)

LAYOUTS = {
    "dense": am.Layout((1, 4, 5, 3, 1), 2),
    "scattered": am.families.random_mdp((1, 6, 7, 6, 1), 2, seed=3, n_successors=3).layout,
    "rows of several sizes": am.families.river_swim(length=4, horizon=5).layout,
}


@dataclass(frozen=True)
class Case:
    """An instance of a set with rows of every status, and the same written out."""

    layout: am.Layout
    rows: Any
    plain: Plain
    rng: Rng

    @staticmethod
    def drawn(kind: type, layout: am.Layout, seed: int) -> Case:
        """About a fifth of the rows are known."""
        rng = np.random.default_rng(seed)
        rows, plain = MAKERS[kind](layout, rng)
        known, transition = rng.random(layout.n_rows) < 0.2, random_rows(layout, rng)
        make_rows_known(layout.graph(), known, transition, rows)
        shifted = transition
        if isinstance(rows, BallRows):
            sizes = np.repeat(layout.row_sizes(), layout.row_sizes())
            shifted = (1.0 - rows.floor * sizes) * transition + rows.floor
        for r, row in enumerate(split(layout, shifted)):
            if known[r]:
                plain[r] = PlainRow.between(row, row)
        return Case(layout, rows, plain, rng)

    def random_beta(self, spread: float) -> Array:
        """Multipliers as a projection has them: at most zero, zero somewhere in every layer."""
        beta = spread * self.rng.normal(size=self.layout.n_states)
        top = np.maximum.reduceat(beta, self.layout.layer_start[:-1])
        return np.asarray(beta - np.repeat(top, self.layout.layer_sizes))

    def random_logs(self, r: int, lowest: float) -> Array:
        """ln p~ of row r, down to about ``lowest``; of a known row its own transition."""
        if self.rows.status[r] == KNOWN:
            return np.asarray(np.log(np.maximum(self.plain[r].lower, 1e-300)))
        logs = lowest * self.rng.random(self.layout.row_sizes()[r]) ** 2
        top = logs.max()
        return np.asarray(logs - top - np.log(np.exp(logs - top).sum()))

    def some_rows(self, n: int) -> list[int]:
        """A few rows, and at least one of each status that there is."""
        status = self.rows.status
        first = [int(np.flatnonzero(status == s)[0]) for s in np.unique(status)]
        return first + self.rng.integers(self.layout.n_rows, size=n).tolist()
