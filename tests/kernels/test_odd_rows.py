"""Rows of a pack that are solved by themselves, since an entry is held as a logarithm."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import advmdp as am
from advmdp.steps import workspace

EAGER = {"eta_scale": 22.4, "log_scale": 0.01}  # weights of e^-2000 within some thousand episodes


def played(seed: int, n_episodes: int) -> am.UCOREPSBox:
    """All losses are seen: after a while most rows of most states are never taken."""
    mdp = am.families.random_mdp((1, 5, 5, 5, 5, 1), 3, seed=seed)
    mean = np.random.default_rng(seed).random(mdp.layout.n_rows)
    learner = am.UCOREPSBox(mdp.layout, n_episodes=10_000, **EAGER)
    am.play(mdp, am.losses.Stochastic(mean), learner, n_episodes, seed, checkpoints=[1])
    return learner


def logarithms(stored: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of probabilities in log storage."""
    return np.where(stored > 0.0, np.log(np.maximum(stored, 1e-300)), stored)


@pytest.mark.parametrize("seed", [0, 3])
def test_weights_of_actions_hardly_ever_taken_are_kept(seed: int) -> None:
    learner = played(seed, 10_000)
    for stored in learner.kernel_state.step.measure:
        assert np.isfinite(stored).all()
    for part in learner.occupancy():
        assert part.sum() == pytest.approx(1.0, abs=1e-12)


def test_they_are_what_they_are_without_packs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not so transitions of such rows: where one entry has all, the scale of others is rounding."""
    packed = played(1, 4_000)
    assert packed.kernel_state.step.solver.dual.packed.odd.max() > 0.0
    monkeypatch.setattr(workspace, "LEAST_PACKED", 100)
    alone = played(1, 4_000)
    assert alone.kernel_state.step.solver.dual.packed.slot.size == 0
    ours, theirs = packed.kernel_state.step.measure, alone.kernel_state.step.measure
    assert ours.policy.min() < -500.0
    assert logarithms(ours.policy) == pytest.approx(logarithms(theirs.policy), rel=1e-9, abs=1e-9)
    assert ours.mass == pytest.approx(theirs.mass, abs=1e-12)
