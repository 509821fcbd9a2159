"""What a learner knows about every pair, on a terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from advmdp.layout import Floats, Layout
from advmdp.layout.pair_frame import existing_rows, pair_places
from advmdp.plain_text import plain_text

MOST_ROWS = 200
HEADINGS = {"occupancy": "occu-\npancy", "estimated_loss": "est.\nloss"}


def policy_table(title: str, layout: Layout, columns: Mapping[str, Floats]) -> Group:
    """A row for every pair; the names of states and actions are signs, not markup.

    The title stands above: in a narrow table the name of a run would be broken, and not be copied.
    """
    places, there = pair_places(layout), existing_rows(layout)
    # One space between the columns, and long headings in two lines: eleven fit into eighty.
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.caption_justify = "left"
    for name in places:
        table.add_column(name, overflow="fold", min_width=len(name))
    for name in columns:
        heading = HEADINGS.get(name, name.replace("_", "\n"))
        table.add_column(heading, justify="right", no_wrap=True)
    rows = list(
        zip(
            zip(*places.values(), strict=True),
            *(values[there] for values in columns.values()),
            strict=True,
        )
    )
    for place, *values in rows[:MOST_ROWS]:
        told = (Text(plain_text(str(name))) for name in place)
        table.add_row(*told, *map(_number, columns, values))
    if len(rows) > MOST_ROWS:
        table.caption = f"{len(rows) - MOST_ROWS:,} more rows: -o policy.csv has all"
    return Group(Text(plain_text(title), style="italic"), table)


def _number(column: str, value: float) -> str:
    if value != value:
        return "-"
    return f"{value:,.0f}" if column == "visits" else f"{value:.3f}"
