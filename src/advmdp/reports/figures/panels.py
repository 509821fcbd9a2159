"""Panels: what a figure shows, independent of how it is drawn.

A panel is a set of axes with series on it.  Web pages and paper figures draw the same panels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from advmdp.evaluation.schema import column, term_columns
from advmdp.reports.learner_names import label_of
from advmdp.reports.statistics import Floats

BEST, TOTAL = column("best_loss").label, column("regret").label
TERM_NAMES = {term.name: term.label for term in term_columns()}
PLAIN_KEYS = (BEST, TOTAL)
"""Series in the colour of the text: they are neither of a learner nor a term."""
EPISODES = column("episodes").label
MOST_DECADES = 6  # of a logarithmic axis: smaller values are rounding


@dataclass(frozen=True)
class Series:
    """A line, or dots with error bars.

    ``key`` determines colour and line style, and is what a legend shows or hides; ``label`` can
    contain more.
    """

    key: str
    label: str
    x: Floats
    y: Floats
    low: Floats | None = None
    high: Floats | None = None
    dots: bool = False

    @property
    def is_learner(self) -> bool:
        """Whether it belongs to a learner; the best fixed policy and the four terms do not."""
        return self.key not in (*PLAIN_KEYS, *TERM_NAMES.values())

    @property
    def below_zero(self) -> Floats:
        """Where the mean or the lower end has no logarithm; a figure on such an axis says it."""
        ends = self.y if self.low is None else np.fmin(self.y, self.low)
        there: Floats = self.x[(ends <= 0.0) & (self.x > 0.0)]
        return there


@dataclass(frozen=True)
class Panel:
    """One set of axes."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    x_log: bool = False
    y_log: bool = False
    from_zero: bool = True
    """Whether a linear vertical axis includes zero."""
    note: str = ""
    learner: str | None = None
    """The learner that the panel belongs to, if it is only one."""


def select_learners(panels: Sequence[Panel], learners: Sequence[str]) -> list[Panel]:
    """The panels with these learners only; rejects learners that no panel shows."""
    known = {series.key for panel in panels for series in panel.series}
    known |= {panel.learner for panel in panels if panel.learner}
    learners = [label_of(learner, known, "learners", " in this figure") for learner in learners]
    selected = []
    for panel in panels:
        if panel.learner is None:
            shown = tuple(s for s in panel.series if s.key in (*learners, *PLAIN_KEYS))
            if any(series.key in learners for series in shown):
                selected.append(replace(panel, series=shown))
        elif panel.learner in learners:
            selected.append(panel)
    return selected


def vertical_range(panel: Panel) -> tuple[float, float]:
    """The ends of the vertical axis: all means, and bands unless they are much wider."""
    values = np.concatenate([series.y[np.isfinite(series.y)] for series in panel.series])
    lows = [series.low for series in panel.series if series.low is not None]
    highs = [series.high for series in panel.series if series.high is not None]
    ends = np.concatenate([values, *lows, *highs])
    if panel.y_log:
        positive = values[values > 0.0]
        if not len(positive):
            return 0.1, 1.0
        values = np.log10(positive[positive >= positive.max() * 10.0**-MOST_DECADES])
        ends = np.log10(ends[ends > 0.0])
    elif panel.from_zero:
        values = np.append(values, 0.0)
    low, high = float(values.min()), float(values.max())
    room = (high - low) or abs(high) or 1.0
    bottom = max(float(np.nanmin(ends, initial=low)), low - room / 2)
    top = min(float(np.nanmax(ends, initial=high)), high + room / 2)
    if panel.y_log or bottom < 0.0 or not panel.from_zero:  # no margin below a zero line
        bottom -= 0.04 * room
    top += 0.04 * room
    return (10.0**bottom, 10.0**top) if panel.y_log else (bottom, top)
