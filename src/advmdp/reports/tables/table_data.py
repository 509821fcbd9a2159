"""Tables as data: web pages and terminals show the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from advmdp.reports.statistics import Interval


@dataclass(frozen=True)
class TableEntry:
    """A text and, for numbers, the value that the column is sorted by."""

    text: str
    value: float | None = None


@dataclass(frozen=True)
class TableRow:
    """One row, and the learners that it is about."""

    entries: tuple[TableEntry, ...]
    learners: tuple[str, ...] = ()
    cell: int | None = None
    """The number of the cell that the row stands for."""


@dataclass(frozen=True)
class TableData:
    """A table; ``note`` explains how to read it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    note: str = ""


NOTHING = TableEntry("-")


def number_text(value: float) -> str:
    """Thousands with separators, three significant digits below a hundred.

    >>> number_text(12345.6), number_text(3.14159), number_text(20.0), number_text(-0.0)
    ('12,346', '3.14', '20', '0')
    """
    return f"{value:z,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def number_entry(value: Any) -> TableEntry:
    """A number, see ``number_text``; a dash for None and for what is not finite."""
    if value is None or not np.isfinite(value):
        return NOTHING
    return TableEntry(number_text(float(value)), float(value))


def interval_entry(interval: Interval, form: str = "") -> TableEntry:
    """The ends of an interval; the column is sorted by the lower one."""
    if not np.isfinite(interval.low):
        return NOTHING
    ends = (interval.low, interval.high)
    low, high = (f"{end:{form}}" if form else number_text(end) for end in ends)
    return TableEntry(f"[{low}, {high}]", interval.low)


def p_value_entry(p: float) -> TableEntry:
    """A p-value to four decimals."""
    return TableEntry(f"{p:.4f}" if p >= 0.0001 else "< 0.0001", p)


def residual_entry(value: Any) -> TableEntry:
    """A number close to zero, in scientific notation."""
    return NOTHING if value is None else TableEntry(f"{value:.1e}", float(value))
