"""The worlds and learners of the contract, from nothing but the package itself.

``tests.warm_up`` compiles for these while the packages of the tests are still being installed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import advmdp as am
from advmdp.learners.catalogue import LEARNERS

N_EPISODES = 40
WORLDS: dict[str, am.LayeredMDP] = {
    "dense": am.families.random_mdp((1, 3, 2, 3, 1), 2, seed=0),
    "declared support": am.families.grid(2, 2, horizon=3),
    "scattered support": am.families.random_mdp((1, 5, 5, 1), 2, seed=1, n_successors=2),
    "one layer": am.families.random_mdp((1, 1), 3, seed=2),
    "one action": am.families.random_mdp((1, 2, 1), 1, seed=3),
}
DENSE, GRID = WORLDS["dense"], WORLDS["declared support"]


def knowing(mdp: am.LayeredMDP, share: float, seed: int = 0) -> am.LayeredMDP:
    """The same MDP with about this share of the rows known; with more than 1, all of them."""
    return mdp.with_known_rows(np.random.default_rng(seed).random(mdp.layout.n_rows) < share)


def made(name: str, mdp: am.LayeredMDP, n_episodes: int = N_EPISODES, **given: Any) -> Any:
    """A learner as the catalogue makes it."""
    entry = LEARNERS[name]
    arguments: dict[str, Any] = dict(given)
    if entry.knows_transition:
        arguments["transitions"] = mdp.transitions
    if entry.has_horizon:
        arguments["n_episodes"] = n_episodes
    return entry.make(mdp.layout, **arguments)
