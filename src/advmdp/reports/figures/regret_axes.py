"""The two panels of the regret plot: regret over time, and means over tenths of the runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from advmdp.evaluation.rewards import Rewards
from advmdp.evaluation.run import Run
from advmdp.layout import Floats
from advmdp.plain_text import plain_text
from advmdp.reports.figures.axis_style import ROUND_STEPS, style_axes, thousands
from advmdp.reports.figures.line_styles import COLOURS, INK
from advmdp.reports.figures.panels import BEST, EPISODES
from advmdp.reports.units import Units

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABEL_GAP = 0.07  # least distance between two labels at line ends, as a share of the axis


class PlottedRun(NamedTuple):
    """The curves of a run in the units of the figure."""

    episodes: NDArray[np.int64]
    regret: Floats
    expected: Floats
    best: Floats


def plotted(run: Run, rewards: Rewards | None, steps: int | None) -> PlottedRun:
    """A run in losses, or in rewards if their range is given."""
    if rewards is None:
        return PlottedRun(run.episodes, run.regret, run.expected_loss, run.best_loss)
    curves = rewards.report(run, steps)
    return PlottedRun(curves.episodes, curves.regret, curves.expected_reward, curves.best_reward)


def draw_regret(
    axes: Axes,
    runs: Mapping[str, PlottedRun],
    shaded: Sequence[tuple[float, float]],
    units: Units,
) -> None:
    """The regret over episodes, from the origin."""
    for begin, end in shaded:
        axes.axvspan(begin, end, color="#f0ece4", linewidth=0, zorder=0)
    ends = []
    for (name, run), colour in zip(runs.items(), _colours(len(runs)), strict=True):
        axes.plot(_from_zero(run.episodes), _from_zero(run.regret), color=colour, linewidth=2.0)
        ends.append((name, float(run.regret[-1]), colour))
    axes.set_xlim(0, _longest(runs))
    axes.set_ylim(bottom=min(0.0, *(float(run.regret.min()) for run in runs.values())))
    what = "less was earned" if units.in_rewards else "more was lost"
    _label(axes, f"How much {what} than by the best fixed policy", units.regret, ends)


def draw_recent(axes: Axes, runs: Mapping[str, PlottedRun], units: Units) -> None:
    """The mean per episode in each tenth of the run, and that of the best fixed policy."""
    ends = []
    for (name, run), colour in zip(runs.items(), _colours(len(runs)), strict=True):
        middle, mean = _mean_of_tenths(run)
        axes.plot(middle, mean, color=colour, linewidth=2.0, marker="o", markersize=4.5)
        ends.append((name, float(mean[-1]), colour))
    for name, run, colour in best_lines(runs):
        mean = run.best[-1] / run.episodes[-1]
        axes.axhline(mean, color=colour, linewidth=1.4, linestyle=(0, (4, 2)))
        ends.append((name, float(mean), colour))
    axes.set_xlim(0, _longest(runs))
    axes.margins(y=0.1)
    what = "earned" if units.in_rewards else "cost"
    heading = f"What an episode {what}, on average over each tenth of the run"
    _label(axes, heading, units.per_episode, ends)


def best_lines(runs: Mapping[str, PlottedRun]) -> list[tuple[str, PlottedRun, str]]:
    """One line if all runs met the same losses, otherwise one for each run in its colour."""
    first, *others = runs.values()
    same = all(
        run.episodes[-1] == first.episodes[-1]
        and np.isclose(run.best[-1], first.best[-1], rtol=1e-9)
        for run in others
    )
    if same:
        return [(BEST, first, INK)]
    return [
        (f"{BEST} ({name})", run, colour)
        for (name, run), colour in zip(runs.items(), _colours(len(runs)), strict=True)
    ]


def _mean_of_tenths(run: PlottedRun) -> tuple[Any, Any]:
    """The middle of each tenth of the run, and the mean per episode in it.

    A cumulative mean would carry the losses of the first episodes to the end and hide the current
    performance of the learner.
    """
    edges = np.linspace(0.0, float(run.episodes[-1]), 11)
    total = np.interp(edges, _from_zero(run.episodes), _from_zero(run.expected))
    return (edges[1:] + edges[:-1]) / 2, np.diff(total) / np.diff(edges)


def _label(axes: Axes, heading: str, y_label: str, ends: list[tuple[str, float, str]]) -> None:
    """Ticks, heading and axis labels, and the names of the lines at their right ends."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_formatter(thousands())
    if max(map(abs, axes.get_ylim())) >= 1000:  # smaller numbers look better with equal decimals
        axes.yaxis.set_major_formatter(thousands())
    axes.xaxis.set_major_locator(MaxNLocator(nbins=4, steps=ROUND_STEPS, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=7, steps=ROUND_STEPS))
    style_axes(axes, heading, EPISODES, y_label)
    _label_ends(axes, ends)


def _label_ends(axes: Axes, ends: list[tuple[str, float, str]]) -> None:
    """Names at the right ends of the lines, pushed apart where they would overlap."""
    low, high = axes.get_ylim()
    span = (high - low) or 1.0
    place = -1.0
    for name, value, colour in sorted(ends, key=lambda end: end[1]):
        place = max((value - low) / span, place + LABEL_GAP)
        axes.annotate(
            plain_text(name),
            xy=(1.0, place),
            xytext=(6, 0),
            xycoords="axes fraction",
            textcoords="offset points",
            va="center",
            color=colour,
            fontsize=10,
            annotation_clip=False,
            parse_math=False,  # a name with a dollar sign is not a formula
        )


def _longest(runs: Mapping[str, PlottedRun]) -> int:
    """The largest number of episodes."""
    return max(int(run.episodes[-1]) for run in runs.values())


def _from_zero(values: Any) -> Any:
    """The curve with zero in front: the value before the first episode."""
    return np.concatenate([[0.0], values])


def _colours(n: int) -> list[str]:
    return [COLOURS[i % len(COLOURS)] for i in range(n)]
