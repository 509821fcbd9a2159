"""The measured counterpart of a grid of runs: plain data, which can be stored and judged again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from advmdp.claims.lab import Lab
from advmdp.claims.playing.run_grids import RunGrid, layout_of, specs_of, values_on
from advmdp.layout import Floats, Layout

Key = TypeVar("Key")
Value = TypeVar("Value")


class RegretGrid(NamedTuple):
    """The final regret of every run of a grid, and what the runs were."""

    regret: list[list[list[float]]]
    """Replicates x points x gaps."""
    horizons: list[int]
    """Episodes, for each point."""
    mdps: list[dict[str, Any]]
    """Parameters of the MDP, for each point."""
    losses: list[list[str]]
    """Labels of the losses, points x gaps."""
    runs: list[str]
    """Ids of the runs."""

    @property
    def values(self) -> Floats:
        """The regrets as an array."""
        return np.array(self.regret, dtype=np.float64)

    @property
    def n_replicates(self) -> int:
        """The number of replicates of each run."""
        return len(self.regret)

    @property
    def n_gaps(self) -> int:
        """The number of losses at each point."""
        return len(self.losses[0])

    @property
    def layouts(self) -> list[Layout]:
        """The layout at each point, where the MDPs are random ones."""
        return [layout_of(mdp) for mdp in self.mdps]


def measured_on(grid: RunGrid, regret: Mapping[str, float]) -> RegretGrid:
    """The final regrets, given by run id, in the shape of the grid."""
    points = grid[0, :, 0]
    return RegretGrid(
        regret=values_on(grid, regret).tolist(),
        horizons=[spec.n_episodes for spec in points],
        mdps=[dict(spec.mdp.parameters) for spec in points],
        losses=[[spec.losses.label for spec in row] for row in grid[0]],
        runs=[spec.id for spec in grid.ravel()],
    )


def play_grids(lab: Lab, grids: Mapping[Key, RunGrid]) -> dict[Key, RegretGrid]:
    """Play the runs that the store lacks, and read the final regret of all."""
    runs = lab.runs(specs_of(*grids.values()))
    regret = dict(zip(runs["run"], runs["regret"], strict=True))
    return {key: measured_on(grid, regret) for key, grid in grids.items()}


def by_pair(values: Mapping[tuple[str, str], Value]) -> dict[str, dict[str, Value]]:
    """Values by the first part of their key, then by the second, as JSON can hold them.

    >>> by_pair({("a", "x"): 1, ("a", "y"): 2, ("b", "x"): 3})
    {'a': {'x': 1, 'y': 2}, 'b': {'x': 3}}
    """
    nested: dict[str, dict[str, Value]] = {}
    for (first, second), value in values.items():
        nested.setdefault(first, {})[second] = value
    return nested


def run_ids(grids: Iterable[RegretGrid]) -> tuple[str, ...]:
    """The ids of the runs of several grids, each once."""
    return tuple(dict.fromkeys(run for grid in grids for run in grid.runs))
