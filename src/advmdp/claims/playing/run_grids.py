"""Grids of stored runs: replicates x points (horizons or sizes) x gaps, shared by several claims.

One fixed gap says nothing about a worst-case rate: against any gap the regret flattens in the end,
and with a gap of T^{-1/2} even a learner that learns nothing has regret of order sqrt(T).  So at
every horizon a whole grid of gaps is played, and the largest regret counts.  The grid ends at
4 T^{-1/2}: smaller gaps can hardly be told from none in T flips, and the regret falls with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from advmdp.experiments.spec import RunSpec
from advmdp.layout import Floats, Layout

UOB_REPS = "uob-reps"
DELTA = 0.01  # of the learners with a guarantee: it then holds with probability 1 - 9 delta = 0.91
LARGEST_GAP, SMALLEST_GAP = 0.5, 4.0  # the latter times T^{-1/2}
SMALL_MDP: dict[str, Any] = {"name": "random", "layer_sizes": [1, 3, 3, 1], "n_actions": 2}
RunGrid = NDArray[np.object_]
"""Run specs, replicates x points x gaps."""


class Gaps(NamedTuple):
    """Numbers of coin-flip losses: with a better action in each state, or place in each layer."""

    actions: int
    places: int

    def losses(self, n_episodes: int) -> list[dict[str, Any]]:
        """The loss part of the specs, one for each gap."""
        grids = {
            "gap": gap_grid(n_episodes, self.actions),
            "place": gap_grid(n_episodes, self.places, 1.0, -0.25),  # harmless when smaller still
        }
        return [
            {"name": "stochastic", "means": means, "gap": gap}
            for means, grid in grids.items()
            for gap in grid
        ]


class HorizonEffort(NamedTuple):
    """How much to play for the claims about rates in T."""

    horizons: tuple[int, ...]
    rival_horizons: tuple[int, ...]
    """Of the learners that are only drawn beside UOB-REPS."""
    gaps: Gaps
    n_replicates: int
    n_rivals: int
    """Replicates of those learners."""


DECADES = (10**3, 10**4, 10**5, 10**6, 10**7)
QUICK_HORIZONS = HorizonEffort(DECADES[:4], DECADES[:4], Gaps(4, 1), n_replicates=4, n_rivals=3)
FULL_HORIZONS = HorizonEffort(DECADES, DECADES, Gaps(4, 1), n_replicates=8, n_rivals=4)


def gap_grid(
    n_episodes: int, n_gaps: int, factor: float = SMALLEST_GAP, power: float = -0.5
) -> list[float]:
    """Gaps from a constant down to factor T^power, evenly spaced in the logarithm.

    >>> gap_grid(10_000, 3)
    [0.5, 0.14142, 0.04]
    """
    least = min(LARGEST_GAP, factor * n_episodes**power)
    grid = np.geomspace(LARGEST_GAP, least, n_gaps)
    return [float(f"{gap:.5g}") for gap in grid]


def with_delta(name: str, **parameters: Any) -> dict[str, Any]:
    """The learner part of a spec, with the confidence parameter of the claims."""
    return {"name": name, "delta": DELTA, **parameters}


def run_grid(points: Sequence[Sequence[Mapping[str, Any]]], n_replicates: int) -> RunGrid:
    """A grid from the parts of its specs: one row for each point, one entry of it for each gap."""
    grid = np.empty((n_replicates, len(points), len(points[0])), dtype=object)
    for place in np.ndindex(grid.shape):
        replicate, point, gap = place
        grid[place] = RunSpec(replicate=replicate, **{"checkpoints": 4, **points[point][gap]})
    return grid


def horizon_grid(
    learner: Mapping[str, Any], horizons: Sequence[int], gaps: Gaps, n_replicates: int
) -> RunGrid:
    """One learner on small random MDPs, its parameters set for each horizon."""
    points = [
        [
            {"learner": learner, "mdp": SMALL_MDP, "losses": losses, "n_episodes": n_episodes}
            for losses in gaps.losses(n_episodes)
        ]
        for n_episodes in horizons
    ]
    return run_grid(points, n_replicates)


def layout_of(mdp: Mapping[str, Any]) -> Layout:
    """The layout of a random MDP, from the parameters of its spec."""
    return Layout(tuple(mdp["layer_sizes"]), int(mdp["n_actions"]))


def workload(spec: RunSpec) -> float:
    """Rough cost of a run: episodes times triples.

    >>> grid = horizon_grid({"name": "uniform"}, [1000], Gaps(1, 1), 1)
    >>> workload(grid[0, 0, 0])
    30000.0
    """
    known = "layer_sizes" in spec.mdp.parameters
    return float(spec.n_episodes * (layout_of(spec.mdp.parameters).n_entries if known else 1))


def specs_of(*grids: RunGrid) -> list[RunSpec]:
    """The specs of the grids, each once."""
    return list(dict.fromkeys(spec for grid in grids for spec in grid.ravel()))


def values_on(grid: RunGrid, values: Mapping[str, float]) -> Floats:
    """Numbers by run id, in the shape of the grid."""
    flat = [values[spec.id] for spec in grid.ravel()]
    return np.array(flat, dtype=np.float64).reshape(grid.shape)
