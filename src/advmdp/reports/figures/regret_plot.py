"""The regret plot: the regret of runs over time, and their recent loss or reward per episode."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from advmdp.errors import InvalidInput
from advmdp.evaluation.rewards import Rewards
from advmdp.evaluation.run import Run
from advmdp.files.atomic import replacing
from advmdp.plain_text import plain_lines
from advmdp.reports.figures.line_styles import FAINT, INK
from advmdp.reports.figures.regret_axes import (
    PlottedRun,
    best_lines,
    draw_recent,
    draw_regret,
    plotted,
)
from advmdp.reports.output_path import checked_figure_path
from advmdp.reports.units import Units

if TYPE_CHECKING:  # matplotlib is slow to import: only those who plot pay for it
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Regret against the best fixed policy"
PANEL_WIDTH, AXIS_ROOM, INCHES_PER_LETTER = 3.7, 0.78, 0.075


def plot_regret(
    curves: Mapping[str, Run],
    path: str | os.PathLike[str],
    title: str = TITLE,
    *,
    shaded: Sequence[tuple[float, float]] = (),
    note: str = "",
    rewards: Rewards | None = None,
    unit: str = "rewards",
    steps: int | None = None,
) -> Path:
    """Draw runs side by side and return the path of the figure.

    Left, the regret over episodes.  Right, the mean loss per episode in each tenth of the run, and
    as a dashed line that of the best fixed policy of the whole run.  With ``rewards``, both panels
    are in rewards.

    Parameters
    ----------
    curves
        Runs by their names in the figure.
    path
        Ends in .png, .pdf or .svg; missing folders are created.
    shaded
        Intervals of episodes to mark on the left, for instance those with unusual losses.
    note
        A line below the figure: what the marks mean, how the runs were made.
    rewards, unit, steps
        The range of the rewards that the losses stand for, the unit of the rewards, and the number
        of steps of an episode that earn one (see ``Rewards.report``).
    """
    target = checked_figure_path(path)
    figure = regret_figure(
        curves, title, shaded=shaded, note=note, rewards=rewards, unit=unit, steps=steps
    )
    with replacing(target) as draft:
        figure.savefig(draft, format=target.suffix[1:].lower())
    return target


def regret_figure(
    curves: Mapping[str, Run],
    title: str = TITLE,
    *,
    shaded: Sequence[tuple[float, float]] = (),
    note: str = "",
    rewards: Rewards | None = None,
    unit: str = "rewards",
    steps: int | None = None,
) -> Figure:
    """The figure of ``plot_regret``, to be changed before it is written."""
    if not curves:
        raise InvalidInput("curves: give at least one run")
    runs = {name: plotted(run, rewards, steps) for name, run in curves.items()}
    units = Units() if rewards is None else Units(rewards.low, rewards.high, unit)
    # A Figure with its own canvas instead of pyplot: no window system is used, and the backend and
    # the open figures of the calling program stay as they are.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(dpi=160, facecolor="white")
    FigureCanvasAgg(figure)
    left, right = _panels(figure, runs)
    draw_regret(left, runs, shaded, units)
    draw_recent(right, runs, units)
    edge = left.get_position().x0
    heading = figure.text(edge, 0.92, plain_lines(title), fontsize=14, color=INK, weight="bold")
    below = figure.text(edge, 0.025, plain_lines(note), fontsize=8.5, color=FAINT)
    for text in (heading, below):
        text.set_parse_math(False)  # a name with a dollar sign is not a formula
    return figure


def _panels(figure: Figure, runs: Mapping[str, PlottedRun]) -> tuple[Axes, Axes]:
    """Two panels of equal size, with room at their right for the labels of the lines."""
    names, best_names = list(runs), [name for name, _, _ in best_lines(runs)]
    left_room, right_room = (
        0.2 + INCHES_PER_LETTER * max(map(len, labels)) for labels in (names, names + best_names)
    )
    second = AXIS_ROOM + PANEL_WIDTH + left_room + AXIS_ROOM
    width, height = second + PANEL_WIDTH + right_room, 4.6
    figure.set_size_inches(width, height)
    left, right = (
        figure.add_axes((begin / width, 0.17, PANEL_WIDTH / width, 0.65))
        for begin in (AXIS_ROOM, second)
    )
    return left, right
