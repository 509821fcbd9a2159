"""Corral: the step of its weights, unbiased feeding, what it follows, save and resume."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import advmdp as am
from advmdp.learners.mixtures.corral import log_barrier_step
from tests.reference.contract import DENSE, flat, losses_of
from tests.reference.plain_hedge import sample_path

N_EPISODES = 400


def corral(seed: int = 0, n_episodes: int = N_EPISODES) -> am.Corral:
    learners = [am.UOBREPS(DENSE.layout, n_episodes, eta_scale=s) for s in (1.0, 8.0)]
    return am.Corral(DENSE.layout, learners, n_episodes, seed=seed)


def follow(learner: Any, begin: int, end: int) -> None:
    for t in range(begin, end):
        states, actions = sample_path(np.random.default_rng(t), DENSE.transitions, learner.policy())
        losses = [losses_of(DENSE, t)[k][states[k], a] for k, a in enumerate(actions)]
        learner.update(am.Trajectory(states, actions, losses))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.integers(1, 6), scale=st.floats(0.0, 6.0))
def test_the_step_solves_its_problem(seed: int, size: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    before, costs = rng.dirichlet(np.full(size, 0.3)) + 1e-9, rng.random(size) * 10**scale
    before, rates = before / before.sum(), rng.random(size) + 1e-3
    after = log_barrier_step(before, costs, rates)
    assert after.sum() == pytest.approx(1.0)
    assert (after > 0.0).all()
    # stationary: the gradient of the objective is the same in every coordinate
    gradient = costs + (1.0 / before - 1.0 / after) / rates
    np.testing.assert_allclose(gradient, gradient[0], rtol=1e-6, atol=1e-6 * (1.0 + costs.max()))


def test_only_the_learner_that_plays_learns_and_from_weighted_losses() -> None:
    learner = corral(seed=3)
    first, second = learner._learners.values()
    for t in range(60):
        acting, chance = learner.acting, learner.chances[learner.acting]
        seen = [flat(each.policy()) for each in (first, second)]
        states, actions = sample_path(np.random.default_rng(t), DENSE.transitions, learner.policy())
        losses = np.array([losses_of(DENSE, t)[k][states[k], a] for k, a in enumerate(actions)])
        learner.update(am.Trajectory(states, actions, losses))
        chosen = first if acting == "learner 0" else second
        bound = chosen.upper_occupancy_of_last + chosen.gamma
        np.testing.assert_allclose(chosen.estimate_of_last, losses / bound / chance)
        idle, before = (second, seen[1]) if chosen is first else (first, seen[0])
        assert np.array_equal(flat(idle.policy()), before)
    assert first.episodes + second.episodes == 60
    assert min(first.episodes, second.episodes) > 5


def test_it_follows_the_learner_that_is_better() -> None:
    bandit = am.families.random_mdp((1, 1), 2, seed=0)
    n_episodes = 4000
    learners = {
        "stuck": am.UOBREPS(bandit.layout, n_episodes, eta=1e-9),
        "learns": am.UOBREPS(bandit.layout, n_episodes, eta_scale=2.0),
    }
    learner = am.Corral(bandit.layout, learners, n_episodes, eta_scale=4.0)
    losses = am.losses.Stochastic([np.array([[0.1, 0.9]])])
    run = am.play(bandit, losses, learner, n_episodes, seed=1)
    assert learner.chances["learns"] > 0.9
    assert run.regret[-1] < 0.5 * 0.4 * n_episodes  # what the one that is stuck would have


def test_a_saved_corral_continues_as_if_nothing_had_happened() -> None:
    whole, part = corral(), corral()
    follow(whole, 0, 80)
    follow(part, 0, 30)
    again = corral()
    again.restore(part.state())
    follow(again, 30, 80)
    for name, array in whole.state().items():
        np.testing.assert_array_equal(array, again.state()[name], err_msg=name)
    damaged = part.state() | {"chances": np.array([0.5, 0.6])}
    with pytest.raises(am.InvalidInput, match="restore: "):
        again.restore(damaged)


@pytest.mark.parametrize(
    ("learners", "message"),
    [
        ([], "none; give at least one"),
        ([am.Uniform(DENSE.layout)], r"learner 0 \(Uniform\) is not of the mirror-descent"),
        ([am.UOBREPSBaseline(DENSE.layout, N_EPISODES)], "has a baseline"),
        ([am.UOBREPS(DENSE.layout, 10)], "made for n_episodes=10"),
        ([am.UOBREPS(am.Layout((1, 1), 2), N_EPISODES)], "another layout"),
    ],
)
def test_learners_that_cannot_be_corralled_are_named(learners: list[Any], message: str) -> None:
    with pytest.raises(am.InvalidInput, match=message):
        am.Corral(DENSE.layout, learners, N_EPISODES)
