"""Cells: the learners that met one MDP, one loss process and one number of episodes.

Within a cell the worlds, losses and random numbers of one (seed, replicate) are common to all
learners, so learners are compared replicate by replicate.  All values are in the units of the cell:
losses, or the rewards that they stand for.
"""

from __future__ import annotations

import logging
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
import polars as pl
from numpy.typing import NDArray

from advmdp.errors import InvalidInput
from advmdp.evaluation.schema import CELL, FINISHED, KEYS, REPLICATE, STEPS, Level, loss_columns
from advmdp.reports.comparisons import AgainstBaseline, Comparison, compare, compare_with
from advmdp.reports.results import Results, curve_columns
from advmdp.reports.statistics import Band, Floats, Interval, mean_band, mean_interval
from advmdp.reports.units import Units
from advmdp.store.frames import reward_values

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
    """The evaluation points that all runs of the group share."""
    n_unshared: int
    """The number of evaluation points that only some of the runs have; no curve shows them."""
    curves: dict[str, Floats]
    """Replicates x evaluation points, by quantity; without those that the learner does not have."""

    @property
    def thinned(self) -> str:
        """A sentence about the evaluation points that no curve shows; empty if there are none."""
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
        """A final total (expected, realised or best) divided by the number of episodes."""
        return mean_interval((self.runs[total] / self.runs["n_episodes"]).to_numpy())

    def band(self, quantity: str) -> Band:
        """The mean curve of a quantity."""
        return mean_band(self.curves[quantity])


@dataclass(frozen=True, eq=False)
class Cell:
    """Learners that can be compared; ``groups`` are sorted by label."""

    mdp: str
    losses: str
    n_episodes: int
    units: Units
    groups: tuple[Group, ...]
    all_runs: pl.DataFrame
    """All runs, including unfinished ones."""

    @property
    def name(self) -> str:
        """A readable name, unique among the cells of a store."""
        units = f" | {self.units.name}" if self.units.in_rewards else ""
        return f"{self.mdp} | {self.losses} | T = {self.n_episodes:,}{units}"

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """All pairs of learners that share a replicate."""
        return compare(self.groups)

    def against(self, baseline: str) -> tuple[AgainstBaseline, ...]:
        """All other learners that share a replicate with the baseline."""
        return compare_with(baseline, self.groups)


def cells_of(results: Results) -> list[Cell]:
    """Every cell that has a finished run, sorted by MDP, losses, number of episodes and units."""
    finished = results.finished
    if not len(finished):
        raise InvalidInput(f"runs: none of {len(results.runs)} is finished, nothing to show yet")
    runs = in_units(results.runs, Level.RUN).sort(*CELL, "learner", *REPLICATE, "run")
    keys = finished.select("run", *CELL, STEPS, "learner", *REPLICATE)
    points = (
        in_units(results.curves.join(keys, on="run"), Level.POINT)
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


def in_units(frame: pl.DataFrame, level: Level) -> pl.DataFrame:
    """Add every loss of a level in the units of its row, under the name of its quantity.

    ``frame`` has the columns of ``UNITS``, ``STEPS`` and the number of ``episodes``.
    """
    in_losses = pl.col("reward_low").is_null()
    return frame.with_columns(
        pl.when(in_losses)
        .then(pl.col(loss.name))
        .otherwise(reward_values(loss))
        .alias(loss.quantity)
        for loss in loss_columns(level)
    )


def _group(learner: str, runs: pl.DataFrame, points: pl.DataFrame) -> Group:
    replicates = tuple(runs.select(*REPLICATE).iter_rows())
    of_runs = [
        part["episodes"].to_numpy() for part in points.partition_by("run", maintain_order=True)
    ]
    shared = reduce(np.intersect1d, of_runs)
    n_unshared = len(reduce(np.union1d, of_runs)) - len(shared)
    if not len(shared):
        raise InvalidInput(
            f"curves: the runs of '{learner}' share no evaluation point, "
            f"'{runs['run'][0]}' among them; give them the same checkpoints"
        )
    kept = points.filter(pl.col("episodes").is_in(shared.tolist()))
    curves = {}
    for quantity in (column.quantity for column in curve_columns() if column.name not in KEYS):
        values = kept[quantity].cast(pl.Float64).fill_null(np.nan).to_numpy()
        if np.isfinite(values).all():
            curves[quantity] = values.reshape(len(runs), len(shared))
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
    """The cell with these labels; parts of labels are accepted where no label matches exactly."""
    found = [cell for cell in cells if n_episodes in (None, cell.n_episodes)]
    labels: tuple[tuple[str | None, Callable[[Cell], str]], ...] = (
        (mdp, lambda cell: cell.mdp),
        (losses, lambda cell: cell.losses),
        (units, lambda cell: cell.units.name),
    )
    for wanted, label in labels:
        if wanted is not None:
            exact = [cell for cell in found if label(cell) == wanted]
            found = exact or [cell for cell in found if wanted in label(cell)]
    if len(found) == 1:
        return found[0]
    shown = found or cells
    names = "; ".join(cell.name for cell in shown[:6]) + ("; ..." if len(shown) > 6 else "")
    if found:
        raise InvalidInput(
            f"cell: {len(found)} fit, choose by MDP, losses, number of episodes or units: {names}; "
            f"for the first, {_flags_for(found[0], found)}"
        )
    raise InvalidInput(f"cell: none fits, there are: {names}")


def _flags_for(cell: Cell, cells: Sequence[Cell]) -> str:
    """The options that choose a cell among others, as the command line takes them."""
    chosen, others = _options_of(cell), [_options_of(one) for one in cells]
    differing = [
        f"{flag} {shlex.quote(label)}"
        for flag, label in chosen.items()
        if any(one[flag] != label for one in others)
    ]
    return " ".join(differing)


def _options_of(cell: Cell) -> dict[str, str]:
    return {
        "--mdp": cell.mdp,
        "--losses": cell.losses,
        "--episodes": str(cell.n_episodes),
        "--units": cell.units.name,
    }
