"""The regret picture: how far each learner fell behind the best fixed policy, and when."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from advmdp.errors import InvalidInput
from advmdp.evaluation.rewards import Rewards
from advmdp.evaluation.run import Run
from advmdp.layout import Floats
from advmdp.reports.files import checked_path, replacing
from advmdp.reports.units import Units

if TYPE_CHECKING:  # matplotlib takes a while to import: only those who plot pay for it
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Regret against the best fixed policy"
FORMATS = (".png", ".pdf", ".svg")

# Okabe and Ito's palette, which colour-blind readers can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
INK, FAINT = "#222222", "#8a8a8a"
ROUND_STEPS = [1, 2, 2.5, 5, 10]  # between ticks: numbers that are easy to read
PANEL_WIDTH, AXIS_ROOM, INCHES_PER_LETTER = 3.7, 0.78, 0.075
LABEL_GAP = 0.07  # smallest distance between two labels at line ends, as a share of the axis


def checked_figure_path(path: str | os.PathLike[str], name: str = "path") -> Path:
    """A path that a figure can be written to; missing folders are made.

    Called before a long run, so that a wrong name costs nothing.

    >>> checked_figure_path("regret.jpg", "output")
    Traceback (most recent call last):
    ...
    advmdp.errors.InvalidInput: output: 'regret.jpg' should end in .png, .pdf, .svg
    """
    return checked_path(path, FORMATS, name)


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
    """Draw runs side by side and return where the figure was written.

    Left, the regret over episodes.  Right, the mean loss per episode in each tenth of the run, and
    as a dashed line that of the best fixed policy of the whole run.  With ``rewards``, both in
    rewards.

    Parameters
    ----------
    curves
        Runs by the name they get in the figure.
    path
        Ends in .png, .pdf or .svg; missing folders are made.
    shaded
        Intervals of episodes to mark on the left, for instance those with unusual losses.
    note
        A line below the figure: what the marks mean, how the runs were made.
    rewards, unit, steps
        The range of the rewards that the losses stand for, what rewards are counted in, and how
        many steps of an episode earn one (see ``Rewards.report``).
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
    """The figure of ``plot_regret``, for those who want to change it before it is written."""
    if not curves:
        raise InvalidInput("curves: give at least one run")
    told = {name: _told(run, rewards, steps) for name, run in curves.items()}
    units = Units() if rewards is None else Units(rewards.low, rewards.high, unit)
    # A Figure with its own canvas instead of pyplot: no window system is asked, and the backend
    # and the open figures of the calling program stay as they are.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(dpi=160, facecolor="white")
    FigureCanvasAgg(figure)
    left, right = _panels(figure, list(told), [name for name, _, _ in _best_lines(told)])
    _draw_regret(left, told, shaded, units)
    _draw_recent(right, told, units)
    edge = left.get_position().x0
    figure.text(edge, 0.92, title, fontsize=14, color=INK, weight="bold")
    figure.text(edge, 0.025, note, fontsize=8.5, color=FAINT)
    return figure


class _Told(NamedTuple):
    """Curves of a run in the units of the figure."""

    episodes: NDArray[np.int64]
    regret: Floats
    expected: Floats
    best: Floats


def _told(run: Run, rewards: Rewards | None, steps: int | None) -> _Told:
    if rewards is None:
        return _Told(run.episodes, run.regret, run.expected_loss, run.best_loss)
    curves = rewards.report(run, steps)
    return _Told(curves.episodes, curves.regret, curves.expected_reward, curves.best_reward)


def _panels(figure: Figure, names: list[str], best_names: list[str]) -> tuple[Axes, Axes]:
    """Two panels of one size, each with as much room at its right as its labels need."""
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


def _draw_regret(
    axes: Axes, curves: Mapping[str, _Told], shaded: Sequence[tuple[float, float]], units: Units
) -> None:
    for begin, end in shaded:
        axes.axvspan(begin, end, color="#f0ece4", linewidth=0, zorder=0)
    ends = []
    for (name, run), colour in zip(curves.items(), _colours(len(curves)), strict=True):
        axes.plot(_from_zero(run.episodes), _from_zero(run.regret), color=colour, linewidth=2.0)
        ends.append((name, float(run.regret[-1]), colour))
    last = max(int(run.episodes[-1]) for run in curves.values())
    axes.set_xlim(0, last)
    axes.set_ylim(bottom=min(0.0, *(float(run.regret.min()) for run in curves.values())))
    what = "less was earned" if units.in_rewards else "more was lost"
    _dress(axes, f"How much {what} than by the best fixed policy", units.regret)
    _label_ends(axes, ends)


