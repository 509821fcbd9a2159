"""The sheets of a report as tables on a terminal."""

from __future__ import annotations

from rich import box
from rich.table import Table
from rich.text import Text

from advmdp.reports.rates import Family
from advmdp.reports.sheets import (
    Sheet,
    comparison_sheet,
    rate_sheet,
    reward_sheet,
    summary_sheet,
)
from advmdp.reports.summary import Cell


def summary_table(cell: Cell) -> Table:
    """The learners of a cell by their final regret."""
    return as_table(summary_sheet(cell), cell.name)


def reward_table(cell: Cell) -> Table | None:
    """The rewards of the learners of a cell; None where it is reported in losses."""
    sheet = reward_sheet(cell)
    return as_table(sheet, cell.name) if sheet else None


def paired_table(cell: Cell) -> Table:
    """All pairs of learners of a cell, compared replicate by replicate."""
    return as_table(comparison_sheet(cell), cell.name)


def rate_table(family: Family) -> Table:
    """The exponents of a family of cells that differ in the number of episodes."""
    return as_table(rate_sheet(family), family.name)


def as_table(sheet: Sheet, heading: str = "") -> Table:
    """A sheet in the style of the package's other tables."""
    title = f"{sheet.title}: {heading}" if heading else sheet.title
    table = Table(
        title=Text(title),
        title_justify="left",
        caption=Text(sheet.note),
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    for i, column in enumerate(sheet.columns):
        number = any(row.entries[i].value is not None for row in sheet.rows)
        heading = column.replace(" (", "\n(")  # a unit goes on a line of its own
        table.add_column(heading, justify="right" if number else "left", no_wrap=number)
    for row in sheet.rows:
        table.add_row(*(Text(entry.text) for entry in row.entries))  # not parsed as markup
    return table
