"""Figures for papers: one column wide, with embedded fonts, readable without colour."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from advmdp.errors import InvalidInput
from advmdp.files.atomic import replacing
from advmdp.plain_text import plain_text
from advmdp.reports.cells import cells_of, select_cell
from advmdp.reports.figures.axis_style import ROUND_STEPS, thousands
from advmdp.reports.figures.cell_panels import FIGURES, KINDS, RATE, rate_panels
from advmdp.reports.figures.figure_look import COLUMN_WIDTH, USUAL_LOOK, FigureLook
from advmdp.reports.figures.forest_figure import FOREST_KINDS, forest_figure, forest_of
from advmdp.reports.figures.line_styles import COLOURS, DASHES, GRID, INK, Style, styles_of
from advmdp.reports.figures.panels import Panel, Series, select_learners, vertical_range
from advmdp.reports.output_path import checked_figure_path
from advmdp.reports.rates import families_of
from advmdp.reports.results import Results

if TYPE_CHECKING:  # matplotlib is slow to import: only those who plot pay for it
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

log = logging.getLogger(__name__)
LETTERS_PER_INCH, LETTERS_BESIDE = 22, 9  # of a legend; the latter for a line and its gaps
MOST_BANDS = 6
CUT_OFF = "reaches zero or below"  # the legend of the marks on logarithmic axes
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
CUT_MARK: dict[str, Any] = {"marker": "v", "markersize": 3.0}
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
    baseline: str | None = None,
    look: FigureLook = USUAL_LOOK,
) -> Path:
    """Draw one figure of the report for a paper and return its path.

    Parameters
    ----------
    kind
        One of ``KINDS``: "regret", "rate", "terms", "epochs", "realised"; or, with an interval for
        each of many learners, "ranking" and "comparisons".
    path
        Ends in .png, .pdf or .svg; missing folders are created.
    mdp, losses, n_episodes, units
        Select the cell if there are several; parts of labels are accepted.  Units are "losses" or,
        for instance, "rewards from -1 to 0".
    learners
        Labels of the learners to show; all if empty.
    baseline
        The learner that "comparisons" compares all others with.
    look
        Size, axes, labels and titles.
    """
    if kind not in (*KINDS, *FOREST_KINDS):
        there = ", ".join((*KINDS, *FOREST_KINDS))
        raise InvalidInput(f"kind: '{kind}' is not one of {there}")
    target = checked_figure_path(path)
    cells = cells_of(results)
    styles = styles_of(results.learners)
    if kind in FOREST_KINDS:
        forest = forest_of(kind, select_cell(cells, mdp, losses, n_episodes, units), baseline)
        return _save(lambda: forest_figure(forest.of(learners), styles, look), target)
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
    return save_panels(panels, styles, target, look)


def save_panels(
    panels: Sequence[Panel],
    styles: Mapping[str, Style],
    target: Path,
    look: FigureLook = USUAL_LOOK,
) -> Path:
    """Draw panels into a file at a path that was checked before."""
    return _save(lambda: paper_figure(panels, styles, look), target)


def _save(make: Callable[[], Figure], target: Path) -> Path:
    import matplotlib

    settings: Any = SETTINGS  # matplotlib's stubs list every key as a literal
    with matplotlib.rc_context(settings), replacing(target) as draft:
        figure = make()
        ending = target.suffix.lower()
        figure.savefig(draft, format=ending[1:], metadata=NO_DATE.get(ending), dpi=300)
    return target


def paper_figure(
    panels: Sequence[Panel],
    styles: Mapping[str, Style],
    look: FigureLook = USUAL_LOOK,
) -> Figure:
    """Panels below each other with one legend; draw and save it under ``SETTINGS``."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    panels = look.applied_to(panels)
    labels: dict[str, str] = {}
    for series in (series for panel in panels for series in panel.series):
        labels.setdefault(series.key, series.label)
    across = int(LETTERS_PER_INCH * look.width) // (LETTERS_BESIDE + max(map(len, labels.values())))
    columns = max(1, min(3 * round(look.width / COLUMN_WIDTH) or 3, across))
    height = look.height * len(panels) + 0.14 * -(-len(labels) // columns)
    figure = Figure((look.width, height), facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    axes_of = figure.subplots(len(panels), 1, squeeze=False)[:, 0]
    cut_off = False
    for axes, panel in zip(axes_of, panels, strict=True):
        drawn = _without_crowded_bands(panel)
        for series in drawn.series:
            _draw(axes, series, styles[series.key], is_log=panel.y_log)
        _set_up(axes, panel)
        cut_off = _mark_below_zero(axes, drawn, styles) or cut_off
        if look.titles:
            axes.set_title(_plain(panel.title), loc="left", pad=4)
    handles = [Line2D([], [], label=_plain(labels[key]), **_line(styles[key])) for key in labels]
    if cut_off:
        handles.append(Line2D([], [], label=CUT_OFF, linestyle="", **CUT_MARK, color=INK))
    figure.legend(
        handles=handles, loc="outside lower center", ncols=columns, frameon=False, handlelength=2.6
    )
    return figure


def _without_crowded_bands(panel: Panel) -> Panel:
    """The panel without bands if so many would cover each other that none can be read."""
    banded = {one.key for one in panel.series if one.low is not None and not one.dots}
    if len(banded) <= MOST_BANDS:
        return panel
    log.warning(
        "%s: the bands of %d learners would cover each other and are left out; choose learners, "
        "divide the figure by setting, or draw the intervals of 'ranking'",
        panel.title,
        len(banded),
    )
    return replace(panel, series=tuple(replace(one, low=None, high=None) for one in panel.series))


def _draw(axes: Axes, series: Series, style: Style, *, is_log: bool) -> None:
    line = _line(style)
    if series.dots:
        error, size = None, 1.5
        if series.low is not None and series.high is not None:
            error, size = np.abs(np.array([series.y - series.low, series.high - series.y])), 2.4
        axes.errorbar(
            series.x, series.y, error, fmt="o", color=line["color"], markersize=size, elinewidth=0.8
        )
        return
    # A mean without a logarithm leaves a gap, which a mark explains.
    axes.plot(series.x, np.where(series.y > 0.0, series.y, np.nan) if is_log else series.y, **line)
    if series.low is not None and series.high is not None:
        axes.fill_between(series.x, series.low, series.high, color=line["color"], alpha=0.15, lw=0)


def _mark_below_zero(axes: Axes, panel: Panel, styles: Mapping[str, Style]) -> bool:
    """Marks on a logarithmic axis where a band or a mean goes on below its lower end."""
    if not panel.y_log:
        return False
    there = [(series, series.below_zero) for series in panel.series if len(series.below_zero)]
    for series, x in there:
        colour = _line(styles[series.key])["color"]
        place: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "clip_on": False}
        axes.plot(x, np.zeros(len(x)), linestyle="", color=colour, **place, **CUT_MARK)
    return bool(there)


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
