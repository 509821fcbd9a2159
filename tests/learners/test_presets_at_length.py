"""Presets play ten thousand episodes, with losses that turn: no step is refused."""

from __future__ import annotations

import numpy as np
import pytest

import advmdp as am

N_EPISODES = 10_000
MDP = am.families.random_mdp((1, 5, 5, 5, 5, 1), 3, seed=1)
TABLES = np.random.default_rng(1).random((10, MDP.layout.n_rows))
LOSSES = am.losses.Switching(list(TABLES), 100, noisy=True)


@pytest.mark.parametrize("name", am.PRACTICAL)
def test_no_step_is_refused(name: str) -> None:
    entry = am.LEARNERS[name]
    given = {"n_episodes": N_EPISODES} if entry.has_horizon else {}
    if entry.knows_transition:
        given["transitions"] = MDP.transitions
    learner = entry.make(MDP.layout, **given, **am.PRACTICAL[name])
    run = am.play(MDP, LOSSES, learner, N_EPISODES, seed=1, checkpoints=[N_EPISODES])
    assert np.isfinite(run.regret).all()
    if run.solver is not None:
        assert run.solver.worst_gap <= 1e-9
    for table in learner.policy():
        assert table.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
