"""Worlds with several start states, and what is played in them."""

from __future__ import annotations

from typing import Any

import numpy as np

import advmdp as am

WORLDS = {
    "dense": am.families.random_mdp((1, 3, 2, 2, 1), n_actions=2, seed=4),
    # not every start state reaches every state
    "sparse": am.families.random_mdp((1, 3, 6, 5, 1), n_actions=2, seed=1, n_successors=2),
    # the same places at every step, counted together
    "pooled": am.time_expand(
        np.random.default_rng(0).dirichlet(np.ones(3), (3, 2)), 4, [0.2, 0.3, 0.5], pooled=True
    ),
}
N_EPISODES = 120


def starts_of(mdp: am.LayeredMDP, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).integers(mdp.layout.layer_sizes[1], size=N_EPISODES)


def changing(mdp: am.LayeredMDP) -> am.losses.LossProcess:
    tables = np.random.default_rng(2).random((N_EPISODES, mdp.layout.n_rows))
    return am.losses.Replayed(list(tables))


def eager(view: am.StartView) -> am.UOBREPS:
    return am.UOBREPS(view.layout, N_EPISODES, log_scale=0.01, eta_scale=4.0)
