"""The tables of a report: cells, learners, comparisons, rates and certificates."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from advmdp.evaluation.schema import Kind, Level, loss_columns, solver_columns
from advmdp.reports.cells import Cell
from advmdp.reports.rates import Family
from advmdp.reports.sign_flips import EXACT_FLIPS
from advmdp.reports.statistics import LEVEL
from advmdp.reports.tables.table_data import (
    NOTHING,
    TableData,
    TableEntry,
    TableRow,
    interval_entry,
    number_entry,
    p_value_entry,
    residual_entry,
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
            number_entry(best.regret.estimate),
            *([TableEntry(cell.units.name)] if has_rewards else []),
        )
        rows.append(TableRow(entries, cell=number))
    units = ("in",) if has_rewards else ()
    columns = ("MDP", "losses", "T", "learners", "runs", "least regret", "mean regret", *units)
    return TableData("All cells", columns, tuple(rows), "Choose a row to see its figures.")


def summary_table(cell: Cell) -> TableData:
    """The learners of a cell, sorted by their final regret."""
    rows = []
    for group in sorted(cell.groups, key=lambda group: group.regret.estimate):
        speed = group.runs["episodes_per_second"].mean()
        mean = group.per_episode("expected").estimate
        entries = (
            TableEntry(group.learner),
            number_entry(len(group.replicates)),
            number_entry(group.regret.estimate),
            interval_entry(group.regret),
            TableEntry(cell.units.text(mean), mean),
            number_entry(speed),
        )
        rows.append(TableRow(entries, (group.learner,)))
    mean_of = f"{cell.units.kind}/episode"
    columns = ("learner", "n", cell.units.regret, f"{LEVEL:.0%} interval", mean_of, "episodes/s")
    note = "n: replicates. Intervals: bootstrap over replicates, widened for small n."
    note = " ".join([note, *(group.thinned for group in cell.groups if group.thinned)])
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
            *(TableEntry(cell.units.text(mean), mean) for mean in means),
            TableEntry(cell.units.text(total), total),
        )
        rows.append(TableRow(entries, (group.learner,)))
    columns = ("learner", *(column.label for column in totals), "expected in total")
    note = f"Means over replicates, {cell.units.name} in a step. Realised: on sampled trajectories."
    return TableData("Rewards per episode", columns, tuple(rows), note)


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
        f"{EXACT_FLIPS}; never below 2^(1-n)); adjusted: for the {len(rows)} pairs of this cell, "
        "by their largest statistic under the same flips, but not across cells. The intervals are "
        "not adjusted."
    )
    return TableData("Paired comparisons", columns, tuple(rows), note)


def rate_table(family: Family) -> TableData:
    """The growth exponents of a family."""
    rows = []
    for rate in family.rates:
        exponent = rate.law.exponent if rate.law else None
        entries = (
            TableEntry(rate.learner),
            TableEntry(f"{exponent.estimate:.3f}", exponent.estimate) if exponent else NOTHING,
            interval_entry(exponent, ".3f") if exponent else NOTHING,
            number_entry(exponent.n if exponent else None),
            TableEntry(rate.reason or rate.kind),
        )
        rows.append(TableRow(entries, (rate.learner,)))
    lengths = ", ".join(f"{cell.n_episodes:,}" for cell in family.cells)
    columns = ("learner", "exponent", f"{LEVEL:.0%} interval", "n", "slope of log regret")
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
