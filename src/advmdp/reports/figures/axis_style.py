"""The look of matplotlib axes that all figures share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advmdp.plain_text import plain_text
from advmdp.reports.figures.line_styles import FAINT, GRID, INK

if TYPE_CHECKING:  # matplotlib is slow to import: only those who plot pay for it
    from matplotlib.axes import Axes
    from matplotlib.ticker import FuncFormatter

ROUND_STEPS = [1, 2, 2.5, 5, 10]  # between ticks: numbers that are easy to read


def thousands() -> FuncFormatter:
    """Tick labels with a comma between thousands."""
    from matplotlib.ticker import FuncFormatter

    return FuncFormatter(lambda value, _: f"{value:,.10g}")


def style_axes(axes: Axes, heading: str, x_label: str, y_label: str) -> None:
    """Heading, labels, a light grid, and no lines at the top and at the right."""
    axes.set_title(heading, loc="left", fontsize=10.5, color=INK, pad=9)
    axes.set_xlabel(x_label, fontsize=10, color=INK)
    signs = plain_text(y_label)  # it holds a unit
    axes.set_ylabel(signs, fontsize=10, color=INK, parse_math=False)
    axes.tick_params(colors=INK, labelsize=9, length=3, width=0.8)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(FAINT)
