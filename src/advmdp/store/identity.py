"""What a store records of a spec: its id, its hash, and the labels of its parts."""

from __future__ import annotations

from typing import Any, NamedTuple


class Identity(NamedTuple):
    """Identifies a run; made by ``RunSpec.identity()``."""

    run: str
    """The readable id, which is also the name of the run's folder."""
    hash: str
    learner: str
    """The learner with its parameters in one line; ``mdp`` and ``losses`` likewise."""
    mdp: str
    losses: str
    n_episodes: int
    seed: int
    replicate: int
    spec: dict[str, Any]
    """The complete spec."""
