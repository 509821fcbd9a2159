"""Levels of robustness: the slow copy, draws, bounds that hold, corrupted episodes."""

from __future__ import annotations

import numpy as np
import pytest

import advmdp as am
from tests.reference.plain_lykouris import PlainLykouris
from tests.reference.shadow import (
    assert_resumes,
    assert_same_both_ways,
    optimal_values,
    random_mean,
)
from tests.reference.tables import greatest_difference

MDP = am.families.random_mdp((1, 3, 2, 1), 2, seed=0)


@pytest.mark.parametrize("scale", [0.02, 1.0])
def test_two_hundred_episodes_against_the_slow_copy(scale: float) -> None:
    n, rng = 200, np.random.default_rng(1)
    learner = am.Lykouris(MDP.layout, n, width_scale=scale, seed=3)
    plain = PlainLykouris((1, 3, 2, 1), 2, n, delta=0.1, scale=scale)
    mean = random_mean(MDP)
    levels, excluded = set(), 0
    for _ in range(n):
        level = learner.level
        levels.add(level)
        policy = plain.plan(level)
        for ours, theirs in zip(learner.bounds(level), plain.bounds[level], strict=True):
            assert greatest_difference(ours, theirs) <= 1e-11
        assert greatest_difference(learner.policy(), policy) == 0.0
        excluded += sum(len(plain.active(level, 1, x)) < 2 for x in range(3))
        states, actions, losses = [0], [], []
        for k, table in enumerate(MDP.transitions):
            actions.append(int(policy[k][states[-1]].argmax()))
            losses.append(float(rng.random() < mean[k][states[-1], actions[-1]]))
            states.append(int(rng.choice(len(table[0, 0]), p=table[states[-1], actions[-1]])))
        learner.update(am.Trajectory(states, actions, losses))
        plain.update(level, states, actions, np.array(losses))
    assert learner.episodes == n
    assert levels >= {1, 2, 3, 4}
    assert (excluded > 20) == (scale < 1.0)


def test_levels_are_drawn_at_their_rates() -> None:
    """2^-l, and level 1 what is left over."""
    n = 4000
    learner = am.Lykouris(am.Layout((1, 1), 2), n)
    drawn = np.zeros(learner.n_levels)
    for _ in range(n):
        drawn[learner.level - 1] += 1
        learner.update(am.Trajectory([0, 0], [0], [0.5]))
    rates = 0.5 ** np.arange(1, learner.n_levels + 1)
    rates[0] += 0.5**learner.n_levels
    assert rates.sum() == pytest.approx(1.0)
    assert (np.abs(drawn - n * rates) <= 4.5 * np.sqrt(n * rates * (1 - rates)) + 1).all()


def test_the_bounds_hold_on_an_uncorrupted_world() -> None:
    mean = random_mean(MDP)
    best = optimal_values(MDP, mean)
    learner = am.Lykouris(MDP.layout, 3000, width_scale=0.5)
    am.play(MDP, am.losses.Stochastic(mean), learner, 3000, seed=2)
    for level in range(1, learner.n_levels + 1):
        lower, upper = learner.bounds(level)
        for low, value, high in zip(lower, best, upper, strict=True):
            assert (low <= value + 1e-9).all()
            # an action that a more robust level excludes is bounded only from below
            assert (value.min(axis=1) <= high.min(axis=1) + 1e-9).all()
    assert max(table.max() for table in learner.bounds(1)[0]) > 0.1


def test_compiled_protocol_and_resumed_runs_are_the_same() -> None:
    losses = am.losses.Stochastic(random_mean(MDP))
    assert_same_both_ways(MDP, losses, lambda: am.Lykouris(MDP.layout, 500, width_scale=0.02), 500)
    assert_resumes(MDP, losses, lambda: am.Lykouris(MDP.layout, 500, width_scale=0.02), 500)


def test_the_first_episodes_are_lies() -> None:
    """The worse action looks better for the first 100 episodes: greedy play on all the data, which
    has been told so, comes back later than elimination does on levels that saw little of it."""
    layout, n = am.Layout((1, 1), 2), 20_000
    mdp = am.LayeredMDP(layout, [np.ones((1, 2, 1))])
    losses = am.losses.Corrupted(np.array([0.7, 0.3]), np.array([0.0, 1.0]), 100, n)
    learner = am.Lykouris(layout, n, width_scale=0.1)
    run = am.play(mdp, losses, learner, n, seed=0)
    late = run.regret[-1] - run.regret[len(run.regret) // 2]
    assert run.regret[-1] <= 0.1 * 0.4 * n
    assert late <= 0.02 * 0.4 * n
    assert learner.policy()[0].tolist() == [[0.0, 1.0]]