def _draw_recent(axes: Axes, curves: Mapping[str, _Told], units: Units) -> None:
    ends = []
    for (name, run), colour in zip(curves.items(), _colours(len(curves)), strict=True):
        middle, mean = _mean_of_tenths(run)
        axes.plot(middle, mean, color=colour, linewidth=2.0, marker="o", markersize=4.5)
        ends.append((name, float(mean[-1]), colour))
    for name, run, colour in _best_lines(curves):
        mean = run.best[-1] / run.episodes[-1]
        axes.axhline(mean, color=colour, linewidth=1.4, linestyle=(0, (4, 2)))
        ends.append((name, float(mean), colour))
    axes.set_xlim(0, max(int(run.episodes[-1]) for run in curves.values()))
    axes.margins(y=0.1)
    what = "earned" if units.in_rewards else "cost"
    heading = f"What an episode {what}, on average over each tenth of the run"
    _dress(axes, heading, units.per_episode)
    _label_ends(axes, ends)


def _mean_of_tenths(run: _Told) -> tuple[Any, Any]:
    """The middle of each tenth of the run, and the mean per episode in it.

    A cumulative mean would carry the losses of the first episodes to the end and hide how the
    learner does now.
    """
    edges = np.linspace(0.0, float(run.episodes[-1]), 11)
    total = np.interp(edges, _from_zero(run.episodes), _from_zero(run.expected))
    return (edges[1:] + edges[:-1]) / 2, np.diff(total) / np.diff(edges)


def _best_lines(curves: Mapping[str, _Told]) -> list[tuple[str, _Told, str]]:
    """One line if all runs met the same losses, otherwise one for each run in its colour."""
    runs = list(curves.values())
    first = runs[0]
    same = all(
        run.episodes[-1] == first.episodes[-1]
        and np.isclose(run.best[-1], first.best[-1], rtol=1e-9)
        for run in runs
    )
    if same:
        return [("best fixed policy", first, INK)]
    return [
        (f"best fixed policy ({name})", run, colour)
        for (name, run), colour in zip(curves.items(), _colours(len(runs)), strict=True)
    ]


def _label_ends(axes: Axes, ends: list[tuple[str, float, str]]) -> None:
    """Names at the right ends of the lines, pushed apart where they would overlap."""
    low, high = axes.get_ylim()
    span = (high - low) or 1.0
    place = -1.0
    for name, value, colour in sorted(ends, key=lambda end: end[1]):
        place = max((value - low) / span, place + LABEL_GAP)
        axes.annotate(
            name,
            xy=(1.0, place),
            xytext=(6, 0),
            xycoords="axes fraction",
            textcoords="offset points",
            va="center",
            color=colour,
            fontsize=10,
            annotation_clip=False,
            parse_math=False,  # a name is a name, even with a dollar sign
        )


def _dress(axes: Axes, heading: str, quantity: str) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    thousands = FuncFormatter(lambda value, _: f"{value:,.10g}")
    axes.xaxis.set_major_formatter(thousands)
    if max(map(abs, axes.get_ylim())) >= 1000:  # smaller numbers look better with equal decimals
        axes.yaxis.set_major_formatter(thousands)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=4, steps=ROUND_STEPS, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=7, steps=ROUND_STEPS))
    axes.set_title(heading, loc="left", fontsize=10.5, color=INK, pad=9)
    axes.set_xlabel("episodes", fontsize=10, color=INK)
    axes.set_ylabel(quantity, fontsize=10, color=INK)
    axes.tick_params(colors=INK, labelsize=9, length=3, width=0.8)
    axes.grid(axis="y", color="#e4e4e4", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(FAINT)


def _from_zero(values: Any) -> Any:
    """A curve that starts at the origin: no episode, no regret."""
    return np.concatenate([[0.0], values])


def _colours(n: int) -> list[str]:
    return [COLOURS[i % len(COLOURS)] for i in range(n)]
