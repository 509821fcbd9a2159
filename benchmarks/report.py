"""What a section hands back: readable tables, and figures with their targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table as RichTable

AT_MOST, AT_LEAST = "at most", "at least"
COMPACT = 10_000  # larger numbers are written without decimals, with separators


@dataclass(frozen=True)
class Figure:
    """One measured number; ``target`` is None for numbers that are only told."""

    what: str
    value: float
    unit: str
    target: float | None = None
    sense: str = AT_LEAST
    noisy: bool = False

    @property
    def passed(self) -> bool | None:
        """Whether the target is reached; a value that is not a number reaches nothing."""
        if self.target is None:
            return None
        if self.sense == AT_LEAST:
            return self.value >= self.target
        return self.value <= self.target

    def as_json(self) -> dict[str, Any]:
        """The figure and its verdict."""
        return {**asdict(self), "passed": self.passed}


@dataclass(frozen=True)
class Grid:
    """A table to be read by people: every cell is text already."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclass
class Section:
    """Everything one section measured."""

    grids: list[Grid] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Figures as numbers, tables as printed."""
        return {
            "figures": [figure.as_json() for figure in self.figures],
            "tables": [asdict(grid) for grid in self.grids],
        }


def number(value: float) -> str:
    """Four digits that mean something."""
    if value != value:
        return "-"
    if abs(value) >= COMPACT:
        return f"{value:,.0f}"
    if value == 0 or abs(value) >= 0.01:
        return f"{value:,.4g}"
    return f"{value:.1e}"


def seconds(value: float) -> str:
    """A duration in the unit that suits it."""
    for limit, factor, unit in ((1e-6, 1e9, "ns"), (1e-3, 1e6, "us"), (1.0, 1e3, "ms")):
        if value < limit:
            return f"{value * factor:.3g} {unit}"
    return f"{value:.3g} s"


def print_grid(console: Console, grid: Grid) -> None:
    """One table; the first column is text, all others are numbers."""
    table = RichTable(title=grid.title, title_justify="left", box=box.SIMPLE_HEAD)
    for i, name in enumerate(grid.columns):
        table.add_column(name, justify="left" if i == 0 else "right")
    for row in grid.rows:
        table.add_row(*row)
    console.print(table)
    if grid.note:
        console.print(f"  {grid.note}\n", style="dim", highlight=False, markup=False)


def print_verdicts(console: Console, figures: Sequence[Figure]) -> None:
    """All figures that have a target, with the verdict; ``~`` marks a disturbed measurement."""
    rows = []
    for figure in figures:
        if figure.target is None:
            continue
        verdict = "[green]reached[/]" if figure.passed else "[red]MISSED[/]"
        value = f"{'~' if figure.noisy else ''}{number(figure.value)}"
        rows.append(
            (figure.what, value, f"{figure.sense} {number(figure.target)}", figure.unit, verdict)
        )
    grid = Grid("Targets", ("what", "measured", "target", "unit", "verdict"), rows)
    print_grid(console, grid)
