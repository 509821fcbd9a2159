"""Forests: one interval a row, for many learners that one set of curves could not show.

A row is a learner; rows are grouped by what the learners know and see.  Web pages and paper figures
draw the same forests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from advmdp.reports.cells import Cell
from advmdp.reports.comparisons import SIGNIFICANT
from advmdp.reports.learner_names import label_of
from advmdp.reports.settings import by_setting
from advmdp.reports.statistics import LEVEL, Interval
from advmdp.reports.tables.comparison_tables import baseline_note


@dataclass(frozen=True)
class ForestRow:
    """One learner: an estimate with its interval and, of a comparison, the p-values."""

    learner: str
    group: str
    interval: Interval
    p_value: float | None = None
    adjusted: float | None = None

    @property
    def marked(self) -> bool:
        """Whether the difference is significant after the adjustment."""
        return self.adjusted is not None and self.adjusted < SIGNIFICANT


@dataclass(frozen=True)
class Forest:
    """Rows on one horizontal axis, grouped; within a group the least comes first."""

    title: str
    x_label: str
    rows: tuple[ForestRow, ...]
    note: str

    def of(self, learners: Sequence[str]) -> Forest:
        """The rows of these learners, all if there are none; rejects learners that have no row."""
        there = {row.learner for row in self.rows}
        chosen = [label_of(learner, there, "learners", " in this figure") for learner in learners]
        rows = tuple(row for row in self.rows if not chosen or row.learner in chosen)
        return replace(self, rows=rows)


def ranking_forest(cell: Cell) -> Forest:
    """The final regret of every learner."""
    rows = {group.learner: (group.regret, None, None) for group in cell.groups}
    note = (
        f"Dots: means over replicates; bars: {LEVEL:.0%} intervals, not adjusted. Compare within a "
        "group: learners of different groups are told different things."
    )
    title = f"Regret after {cell.n_episodes:,} episodes"
    return Forest(title, cell.units.regret, _grouped(rows), note)


def baseline_forest(cell: Cell, baseline: str) -> Forest:
    """The regret of every other learner minus that of the baseline."""
    rows = {
        pair.learner: (pair.difference, pair.p_value, pair.adjusted)
        for pair in cell.against(baseline)
    }
    note = f"Filled: adjusted p below {SIGNIFICANT}. {baseline_note(cell, baseline)}"
    label = f"{cell.units.regret} minus that of {baseline}"
    return Forest(f"Against {baseline}", label, _grouped(rows), note)


Figures = tuple[Interval, float | None, float | None]


def _grouped(figures: Mapping[str, Figures]) -> tuple[ForestRow, ...]:
    ordered = sorted(figures, key=lambda learner: figures[learner][0].estimate)
    return tuple(
        ForestRow(learner, setting.words, *figures[learner])
        for setting, learners in by_setting(ordered).items()
        for learner in learners
    )
