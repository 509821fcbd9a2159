"""The tables of a report: cells, learners, rates and certificates."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from advmdp.evaluation.schema import Kind, Level, loss_columns, solver_columns
from advmdp.reports.cells import Cell
from advmdp.reports.rates import Family
from advmdp.reports.settings import setting_of
from advmdp.reports.statistics import LEVEL
from advmdp.reports.tables.table_data import (
    NOTHING,
    TableData,
    TableEntry,
    TableRow,
    interval_entry,
    number_entry,
    residual_entry,
)

TOLD = "told"
"""The column that says what a learner is told; every table that ranks learners has it."""
TOLD_NOTE = (
    "Told: P, the transition; all, the losses of all pairs; -, those of its path alone; sum, only "
    "their sum; ?, a learner of your own."
)


def overview_table(cells: Sequence[Cell]) -> TableData:
    """All cells, one row each."""
    rows = []
    has_rewards = any(cell.units.in_rewards for cell in cells)
    for number, cell in enumerate(cells):
        best = min(cell.groups, key=lambda group: group.regret.estimate)
        entries = (
            TableEntry(cell.mdp),
            TableEntry(cell.losses),
            number_entry(cell.n_episodes),
            number_entry(len(cell.groups)),
            number_entry(sum(len(group.replicates) for group in cell.groups)),
            TableEntry(best.learner),
            TableEntry(setting_of(best.learner).words),
            number_entry(best.regret.estimate),
            *([TableEntry(cell.units.name)] if has_rewards else []),
        )
        rows.append(TableRow(entries, cell=number))
    units = ("in",) if has_rewards else ()
    counts = ("MDP", "losses", "T", "learners", "runs")
    columns = (*counts, "least regret", "knows and sees", "mean regret", *units)
    return TableData("All cells", columns, tuple(rows), "Choose a row to see its figures.")


def summary_table(cell: Cell) -> TableData:
    """The learners of a cell, sorted by their final regret."""
    rows = []
    for group in sorted(cell.groups, key=lambda group: group.regret.estimate):
        speed = group.runs["episodes_per_second"].mean()
        mean = group.per_episode("expected").estimate
        entries = (
            TableEntry(group.learner),
            TableEntry(setting_of(group.learner).told),
            number_entry(len(group.replicates)),
            number_entry(group.regret.estimate),
            interval_entry(group.regret),
            TableEntry(cell.units.text(mean), mean),
            number_entry(speed),
        )
        rows.append(TableRow(entries, (group.learner,)))
    mean_of = f"{cell.units.kind}/episode"
    figures = ("n", cell.units.regret, f"{LEVEL:.0%} interval", mean_of, "episodes/s")
    note = f"{TOLD_NOTE} n: replicates. Intervals: bootstrap over replicates, widened for small n."
    note = " ".join([note, *(group.thinned for group in cell.groups if group.thinned)])
    columns = ("learner", TOLD, *figures)
    return TableData(f"After {cell.n_episodes:,} episodes", columns, tuple(rows), note)


def reward_table(cell: Cell) -> TableData | None:
    """The rewards of the learners of a cell; None for a cell in losses."""
    if not cell.units.in_rewards:
        return None
    totals = [
        column
        for column in loss_columns(Level.RUN)
        if column.kind is Kind.TOTAL_LOSS and not column.optional
    ]
    rows = []
    for group in sorted(cell.groups, key=lambda group: group.regret.estimate):
        means = [group.per_episode(column.quantity).estimate for column in totals]
        total = group.per_episode("expected").estimate * cell.n_episodes
        entries = (
            TableEntry(group.learner),
            TableEntry(setting_of(group.learner).told),
            *(TableEntry(cell.units.text(mean), mean) for mean in means),
            TableEntry(cell.units.text(total), total),
        )
        rows.append(TableRow(entries, (group.learner,)))
    labels = (column.label for column in totals)
    columns = ("learner", TOLD, *labels, "expected in total")
    note = f"Means over replicates, {cell.units.name} in a step. Realised: on sampled trajectories."
    return TableData("Rewards per episode", columns, tuple(rows), note)


def rate_table(family: Family) -> TableData:
    """The growth exponents of a family."""
    rows = []
    for rate in family.rates:
        exponent = rate.law.exponent if rate.law else None
        entries = (
            TableEntry(rate.learner),
            TableEntry(setting_of(rate.learner).told),
            TableEntry(f"{exponent.estimate:.3f}", exponent.estimate) if exponent else NOTHING,
            interval_entry(exponent, ".3f") if exponent else NOTHING,
            number_entry(exponent.n if exponent else None),
            TableEntry(rate.reason or rate.kind),
        )
        rows.append(TableRow(entries, (rate.learner,)))
    lengths = ", ".join(f"{cell.n_episodes:,}" for cell in family.cells)
    figures = ("exponent", f"{LEVEL:.0%} interval", "n", "slope of log regret")
    columns = ("learner", TOLD, *figures)
    note = f"Least squares on the means, intervals by bootstrap over replicates. T: {lengths}."
    return TableData("Exponents", columns, tuple(rows), note)


def certificate_table(cell: Cell) -> TableData | None:
    """The certificates of the projections; None if no learner projects."""
    certificates = solver_columns()
    rows = []
    for group in cell.groups:
        runs = group.runs.filter(pl.col("projections").is_not_null())
        if len(runs):
            entries = (
                number_entry(runs[column.name].sum())
                if column.dtype is int
                else residual_entry(runs[column.name].max())
                for column in certificates
            )
            rows.append(TableRow((TableEntry(group.learner), *entries), (group.learner,)))
    columns = ("learner", *(column.label for column in certificates))
    note = "Over all replicates; a projection that cannot be certified stops its run."
    return TableData("Certificates", columns, tuple(rows), note) if rows else None
