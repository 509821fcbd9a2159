"""Rewards and losses are two names of one run: episode by episode, and in every total."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import advmdp as am
from tests.reference.brute_force import best_deterministic_loss

bounds = st.floats(-1e6, 1e6)


@given(bounds, bounds, st.lists(st.floats(0.0, 1.0), min_size=1, max_size=5))
def test_there_and_back(one: float, other: float, shares: list[float]) -> None:
    low, high = sorted((one, other))
    assume(high - low > 1e-6)
    rewards = am.Rewards(low, high)
    given = np.clip(low + np.array(shares) * (high - low), low, high)
    losses = rewards.to_losses(given)
    assert ((losses >= 0.0) & (losses <= 1.0)).all()
    scale = max(abs(low), abs(high))
    assert np.allclose(rewards.to_rewards(losses), given, rtol=0, atol=1e-13 * scale)
    total = rewards.total(losses.sum(), len(given))
    assert math.isclose(total, given.sum(), rel_tol=0, abs_tol=1e-12 * scale)
    assert rewards.to_losses(high) == 0.0
    assert rewards.to_losses(low) == 1.0


def test_a_run_in_rewards_is_what_was_earned() -> None:
    """An independent account in reward units: every episode's table, trajectory and policy."""
    mdp = am.families.random_mdp((1, 3, 2, 1), n_actions=2, seed=5)
    rewards, n_episodes = am.Rewards(-3.0, 5.0), 40
    drawn = np.random.default_rng(1).uniform(-3.0, 5.0, (n_episodes, mdp.layout.n_rows))
    earned: list[float] = []

    class Watching(am.Uniform):
        def update(self, trajectory: am.Trajectory) -> None:
            table = mdp.layout.pairs(drawn[len(earned)])
            path = zip(trajectory.states, trajectory.actions, strict=False)
            earned.append(sum(float(table[k][x, a]) for k, (x, a) in enumerate(path)))
            super().update(trajectory)

    process = am.losses.Replayed([rewards.to_losses(table) for table in drawn])
    run = am.play(mdp, process, Watching(mdp.layout), n_episodes, seed=2, compiled=False)
    curves = rewards.report(run)
    assert curves.realised_reward[-1] == pytest.approx(sum(earned))
    total = mdp.layout.pairs(drawn.sum(axis=0))
    value = np.zeros(1)
    for step, layer in zip(mdp.transitions[::-1], total[::-1], strict=True):
        value = (layer + step @ value).mean(axis=1)  # the uniform policy
    assert curves.expected_reward[-1] == pytest.approx(value[0])
    # the least loss of minus the rewards, by enumeration, is the largest reward
    best = -best_deterministic_loss(mdp.transitions, [-layer for layer in total])
    assert curves.best_reward[-1] == pytest.approx(best)
    assert curves.regret[-1] == pytest.approx(best - value[0])
    assert np.array_equal(curves.episodes, run.episodes)


def test_an_opening_layer_earns_nothing() -> None:
    mdp = am.families.random_mdp((1, 2, 1), n_actions=2, seed=0)
    rewards = am.Rewards(1.0, 3.0)
    losses = [np.zeros((1, 2)), rewards.to_losses(np.full((2, 2), 2.5))]
    run = am.play(mdp, am.losses.Switching([losses], 1), am.Uniform(mdp.layout), 10)
    assert rewards.report(run, steps=1).expected_reward[-1] == pytest.approx(25.0)


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        (1.0, 1.0, "1.0 is not below 1.0"),
        (2.0, 1.0, "2.0 is not below 1.0"),
        (0.0, math.inf, "high: inf is not a finite number"),
        ("a", 1.0, "low: 'a' is not a number"),
        (-1.7e308, 1.7e308, "too wide"),
    ],
)
def test_a_range_is_checked(low: float, high: float, message: str) -> None:
    with pytest.raises(am.InvalidInput, match=message):
        am.Rewards(low, high)


def test_a_reward_outside_the_range_is_refused() -> None:
    with pytest.raises(am.InvalidInput, match=r"rewards: 1.5 is outside \[0.0, 1.0\]; widen"):
        am.Rewards(0.0, 1.0).to_losses([0.5, 1.5])
    with pytest.raises(am.InvalidInput, match="nan is not finite; find out"):
        am.Rewards(0.0, 1.0).to_losses(math.nan)


def test_steps_are_checked() -> None:
    mdp = am.families.random_mdp((1, 2, 1), n_actions=2, seed=0)
    run = am.play(mdp, am.losses.Stochastic(np.zeros(6)), am.Uniform(mdp.layout), 3)
    with pytest.raises(am.InvalidInput, match="steps: 3 in an episode of 2"):
        am.Rewards(0.0, 1.0).report(run, steps=3)
