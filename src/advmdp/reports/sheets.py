"""Tables as data: the page and the terminal show the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from advmdp.reports.rates import Family
from advmdp.reports.statistics import EXACT_FLIPS, LEVEL, Interval
from advmdp.reports.summary import TOTALS, Cell


@dataclass(frozen=True)
class Entry:
    """A text and, for numbers, the value it stands for, which sorts the column."""

    text: str
    value: float | None = None


@dataclass(frozen=True)
class Row:
    """One line of a sheet, and the learners it is about."""

    entries: tuple[Entry, ...]
    learners: tuple[str, ...] = ()
    cell: int | None = None
    """The cell that the row stands for."""


@dataclass(frozen=True)
class Sheet:
    """A table; ``note`` says how to read it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    note: str = ""


def overview_sheet(cells: Sequence[Cell]) -> Sheet:
    """Every cell on one line."""
    rows = []
    has_rewards = any(cell.units.in_rewards for cell in cells)
    for number, cell in enumerate(cells):
        best = min(cell.groups, key=lambda group: group.regret.estimate)
        entries = (
            Entry(cell.mdp),
            Entry(cell.losses),
            whole(cell.n_episodes),
            whole(len(cell.groups)),
            whole(sum(len(group.replicates) for group in cell.groups)),
            Entry(best.learner),
            whole(best.regret.estimate),
            *([Entry(cell.units.name)] if has_rewards else []),
        )
        rows.append(Row(entries, cell=number))
    units = ("in",) if has_rewards else ()
    columns = ("MDP", "losses", "T", "learners", "runs", "least regret", "mean regret", *units)
    return Sheet("All cells", columns, tuple(rows), "Choose a row to see its figures.")


def summary_sheet(cell: Cell) -> Sheet:
    """The learners of a cell by their final regret."""
    rows = []
    for group in sorted(cell.groups, key=lambda group: group.regret.estimate):
        speed = group.runs["episodes_per_second"].mean()
        mean = group.per_episode("expected").estimate
        entries = (
            Entry(group.learner),
            whole(len(group.replicates)),
            whole(group.regret.estimate),
            interval(group.regret),
            Entry(cell.units.text(mean), mean),
            whole(speed),
        )
        rows.append(Row(entries, (group.learner,)))
    mean_of = f"{cell.units.kind}/episode"
    columns = ("learner", "n", cell.units.regret, f"{LEVEL:.0%} interval", mean_of, "episodes/s")
    note = "n: replicates. Intervals: bootstrap over replicates, widened for small n."
    note = " ".join([note, *(group.thinned for group in cell.groups if group.thinned)])
    return Sheet(f"After {cell.n_episodes:,} episodes", columns, tuple(rows), note)


def reward_sheet(cell: Cell) -> Sheet | None:
    """What the learners of a cell earned; None where nothing is told in rewards."""
    if not cell.units.in_rewards:
        return None
    rows = []
    for group in sorted(cell.groups, key=lambda group: group.regret.estimate):
        means = [group.per_episode(total).estimate for total in TOTALS]
        total = means[0] * cell.n_episodes
        entries = (
            Entry(group.learner),
            *(Entry(cell.units.text(mean), mean) for mean in means),
            Entry(cell.units.text(total), total),
        )
        rows.append(Row(entries, (group.learner,)))
    columns = ("learner", "expected", "realised", "best fixed policy", "expected in total")
    note = (
        f"Means over replicates, {cell.units.name} in a step. Realised: on the trajectories drawn."
    )
    return Sheet("Rewards per episode", columns, tuple(rows), note)


def comparison_sheet(cell: Cell) -> Sheet:
    """All pairs of learners, replicate by replicate."""
    rows = []
    for pair in cell.comparisons:
        entries = (
            Entry(pair.better),
            Entry(pair.other),
            whole(pair.difference.estimate),
            interval(pair.difference),
            whole(pair.difference.n),
            chance(pair.p_value),
            chance(pair.adjusted),
        )
        rows.append(Row(entries, (pair.better, pair.other)))
    columns = ("learner", "against", "difference", f"{LEVEL:.0%} interval", "n", "p", "adjusted p")
    note = (
        f"Difference: {cell.units.regret} of the second minus that of the first, on the same "
        f"worlds, losses and random numbers. p: two-sided sign-flip test (exact up to n = "
        f"{EXACT_FLIPS}; never below 2^(1-n)); adjusted: for the {len(rows)} pairs of this cell, "
        "by their largest statistic under the same flips, but not across cells. The intervals are "
        "not adjusted."
    )
    return Sheet("Paired comparisons", columns, tuple(rows), note)


def rate_sheet(family: Family) -> Sheet:
    """The exponents of a family."""
    rows = []
    for rate in family.rates:
        exponent = rate.law.exponent if rate.law else None
        entries = (
            Entry(rate.learner),
            Entry(f"{exponent.estimate:.3f}", exponent.estimate) if exponent else Entry("-"),
            interval(exponent, ".3f") if exponent else Entry("-"),
            whole(exponent.n if exponent else None),
            Entry(rate.reason or rate.kind),
        )
        rows.append(Row(entries, (rate.learner,)))
    lengths = ", ".join(f"{cell.n_episodes:,}" for cell in family.cells)
    columns = ("learner", "exponent", f"{LEVEL:.0%} interval", "n", "slope of log regret")
    note = f"Least squares on the means, intervals by bootstrap over replicates. T: {lengths}."
    return Sheet("Exponents", columns, tuple(rows), note)


def certificate_sheet(cell: Cell) -> Sheet | None:
    """What vouches for the projections; None if no learner projects."""
    rows = []
    for group in cell.groups:
        runs = group.runs.filter(pl.col("projections").is_not_null())
        if len(runs):
            entries = (
                Entry(group.learner),
                whole(runs["projections"].sum()),
                whole(runs["safe_paths"].sum()),
                tiny(runs["worst_residual"].max()),
                tiny(runs["worst_gap"].max()),
            )
            rows.append(Row(entries, (group.learner,)))
    columns = ("learner", "projections", "on the safe path", "worst flow residual", "worst gap")
    note = "Over all replicates; a projection that cannot be certified stops its run."
    return Sheet("Certificates", columns, tuple(rows), note) if rows else None


def whole(value: Any) -> Entry:
    """A number without decimals unless it is small."""
    if value is None or not np.isfinite(value):
        return Entry("-")
    return Entry(in_words(float(value)), float(value))


def in_words(value: float) -> str:
    """Separated thousands, three digits below a hundred.

    >>> in_words(12345.6), in_words(3.14159), in_words(20.0), in_words(-0.0)
    ('12,346', '3.14', '20', '0')
    """
    return f"{value:z,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def interval(given: Interval, form: str = "") -> Entry:
    """The two ends; sorted by the lower one."""
    if not np.isfinite(given.low):
        return Entry("-")
    low, high = (f"{end:{form}}" if form else in_words(end) for end in (given.low, given.high))
    return Entry(f"[{low}, {high}]", given.low)


def chance(p: float) -> Entry:
    """A p-value."""
    return Entry(f"{p:.4f}" if p >= 0.0001 else "< 0.0001", p)


def tiny(value: Any) -> Entry:
    """A number that should be next to nothing."""
    return Entry("-") if value is None else Entry(f"{value:.1e}", float(value))
