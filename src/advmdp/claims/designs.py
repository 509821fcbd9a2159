"""The designs that several claims share: runs over horizons, gaps and replicates.

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

DELTA = 0.01  # of the learners with a guarantee: it then holds with probability 1 - 9 delta = 0.91
LARGEST_GAP, SMALLEST_GAP = 0.5, 4.0  # the latter times T^{-1/2}
SMALL: dict[str, Any] = {"name": "random", "layer_sizes": [1, 3, 3, 1], "n_actions": 2}
Design = NDArray[np.object_]
"""Specs, replicates x horizons (or sizes) x gaps."""


class Gaps(NamedTuple):
    """Coin flips: a better action in every state, and (``place``) a better state in every layer."""

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


class Effort(NamedTuple):
    """How much is played for the claims about rates in T."""

    horizons: tuple[int, ...]
    rival_horizons: tuple[int, ...]
    """Of learners that are only drawn beside UOB-REPS."""
    gaps: Gaps
    n_replicates: int
    n_rivals: int
    """Replicates of those learners."""


DECADES = (10**3, 10**4, 10**5, 10**6, 10**7)
QUICK = Effort(DECADES[:4], DECADES[:4], Gaps(4, 1), n_replicates=4, n_rivals=3)
FULL = Effort(DECADES, DECADES, Gaps(4, 1), n_replicates=8, n_rivals=4)


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
    """A learner with the confidence parameter of the claims."""
    return {"name": name, "delta": DELTA, **parameters}


def grid_of(rows: Sequence[Sequence[Mapping[str, Any]]], n_replicates: int) -> Design:
    """Specs from their parts: rows are horizons or sizes, entries of a row are gaps."""
    design = np.empty((n_replicates, len(rows), len(rows[0])), dtype=object)
    for place in np.ndindex(design.shape):
        replicate, row, column = place
        parts = {"checkpoints": 4, **rows[row][column]}
        design[place] = RunSpec(replicate=replicate, **parts)
    return design


def over_horizons(
    learner: Mapping[str, Any], horizons: Sequence[int], gaps: Gaps, n_replicates: int
) -> Design:
    """One learner on small random MDPs, its parameters set for each horizon."""
    rows = [
        [
            {"learner": learner, "mdp": SMALL, "losses": losses, "n_episodes": n_episodes}
            for losses in gaps.losses(n_episodes)
        ]
        for n_episodes in horizons
    ]
    return grid_of(rows, n_replicates)


def layout_of(mdp: Mapping[str, Any]) -> Layout:
    """The layout of a random MDP."""
    return Layout(tuple(mdp["layer_sizes"]), int(mdp["n_actions"]))


def size_of(spec: RunSpec) -> float:
    """How much there is to compute, roughly: episodes times triples.

    >>> design = over_horizons({"name": "uniform"}, [1000], Gaps(1, 1), 1)
    >>> size_of(design[0, 0, 0])
    30000.0
    """
    known = "layer_sizes" in spec.mdp.parameters
    return float(spec.n_episodes * (layout_of(spec.mdp.parameters).n_entries if known else 1))


def all_specs(*designs: Design) -> list[RunSpec]:
    """Every spec once."""
    return list(dict.fromkeys(spec for design in designs for spec in design.ravel()))


def ids(*designs: Design) -> tuple[str, ...]:
    """The runs of the designs."""
    return tuple(spec.id for spec in all_specs(*designs))


def figures(design: Design, values: Mapping[str, float]) -> Floats:
    """Numbers by run id, in the shape of the design."""
    flat = [values[spec.id] for spec in design.ravel()]
    return np.array(flat, dtype=np.float64).reshape(design.shape)
