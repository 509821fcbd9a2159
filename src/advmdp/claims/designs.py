"""The designs that several claims share: runs over horizons, gaps and replicates.

One fixed gap says nothing about a worst-case rate: against any gap the regret flattens in the end,
and with a gap of T^{-1/2} even a learner that learns nothing has regret of order sqrt(T).  So at
every horizon a whole grid of gaps is played, and the largest regret counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.experiments.spec import RunSpec
from advmdp.layout import Floats, Layout

DELTA = 0.01  # of the learners with a guarantee: it then holds with probability 1 - 9 delta = 0.91
LARGEST_GAP = 0.5
SMALL: dict[str, Any] = {"name": "random", "layer_sizes": [1, 3, 3, 1], "n_actions": 2}
Design = NDArray[np.object_]
"""Specs, replicates x horizons (or sizes) x gaps."""


def gap_grid(n_episodes: int, n_gaps: int) -> list[float]:
    """Gaps from a constant down to T^{-1/2}, evenly spaced in the logarithm.

    >>> gap_grid(10_000, 3)
    [0.5, 0.070711, 0.01]
    """
    return [float(f"{gap:.5g}") for gap in np.geomspace(LARGEST_GAP, n_episodes**-0.5, n_gaps)]


def with_delta(name: str, **parameters: Any) -> dict[str, Any]:
    """A learner with the confidence parameter of the claims."""
    return {"name": name, "delta": DELTA, **parameters}


def over_gaps(
    learner: Mapping[str, Any],
    mdps: Sequence[Mapping[str, Any]],
    horizons: Sequence[int],
    n_gaps: int,
    n_replicates: int,
    losses: Mapping[str, Any],
    checkpoints: int = 4,
) -> Design:
    """Specs of one learner: ``mdps`` and ``horizons`` go together, one of them may be one long."""
    pairs = list(np.broadcast(np.array(mdps, dtype=object), np.array(horizons)))
    specs = [
        [
            [
                RunSpec(
                    learner=learner,  # type: ignore[arg-type]
                    mdp=mdp,  # type: ignore[arg-type]
                    losses={**losses, "gap": gap},  # type: ignore[arg-type]
                    n_episodes=int(n_episodes),
                    replicate=replicate,
                    checkpoints=checkpoints,
                )
                for gap in gap_grid(n_episodes, n_gaps)
            ]
            for mdp, n_episodes in pairs
        ]
        for replicate in range(n_replicates)
    ]
    design = np.empty((n_replicates, len(pairs), n_gaps), dtype=object)
    design[...] = specs
    return design


def layout_of(mdp: Mapping[str, Any]) -> Layout:
    """The layout of a random MDP."""
    return Layout(tuple(mdp["layer_sizes"]), int(mdp["n_actions"]))


def all_specs(*designs: Design) -> list[RunSpec]:
    """Every spec once."""
    return list(dict.fromkeys(spec for design in designs for spec in design.ravel()))


def figures(design: Design, values: Mapping[str, float]) -> Floats:
    """Numbers by run id, in the shape of the design."""
    flat = [values[spec.id] for spec in design.ravel()]
    return np.array(flat, dtype=np.float64).reshape(design.shape)
