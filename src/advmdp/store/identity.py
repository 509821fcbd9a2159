"""What a store keeps of a spec: its name, its hash, and what tells runs apart."""

from __future__ import annotations

from typing import Any, NamedTuple


class Identity(NamedTuple):
    """Which run: made by ``RunSpec.identity()``."""

    run: str
    """The readable id, which is also the name of the run's folder."""
    hash: str
    learner: str
    """The learner with its parameters in a line; so are ``mdp`` and ``losses``."""
    mdp: str
    losses: str
    n_episodes: int
    seed: int
    replicate: int
    spec: dict[str, Any]
    """The whole spec."""
