"""From frames to cells: the learners that met one MDP, one kind of losses, one number of episodes.

Inside a cell the worlds, losses and random numbers of one (seed, replicate) are common to all
learners, so that learners are compared replicate by replicate.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from advmdp.errors import InvalidInput
from advmdp.evaluation.rewards import total_reward
from advmdp.reports.results import CELL, FINISHED, REPLICATE, STEPS, TERMS, Results
from advmdp.reports.statistics import (
    Band,
    Floats,
    Interval,
    mean_band,
    mean_interval,
    sign_flip_p_values,
)
from advmdp.reports.units import Units

TOTALS = ("expected", "realised", "best")
"""Totals so far: of the policies played, of the trajectories drawn, of the best fixed policy."""
SCALED = ("regret", *TERMS)
CURVES = (*SCALED, *TOTALS, "epoch", "mean_width")
Replicate = tuple[int, int]
"""Seed and replicate number."""
log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Group:
    """One learner in one cell: its finished runs, sorted by replicate, in the cell's units."""

    learner: str
    runs: pl.DataFrame
    replicates: tuple[Replicate, ...]
    episodes: NDArray[np.int64]
    """The checkpoints that all runs of the group share."""
    n_unshared: int
    """Checkpoints that some of the runs have and others do not: no curve shows them."""
    curves: dict[str, Floats]
    """Replicates x checkpoints; quantities that the learner does not have are left out."""

    @property
    def thinned(self) -> str:
        """A sentence about the checkpoints that no curve shows; empty if there are none."""
        if not self.n_unshared:
            return ""
        shared, others = len(self.episodes), self.n_unshared
        return (
            f"The runs of '{self.learner}' have different checkpoints: its curves show the "
            f"{shared} that all of them share, and not the other {others}."
        )

    @cached_property
    def regret(self) -> Interval:
        """The final regret."""
        return mean_interval(self.runs["regret"].to_numpy())

    @cached_property
    def regret_of(self) -> dict[Replicate, float]:
        """The final regret of each replicate."""
        return dict(zip(self.replicates, self.runs["regret"].to_list(), strict=True))

    def per_episode(self, total: str) -> Interval:
        """One of ``TOTALS`` at the end, over the number of episodes."""
        return mean_interval((self.runs[total] / self.runs["n_episodes"]).to_numpy())

    def band(self, quantity: str) -> Band:
        """The mean curve of a quantity."""
        return mean_band(self.curves[quantity])


@dataclass(frozen=True)
class Comparison:
    """How much more ``other`` regrets than ``better``, replicate by replicate."""

    better: str
    other: str
    difference: Interval
    p_value: float
    adjusted: float
    """The p-value adjusted for all pairs of the cell."""


@dataclass(frozen=True, eq=False)
class Cell:
    """Learners to be compared; ``groups`` are sorted by label."""

    mdp: str
    losses: str
    n_episodes: int
    units: Units
    groups: tuple[Group, ...]
    all_runs: pl.DataFrame
    """Those that are not finished too."""

    @property
    def name(self) -> str:
        """A readable name, unique among the cells of a store."""
        units = f" | {self.units.name}" if self.units.in_rewards else ""
        return f"{self.mdp} | {self.losses} | T = {self.n_episodes:,}{units}"

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """All pairs of learners that share a replicate."""
        ordered = sorted(self.groups, key=lambda group: group.regret.estimate)
        pairs = [
            (first, second, differences)
            for first, second in combinations(ordered, 2)
            if (differences := paired_differences(first, second))
        ]
        if not pairs:
            return ()
        replicates = sorted({replicate for _, _, differences in pairs for replicate in differences})
        table = [[d.get(replicate, 0.0) for _, _, d in pairs] for replicate in replicates]
        p_values, adjusted = sign_flip_p_values(table)
        return tuple(
            Comparison(
                first.learner,
                second.learner,
                mean_interval(list(differences.values())),
                float(p_values[i]),
                float(adjusted[i]),
            )
            for i, (first, second, differences) in enumerate(pairs)
        )


def paired_differences(first: Group, second: Group) -> dict[Replicate, float]:
    """Final regret of ``second`` minus that of ``first`` on the replicates both have."""
    return {
        replicate: second.regret_of[replicate] - regret
        for replicate, regret in first.regret_of.items()
        if replicate in second.regret_of
    }


