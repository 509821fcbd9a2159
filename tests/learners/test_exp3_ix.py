"""EXP3-IX in every state: plain copy, closed form, and the case that shows why it is naive."""

from __future__ import annotations

import numpy as np
import pytest

import advmdp as am
from advmdp.learners.per_state.exp3_ix import Exp3IX
from tests.reference.instances import random_kernel
from tests.reference.plain_hedge import PlainExp3IX, sample_episode
from tests.reference.tables import greatest_difference

SHAPES = [((1, 1), 3), ((1, 3, 1), 2), ((1, 3, 2, 4, 1), 3)]


@pytest.mark.parametrize("gamma_scale", [0.0, 1.0, 20.0])
@pytest.mark.parametrize(("sizes", "n_actions"), SHAPES)
def test_policies_equal_the_plain_copy(
    sizes: tuple[int, ...], n_actions: int, gamma_scale: float
) -> None:
    rng = np.random.default_rng(0)
    kernel = random_kernel(rng, sizes, n_actions)
    fast = Exp3IX(am.Layout(sizes, n_actions), 300, eta_scale=3.0, gamma_scale=gamma_scale)
    plain = PlainExp3IX(sizes, n_actions, fast.eta, fast.gamma)
    for t in range(300):
        losses = [rng.random(layer.shape[:2]) for layer in kernel]
        episode = sample_episode(rng, kernel, plain.policy, losses)
        fast.update(am.Trajectory(episode.states, episode.actions, episode.losses))
        plain.update(episode)
        # A rare action's estimate is large and makes it rarer: rounding errors grow about tenfold
        # in 50 episodes, in the plain copy as much as here (both checked in extended precision).
        assert greatest_difference(fast.policy(), plain.policy) < (1e-12 if t < 150 else 1e-8)
    assert fast.episodes == 300


def test_rates_are_those_of_one_bandit_with_known_horizon() -> None:
    learner = Exp3IX(am.Layout((1, 2, 1), 3), 600, eta_scale=2.0, gamma_scale=5.0)
    theory = np.sqrt(2 * np.log(3) / (3 * 600))
    assert learner.eta == pytest.approx(2 * theory, rel=1e-14)
    assert learner.gamma == pytest.approx(2.5 * theory, rel=1e-14)


def test_one_layer_is_exp3_ix_in_closed_form() -> None:
    rng = np.random.default_rng(3)
    n_actions, n_episodes = 4, 400
    learner = Exp3IX(am.Layout((1, 1), n_actions), n_episodes)
    eta, total = np.sqrt(2 * np.log(n_actions) / (n_episodes * n_actions)), np.zeros(n_actions)
    for _ in range(n_episodes):
        weights = np.exp(-eta * total)
        policy = weights / weights.sum()
        assert np.allclose(learner.policy()[0][0], policy, rtol=1e-11, atol=0)
        action, loss = int(rng.choice(n_actions, p=policy)), float(rng.random())
        total[action] += loss / (policy[action] + eta / 2)
        learner.update(am.Trajectory([0, 0], [action], [loss]))


def test_only_visited_states_learn_and_the_loss_to_go_is_scaled() -> None:
    layout = am.Layout((1, 2, 1), 2)
    learner = Exp3IX(layout, 100)
    learner.update(am.Trajectory([0, 1, 0], [0, 1], [0.5, 1.0]))
    first, second = learner.policy()
    step = learner.eta / (0.5 + learner.gamma)
    assert np.log(first[0, 1] / first[0, 0]) == pytest.approx(step * (0.5 + 1.0) / 2, rel=1e-12)
    assert np.array_equal(second[0], [0.5, 0.5])
    assert np.log(second[1, 0] / second[1, 1]) == pytest.approx(step * 1.0, rel=1e-12)


def test_learning_beats_the_uniform_policy_by_far() -> None:
    mdp = am.families.random_mdp((1, 3, 3, 1), 3, seed=0)
    mean = mdp.layout.pairs(np.random.default_rng(0).random(mdp.layout.n_rows))
    losses, n_episodes = am.losses.Stochastic(mean), 20_000
    learnt = am.play(mdp, losses, Exp3IX(mdp.layout, n_episodes), n_episodes, seed=1)
    uniform = am.play(mdp, losses, am.Uniform(mdp.layout), n_episodes, seed=1)
    assert learnt.compiled
    assert learnt.regret[-1] < 0.25 * uniform.regret[-1]


def test_a_lock_keeps_it_out_for_good() -> None:
    # Why there is no guarantee: the only signal lies behind six right actions in a row, which
    # uniform play finds once in 4^6 episodes.  The learner ends no better than 0.8 of uniform.
    mdp = am.families.combination_lock(length=6, n_actions=4, seed=0)
    losses, n_episodes = am.losses.Stochastic(mdp.natural_loss), 20_000
    naive = am.play(mdp, losses, Exp3IX(mdp.layout, n_episodes), n_episodes, seed=1).regret[-1]
    uniform = am.play(mdp, losses, am.Uniform(mdp.layout), n_episodes, seed=1).regret[-1]
    assert naive > 0.8 * uniform


def test_refusals_name_the_argument() -> None:
    layout = am.Layout((1, 2, 1), 2)
    cases = [
        (lambda: Exp3IX(layout, 0), "n_episodes"),
        (lambda: Exp3IX(layout, 10, eta_scale=0.0), "eta_scale"),
        (lambda: Exp3IX(layout, 10, gamma_scale=-1.0), "gamma_scale"),
    ]
    for call, message in cases:
        with pytest.raises(am.InvalidInput, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)
