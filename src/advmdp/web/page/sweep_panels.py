"""The curves of a cell while its runs are played, as the panels that reports draw.

The mean of a learner over all its runs goes as far as the last of them is; from there to the end it
is the mean of the finished ones.  Both have the intervals of the reports.  Where the two sets of
runs differ, the line is broken: it never passes from one set to another unseen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from advmdp.evaluation.schema import FINISHED, RUNNING, column
from advmdp.reports.figures.panels import EPISODES, Panel, Series
from advmdp.reports.html.self_contained import panel_data
from advmdp.reports.statistics import Floats, mean_band
from advmdp.store.progress.live_store import Curves
from advmdp.web.page.sweep_counts import WatchedCell, WatchedRun

MOST_LEARNERS = 24  # with curves
MOST_RUNS = 400  # of a learner that enter a mean
MOST_THIN = 24  # runs under way with a line of their own
MOST_CACHED = 256  # learners in figures
FAINT = "under way: "
"""The beginning of the keys of single runs."""


class Figure(NamedTuple):
    """One panel of the page: what is drawn of a run's curves."""

    title: str
    y_label: Callable[[WatchedCell], str]
    values: Callable[[Curves, WatchedCell], Floats | None]
    note: str
    origin: bool = False
    logarithmic: bool = False


def _regret(curves: Curves, cell: WatchedCell) -> Floats:
    span = (cell.units.high or 0.0) - (cell.units.low or 0.0) if cell.units.in_rewards else 1.0
    return span * (curves["expected_loss"] - curves["best_loss"])


FIGURES = {
    "regret": Figure(
        "Regret",
        lambda cell: cell.units.regret,
        _regret,
        "What the learner lost more than the best fixed policy for the losses so far.",
        origin=True,
    ),
    "loss": Figure(
        "Loss per episode so far",
        lambda cell: "loss per episode",
        lambda curves, _: curves["expected_loss"] / curves["episodes"],
        "The expected loss of an episode, averaged from the first one on.",
    ),
    "width": Figure(
        "Confidence widths",
        lambda cell: column("mean_width").label,
        lambda curves, _: curves.get("mean_width"),
        "What is left open about the transition: 1 everything, 0 nothing.",
        logarithmic=True,
    ),
}


class SeriesCache:
    """Series of learners whose runs have not moved since the last tick: intervals are expensive."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str, str], tuple[Any, list[Series]]] = {}

    def series(self, name: str, cell: WatchedCell, runs: Sequence[WatchedRun]) -> list[Series]:
        """The series of one learner in one figure."""
        place = name, cell.key, runs[0].learner
        stamp = [(run.name, run.status, run.share) for run in runs]
        found = self._made.pop(place, None)
        if found is None or found[0] != stamp:
            found = stamp, _series(FIGURES[name], cell, runs)
        self._made[place] = found  # last: the least recently used is the first
        if len(self._made) > MOST_CACHED:
            del self._made[next(iter(self._made))]
        return found[1]


def cell_panels(cell: WatchedCell, cache: SeriesCache) -> dict[str, Any]:
    """The panels of a cell in the form that ``chart.js`` expects, by name."""
    runs_of: dict[str, list[WatchedRun]] = defaultdict(list)
    for run in cell.runs:
        runs_of[run.learner].append(run)
    shown = sorted(runs_of)[:MOST_LEARNERS]
    panels = {}
    for name, figure in FIGURES.items():
        series = [one for learner in shown for one in cache.series(name, cell, runs_of[learner])]
        if series:
            panel = Panel(
                *(figure.title, EPISODES, figure.y_label(cell), tuple(series)),
                x_log=figure.logarithmic,
                y_log=figure.logarithmic,
                from_zero=figure.origin,
                note=figure.note + _broken(series) + _left_out(len(runs_of)),
            )
            panels[name] = {**panel_data([panel])[0], "x_end": cell.n_episodes}
    return panels


def _series(figure: Figure, cell: WatchedCell, runs: Sequence[WatchedRun]) -> list[Series]:
    """The means of one learner, and lines of its runs under way."""
    found = [(run, _curve(figure, cell, run)) for run in runs[:MOST_RUNS]]
    known = [(run, curve) for run, curve in found if curve is not None]
    if not known:
        return []
    learner = runs[0].learner
    everyone = [curve for _, curve in known]
    done = [curve for run, curve in known if run.status == FINISHED]
    made = []
    together = _mean(learner, _told(len(everyone), len(runs)), everyone, figure.origin)
    reached = float(together.x[-1]) if together is not None else 0.0
    if together is not None:
        made.append(together)
    if done and len(done) < len(everyone):
        beyond = _mean(learner, _told(len(done), len(runs)), done, figure.origin, reached)
        made += [] if beyond is None else [beyond]
    thin = [(run, curve) for run, curve in known if run.status == RUNNING][:MOST_THIN]
    return made + [
        Series(FAINT + learner, f"{learner}, seed {run.seed}.{run.replicate}", *curve)
        for run, curve in thin
        if len(curve[0]) > 1 and len(everyone) > 1
    ]


def _broken(series: Sequence[Series]) -> str:
    """What thin lines and breaks are, where there are any."""
    if not any(one.key.startswith(FAINT) for one in series):
        return ""
    return " Thin: runs under way; where a line breaks, the finished ones go on."


def _left_out(n_learners: int) -> str:
    """That some learners have no curves, where that is so."""
    if n_learners <= MOST_LEARNERS:
        return ""
    return f" Of {n_learners} learners the first {MOST_LEARNERS} are drawn; the report has all."


def _told(number: int, of: int) -> str:
    if of == 1:
        return ""
    return f", {number} of {of} runs" if number < of else f", {of} runs"


def _curve(figure: Figure, cell: WatchedCell, run: WatchedRun) -> tuple[Floats, Floats] | None:
    """Episodes and values of a run, as far as they are known."""
    live = run.live
    if live is None or live.curves is None:
        return None
    values = figure.values(live.curves, cell)
    if values is None or not len(values):
        return None
    return live.curves["episodes"], values


def _mean(
    learner: str,
    told: str,
    curves: Sequence[tuple[Floats, Floats]],
    origin: bool,
    begin: float = 0.0,
) -> Series | None:
    """Mean and band over runs, at the points that they share, not before ``begin``."""
    shared = reduce(np.intersect1d, (x for x, _ in curves))
    shared = shared[shared >= begin]
    if not len(shared) or (begin and len(shared) < 2):
        return None
    band = mean_band([y[np.searchsorted(x, shared)] for x, y in curves])
    start = [0.0] * (origin and not begin)
    x, y, low, high = (np.concatenate([start, part]) for part in (shared, *band[:3]))
    known = band.n > 1
    return Series(learner, learner + told, x, y, low if known else None, high if known else None)
