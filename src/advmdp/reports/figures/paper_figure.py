"""Figures for papers: one column wide, with embedded fonts, readable without colour."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from advmdp.atomic_files import replacing
from advmdp.errors import InvalidInput
from advmdp.plain_text import plain_text
from advmdp.reports.cells import cells_of, select_cell
from advmdp.reports.figures.axis_style import ROUND_STEPS, thousands
from advmdp.reports.figures.cell_panels import FIGURES, KINDS, RATE, rate_panels
from advmdp.reports.figures.line_styles import COLOURS, DASHES, GRID, INK, Style, styles_of
from advmdp.reports.figures.panels import Panel, Series, select_learners, vertical_range
from advmdp.reports.output_path import checked_figure_path
from advmdp.reports.rates import families_of
from advmdp.reports.results import Results

if TYPE_CHECKING:  # matplotlib is slow to import: only those who plot pay for it
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

COLUMN_WIDTH, PANEL_HEIGHT = 3.3, 2.1  # inches: one of two columns on a letter-size page
LEGEND_LETTERS, LETTERS_BESIDE = 72, 9  # across the legend; of them, for a line and its gaps
MINOR = {"size": 2.0, "pad": 5.0}  # of ticks, in points
SETTINGS: dict[str, Any] = {
    "font.family": "serif",
    "font.serif": ["STIXGeneral"],  # part of matplotlib, and similar to the text of a paper
    "mathtext.fontset": "stix",
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    # Minor ticks are shorter and padded by the difference: all labels are on one line.
    **{f"{axis}tick.major.{part}": 3.5 for axis in "xy" for part in ("size", "pad")},
    **{f"{axis}tick.minor.{part}": size for axis in "xy" for part, size in MINOR.items()},
    "axes.linewidth": 0.6,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "lines.linewidth": 1.1,
    "lines.scale_dashes": False,
    "pdf.fonttype": 42,  # TrueType, as publishers require
    "svg.fonttype": "path",
    "svg.hashsalt": "advmdp",  # equal figures are equal files
}
NO_DATE = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}


def write_figure(
    results: Results,
    kind: str,
    path: str | os.PathLike[str],
    *,
    mdp: str | None = None,
    losses: str | None = None,
    n_episodes: int | None = None,
    units: str | None = None,
    learners: Sequence[str] = (),
    titles: bool = True,
) -> Path:
    """Draw one figure of the report for a paper and return its path.

    Parameters
    ----------
    kind
        One of ``KINDS``: "regret", "rate", "terms", "epochs", "realised".
    path
        Ends in .png, .pdf or .svg; missing folders are created.
    mdp, losses, n_episodes, units
        Select the cell if there are several; parts of labels are accepted.  Units are "losses" or,
        for instance, "rewards from -1 to 0".
    learners
        Labels of the learners to show; all if empty.
    titles
        Whether panels have titles; a caption often makes them redundant.
    """
    if kind not in KINDS:
        raise InvalidInput(f"kind: '{kind}' is not one of {', '.join(KINDS)}")
    target = checked_figure_path(path)
    cells = cells_of(results)
    if kind == RATE:
        wanted = [cell for cell in cells if n_episodes in (None, cell.n_episodes)]
        if not wanted:
            lengths = ", ".join(f"{n:,}" for n in sorted({cell.n_episodes for cell in cells}))
            raise InvalidInput(
                f"no runs of {n_episodes:,}; there are {lengths}", field="n_episodes"
            )
        first_of = {family.cells[0]: family for family in families_of(wanted)}
        panels = rate_panels(first_of[select_cell(list(first_of), mdp, losses, units=units)])
    else:
        panels = FIGURES[kind](select_cell(cells, mdp, losses, n_episodes, units))
    if learners:
        panels = select_learners(panels, learners)
    if not panels:
        raise InvalidInput(f"kind: no learner of this cell has what '{kind}' shows")
    return save_panels(panels, styles_of(results.learners), target, titles=titles)


def save_panels(
    panels: Sequence[Panel], styles: Mapping[str, Style], target: Path, *, titles: bool = True
) -> Path:
    """Draw panels into a file at a path that was checked before."""
    import matplotlib

    settings: Any = SETTINGS  # matplotlib's stubs list every key as a literal
    with matplotlib.rc_context(settings), replacing(target) as draft:
        figure = paper_figure(panels, styles, titles=titles)
        ending = target.suffix.lower()
        figure.savefig(draft, format=ending[1:], metadata=NO_DATE.get(ending), dpi=300)
    return target


def paper_figure(
    panels: Sequence[Panel], styles: Mapping[str, Style], *, titles: bool = True
) -> Figure:
    """Panels below each other with one legend; draw and save it under ``SETTINGS``."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    labels: dict[str, str] = {}
    for series in (series for panel in panels for series in panel.series):
        labels.setdefault(series.key, series.label)
    columns = max(1, min(3, LEGEND_LETTERS // (LETTERS_BESIDE + max(map(len, labels.values())))))
    height = PANEL_HEIGHT * len(panels) + 0.14 * -(-len(labels) // columns)
    figure = Figure((COLUMN_WIDTH, height), facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    axes_of = figure.subplots(len(panels), 1, squeeze=False)[:, 0]
    for axes, panel in zip(axes_of, panels, strict=True):
        for series in panel.series:
            _draw(axes, series, styles[series.key])
        _set_up(axes, panel)
        if titles:
            axes.set_title(_plain(panel.title), loc="left", pad=4)
    handles = [Line2D([], [], label=_plain(labels[key]), **_line(styles[key])) for key in labels]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=columns, frameon=False, handlelength=2.6
    )
    return figure


def _draw(axes: Axes, series: Series, style: Style) -> None:
    line = _line(style)
    if series.dots:
        error, size = None, 1.5
        if series.low is not None and series.high is not None:
            error, size = np.abs(np.array([series.y - series.low, series.high - series.y])), 2.4
        axes.errorbar(
            series.x, series.y, error, fmt="o", color=line["color"], markersize=size, elinewidth=0.8
        )
        return
    axes.plot(series.x, series.y, **line)
    if series.low is not None and series.high is not None:
        axes.fill_between(series.x, series.low, series.high, color=line["color"], alpha=0.15, lw=0)


def _line(style: Style) -> dict[str, Any]:
    colour = INK if style.colour < 0 else COLOURS[style.colour]
    return {"color": colour, "linestyle": (0, DASHES[style.dash] or None)}


def _set_up(axes: Axes, panel: Panel) -> None:
    axes.set_xscale("log" if panel.x_log else "linear")
    axes.set_yscale("log" if panel.y_log else "linear")
    axes.set_ylim(*vertical_range(panel))
    last = max(float(series.x[-1]) for series in panel.series)
    first = min(float(series.x[0]) for series in panel.series)
    if not panel.x_log:
        axes.set_xlim(first, last)
    for axis, is_log in ((axes.xaxis, panel.x_log), (axes.yaxis, panel.y_log)):
        _set_ticks(axis, is_log=is_log)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(plain_text(panel.y_label), parse_math=False)  # it holds a unit
    axes.grid(axis="y", color=GRID, linewidth=0.5)
    axes.set_axisbelow(True)


def _set_ticks(axis: Axis, *, is_log: bool) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

    axis.set_major_formatter(thousands())
    if not is_log:
        axis.set_major_locator(MaxNLocator(nbins=5, steps=ROUND_STEPS))
        return
    low, high = axis.get_view_interval()
    few = high < 100.0 * low  # then 2 and 5 are labelled beside the powers of ten
    halves = FuncFormatter(lambda value, _: f"{value:,.10g}" if f"{value:e}"[0] in "25" else "")
    axis.set_minor_formatter(halves if few else NullFormatter())


def _plain(text: str) -> str:
    """The text as signs, with dollars escaped, so that a name is never taken for a formula."""
    return plain_text(text).replace("$", r"\$")
