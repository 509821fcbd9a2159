"""The tables of comparisons: all pairs of learners, or all learners against one."""

from __future__ import annotations

from advmdp.display.counted import counted
from advmdp.reports.cells import Cell
from advmdp.reports.comparisons import SIGNIFICANT, usual_baseline
from advmdp.reports.settings import setting_of
from advmdp.reports.sign_flips import EXACT_FLIPS
from advmdp.reports.statistics import LEVEL
from advmdp.reports.tables.cell_tables import TOLD, TOLD_NOTE
from advmdp.reports.tables.table_data import (
    TableData,
    TableEntry,
    TableRow,
    interval_entry,
    number_entry,
    p_value_entry,
)

MARK = "*"
MOST_PAIRED = 4  # learners whose pairs (six) can still be read in one table


def readable_comparisons(cell: Cell, baseline: str | None = None) -> TableData:
    """All pairs of a few learners; of many, or with a baseline, each against one."""
    if baseline is None and len(cell.groups) <= MOST_PAIRED:
        return comparison_table(cell)
    is_there = any(group.learner == baseline for group in cell.groups)
    chosen = baseline if baseline and is_there else usual_baseline(cell.groups)
    return baseline_table(cell, chosen)


def comparison_table(cell: Cell) -> TableData:
    """All pairs of learners, compared replicate by replicate."""
    rows = []
    for pair in cell.comparisons:
        entries = (
            TableEntry(pair.better),
            TableEntry(pair.other),
            number_entry(pair.difference.estimate),
            interval_entry(pair.difference),
            number_entry(pair.difference.n),
            p_value_entry(pair.p_value),
            p_value_entry(pair.adjusted),
        )
        rows.append(TableRow(entries, (pair.better, pair.other)))
    columns = ("learner", "against", "difference", f"{LEVEL:.0%} interval", "n", "p", "adjusted p")
    note = (
        f"Difference: {cell.units.regret} of the second minus that of the first, on the same "
        f"worlds, losses and random numbers. p: two-sided sign-flip test (exact up to n = "
        f"{EXACT_FLIPS}; never below 2^(1-n)); adjusted: for the {counted(len(rows), 'pair')} of "
        "this cell, by their largest statistic under the same flips, but not across cells. The "
        "intervals are not adjusted."
    )
    return TableData("Paired comparisons", columns, tuple(rows), note)


def baseline_table(cell: Cell, baseline: str) -> TableData:
    """All other learners against one, replicate by replicate."""
    rows = []
    for pair in cell.against(baseline):
        entries = (
            TableEntry(pair.learner),
            TableEntry(setting_of(pair.learner).told),
            number_entry(pair.difference.estimate),
            interval_entry(pair.difference),
            number_entry(pair.difference.n),
            p_value_entry(pair.p_value),
            p_value_entry(pair.adjusted),
            TableEntry(MARK if pair.significant else ""),
        )
        rows.append(TableRow(entries, (pair.learner,)))
    figures = ("difference", f"{LEVEL:.0%} interval", "n", "p", "adjusted p", "")
    columns = ("learner", TOLD, *figures)
    note = f"{baseline_note(cell, baseline)} {MARK}: adjusted p below {SIGNIFICANT}. {TOLD_NOTE}"
    return TableData(f"Against {baseline}", columns, tuple(rows), note)


def _too_few(cell: Cell, baseline: str) -> str:
    """A sentence if no p-value can be significant, however large the difference; else nothing."""
    most = max((pair.difference.n for pair in cell.against(baseline)), default=0)
    if 2.0 ** (1 - most) < SIGNIFICANT:
        return ""
    return f" With n = {most} no p is below {2.0 ** (1 - most):.4g}: more replicates can tell more."


def baseline_note(cell: Cell, baseline: str) -> str:
    """How comparisons with a baseline are to be read."""
    return (
        f"Difference: {cell.units.regret} minus that of {baseline} "
        f"({setting_of(baseline).words}), on the same worlds, losses and random numbers; below "
        f"zero is better than {baseline}. p: two-sided sign-flip test (exact up to n = "
        f"{EXACT_FLIPS}; never below 2^(1-n)); adjusted: for all comparisons with this baseline "
        "in this cell, as if it had been chosen before the results were seen. The intervals are "
        f"not adjusted.{_too_few(cell, baseline)}"
    )
