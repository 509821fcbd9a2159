"""Forests for papers: an interval for each learner, drawn with matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from advmdp.plain_text import plain_text
from advmdp.reports.cells import Cell
from advmdp.reports.comparisons import usual_baseline
from advmdp.reports.figures.axis_style import ROUND_STEPS, thousands
from advmdp.reports.figures.figure_look import FigureLook
from advmdp.reports.figures.forests import Forest, baseline_forest, ranking_forest
from advmdp.reports.figures.line_styles import COLOURS, FAINT, GRID, INK, Style

if TYPE_CHECKING:  # matplotlib is slow to import: only those who plot pay for it
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RANKING, COMPARISONS = FOREST_KINDS = ("ranking", "comparisons")
ROW_HEIGHT, ROOM = 0.165, 0.75  # inches: of a row, and of the axis with its label


def forest_of(kind: str, cell: Cell, baseline: str | None) -> Forest:
    """The forest of this kind."""
    if kind == RANKING:
        return ranking_forest(cell)
    return baseline_forest(cell, baseline or usual_baseline(cell.groups))


def forest_figure(forest: Forest, styles: Mapping[str, Style], look: FigureLook) -> Figure:
    """Rows below each other under the names of their groups; its height follows from them."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    groups = dict.fromkeys(row.group for row in forest.rows)
    n_lines = len(forest.rows) + len(groups)
    figure = Figure((look.width, ROOM + ROW_HEIGHT * n_lines), layout="constrained")
    figure.set_facecolor("white")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    labels = _draw_rows(axes, forest, styles)
    axes.set_yticks(range(n_lines), [text for text, _ in labels])
    for tick, (_, is_group) in zip(axes.get_yticklabels(), labels, strict=True):
        tick.set_parse_math(False)
        if is_group:
            tick.set(color=FAINT, style="italic")
    axes.set_ylim(n_lines - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    if look.x_axis == "log" and all(row.interval.estimate > 0.0 for row in forest.rows):
        axes.set_xscale("log")
    else:
        axes.axvline(0.0, color=INK, linewidth=0.6, linestyle=(0, (4, 2)), zorder=1)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5, steps=ROUND_STEPS))
    axes.xaxis.set_major_formatter(thousands())
    axes.grid(axis="x", color=GRID, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.set_xlabel(plain_text(look.x_label or forest.x_label), parse_math=False)
    if look.titles:
        axes.set_title(plain_text(forest.title), loc="left", pad=4, parse_math=False)
    return figure


def _draw_rows(axes: Axes, forest: Forest, styles: Mapping[str, Style]) -> list[tuple[str, bool]]:
    """Draw the intervals; the labels of all lines from the top, and which are names of groups."""
    labels: list[tuple[str, bool]] = []
    group = ""
    for row in forest.rows:
        if row.group != group:
            group = row.group
            labels.append((group, True))
        colour, height = COLOURS[styles[row.learner].colour], len(labels)
        estimate, low, high, _ = row.interval
        if np.isfinite(low):
            axes.plot([low, high], [height, height], color=colour, linewidth=1.3)
        is_open = row.adjusted is not None and not row.marked
        face = "white" if is_open else colour
        axes.plot(estimate, height, marker="o", markersize=3.6, color=colour, markerfacecolor=face)
        labels.append((plain_text(row.learner), False))
    return labels
