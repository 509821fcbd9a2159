"""Tables on a terminal."""

from __future__ import annotations

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from advmdp.plain_text import plain_text
from advmdp.reports.tables.table_data import TableData

WIDE = 5  # columns; more of them are closer together, so that names stay whole on 80 letters
LONG = 24  # letters of a name; in a wide table the hash of its source goes on a line of its own


def rich_table(data: TableData, heading: str = "") -> Group:
    """A table for ``rich``; ``heading`` follows its title.

    Title and note stand outside of it, since they may be wider: a title in one line can be copied.
    """
    title = f"{data.title}: {heading}" if heading else data.title
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 0 if len(data.columns) > WIDE else 1),
    )
    for i, column in enumerate(data.columns):
        number = any(row.entries[i].value is not None for row in data.rows)
        heading = plain_text(column).replace(" (", "\n(")  # the unit goes on a line of its own
        table.add_column(
            Text(heading), justify="right" if number else "left", no_wrap=number, overflow="fold"
        )
    for row in data.rows:
        table.add_row(*(Text(_broken(plain_text(entry.text))) for entry in row.entries))
    above, below = Text(plain_text(title), style="italic"), Text(plain_text(data.note), style="dim")
    return Group(above, table, *([below, Text()] if data.note else []))


def _broken(text: str) -> str:
    return text.replace("@", "\n@") if len(text) > LONG else text