def cells_of(results: Results) -> list[Cell]:
    """Every cell that has a finished run, sorted by MDP, losses, number of episodes and units."""
    finished = results.finished
    if not len(finished):
        raise InvalidInput(f"runs: none of {len(results.runs)} is finished, nothing to show yet")
    runs = in_units(results.runs, ("regret",)).sort(*CELL, "learner", *REPLICATE)
    names = finished.select("run", *CELL, *STEPS, "learner", *REPLICATE)
    points = (
        in_units(results.curves.join(names, on="run"), SCALED)
        .sort(*CELL, "learner", *REPLICATE, "episodes")
        .partition_by(*CELL, "learner", as_dict=True, maintain_order=True)
    )
    cells = []
    for key, all_runs in runs.partition_by(*CELL, as_dict=True, maintain_order=True).items():
        done = all_runs.filter(pl.col("status") == FINISHED)
        by_learner = done.partition_by("learner", as_dict=True, maintain_order=True)
        groups = tuple(
            _group(str(learner), group, points[(*key, learner)])
            for (learner,), group in by_learner.items()
        )
        if groups:
            mdp, losses, n_episodes, *units = key
            cells.append(Cell(mdp, losses, n_episodes, Units(*units), groups, all_runs))
    return cells


def in_units(frame: pl.DataFrame, scaled: Sequence[str]) -> pl.DataFrame:
    """Totals and regrets in each row's own units.

    ``frame`` has the columns of ``UNITS`` and ``STEPS``, the number of ``episodes`` and the totals
    as losses; ``scaled`` are its columns with differences of losses.
    """
    low, high = pl.col("reward_low"), pl.col("reward_high")
    steps = pl.col("episodes") * pl.col("reward_steps")
    span = (high - low).fill_null(1.0)
    totals = {
        name: pl.when(low.is_null())
        .then(pl.col(f"{name}_loss"))
        .otherwise(total_reward(pl.col(f"{name}_loss"), steps, low, high))
        for name in TOTALS
    }
    return frame.with_columns(*(pl.col(name) * span for name in scaled), **totals)


def _group(learner: str, runs: pl.DataFrame, points: pl.DataFrame) -> Group:
    replicates = tuple(runs.select(*REPLICATE).iter_rows())
    of_runs = [
        part["episodes"].to_numpy() for part in points.partition_by("run", maintain_order=True)
    ]
    shared = reduce(np.intersect1d, of_runs)
    n_unshared = len(reduce(np.union1d, of_runs)) - len(shared)
    if not len(shared):
        raise InvalidInput(
            f"curves: the runs of '{learner}' share no checkpoint, '{runs['run'][0]}' among them"
        )
    kept = points.filter(pl.col("episodes").is_in(shared.tolist()))
    curves = {}
    for name in CURVES:
        column = kept[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
        if np.isfinite(column).all():
            curves[name] = column.reshape(len(runs), len(shared))
    group = Group(learner, runs, replicates, shared, n_unshared, curves)
    if group.thinned:
        log.warning("%s", group.thinned)
    return group


def select_cell(
    cells: Sequence[Cell],
    mdp: str | None = None,
    losses: str | None = None,
    n_episodes: int | None = None,
    units: str | None = None,
) -> Cell:
    """The one cell with these labels; a part of a label will do where no whole one fits."""
    found = [cell for cell in cells if n_episodes in (None, cell.n_episodes)]
    labels: tuple[tuple[str | None, Callable[[Cell], str]], ...] = (
        (mdp, lambda cell: cell.mdp),
        (losses, lambda cell: cell.losses),
        (units, lambda cell: cell.units.name),
    )
    for wanted, label in labels:
        if wanted is not None:
            whole = [cell for cell in found if label(cell) == wanted]
            found = whole or [cell for cell in found if wanted in label(cell)]
    if len(found) == 1:
        return found[0]
    shown = found or cells
    names = "; ".join(cell.name for cell in shown[:6]) + ("; ..." if len(shown) > 6 else "")
    if found:
        raise InvalidInput(
            f"cell: {len(found)} fit, choose by MDP, losses, number of episodes or units: {names}"
        )
    raise InvalidInput(f"cell: none fits, there are: {names}")
