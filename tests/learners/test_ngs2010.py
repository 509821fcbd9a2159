"""The bandit algorithm of Neu, György and Szepesvári: plain copy, unbiasedness, closed form."""

from __future__ import annotations

import numpy as np
import pytest

import advmdp as am
from advmdp.learners.per_state.ngs2010 import NGS2010
from tests.reference.brute_force import all_trajectories, deterministic_policies
from tests.reference.instances import random_kernel
from tests.reference.plain_hedge import PlainNGS, masses, q_values, sample_episode
from tests.reference.plain_uob_reps import Episode
from tests.reference.tables import Table, greatest_difference

SHAPES = [((1, 1), 3), ((1, 3, 1), 2), ((1, 3, 2, 4, 1), 3)]


def teach(learner: NGS2010, episode: Episode) -> None:
    learner.update(am.Trajectory(episode.states, episode.actions, episode.losses))


def log_ratios(policy: Table) -> list[np.ndarray]:
    """ln pi(a | x) - ln pi(0 | x)."""
    return [np.log(layer) - np.log(layer[:, :1]) for layer in policy]


@pytest.mark.parametrize("gamma", [0.0, 0.2])
@pytest.mark.parametrize(("sizes", "n_actions"), SHAPES)
def test_policies_equal_the_plain_copy(
    sizes: tuple[int, ...], n_actions: int, gamma: float
) -> None:
    rng = np.random.default_rng(0)
    kernel = random_kernel(rng, sizes, n_actions)
    layout = am.Layout(sizes, n_actions)
    fast = NGS2010(layout, kernel, 300, alpha=0.1, gamma=gamma, eta_scale=5.0)
    plain = PlainNGS(kernel, 300, alpha=0.1, gamma=gamma, eta_scale=5.0)
    for _ in range(300):
        losses = [rng.random(layer.shape[:2]) for layer in kernel]
        episode = sample_episode(rng, kernel, plain.policy, losses)
        teach(fast, episode)
        plain.update(episode)
        assert greatest_difference(fast.policy(), plain.policy) < 1e-11
    assert fast.episodes == 300
    assert min(layer.min() for layer in fast.policy()) >= gamma / n_actions


def test_the_same_on_a_declared_support() -> None:
    mdp = am.families.grid(2, 2, horizon=4)
    rng = np.random.default_rng(1)
    fast = NGS2010(mdp.layout, mdp.transitions, 200, eta_scale=3.0)
    plain = PlainNGS(mdp.transitions, 200, fast.alpha, 0.0, 3.0)
    losses = [rng.random(layer.shape[:2]) for layer in mdp.transitions]
    for _ in range(200):
        episode = sample_episode(rng, mdp.transitions, plain.policy, losses)
        teach(fast, episode)
        plain.update(episode)
    assert greatest_difference(fast.policy(), plain.policy) < 1e-11


def learner_after(n_episodes: int, mdp: am.LayeredMDP) -> NGS2010:
    """Some way into a run; the same every time."""
    learner = NGS2010(mdp.layout, mdp.transitions, 1000, eta_scale=10.0)
    mean = mdp.layout.pairs(np.random.default_rng(1).random(mdp.layout.n_rows))
    if n_episodes:
        am.play(mdp, am.losses.Stochastic(mean), learner, n_episodes, seed=2)
    return learner


@pytest.mark.parametrize("n_episodes", [0, 50])
def test_the_steps_average_to_the_true_q_values(n_episodes: int) -> None:
    # Over all trajectories, E_t of the change of ln pi(a|x) - ln pi(0|x) is
    # -eta (Q_t(x, a) - Q_t(x, 0)): the estimates Q^_t are unbiased.
    mdp = am.families.random_mdp((1, 2, 2, 1), 2, seed=4)
    policy = learner_after(n_episodes, mdp).policy()
    losses = mdp.layout.pairs(np.random.default_rng(9).random(mdp.layout.n_rows))
    expectation = [np.zeros_like(layer) for layer in policy]
    eta = 0.0
    for states, actions, chance in all_trajectories(mdp.transitions, policy):
        learner = learner_after(n_episodes, mdp)
        eta = learner.eta
        teach(
            learner,
            Episode(states, actions, [losses[k][states[k], a] for k, a in enumerate(actions)]),
        )
        for total, after, before in zip(
            expectation, log_ratios(learner.policy()), log_ratios(policy), strict=True
        ):
            total += chance * (before - after) / eta
    costs, _ = q_values(mdp.transitions, losses, policy)
    for total, cost in zip(expectation, costs, strict=True):
        assert np.allclose(total, cost - cost[:, :1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_second_moment_behind_the_rate(seed: int) -> None:
    # E_t sum_a pi_t Q^_t(x, a)^2 <= (L - k) (|A| + L - k - 1) / alpha in every state of layer k,
    # already with q_t in place of the worst policy's alpha.
    rng = np.random.default_rng(seed)
    kernel = random_kernel(rng, (1, 2, 2, 1), 2)
    plain = PlainNGS(kernel, 100, alpha=0.1, gamma=0.0, eta_scale=1.0)
    plain.policy = [rng.dirichlet(np.ones(2), size=len(layer)) for layer in plain.policy]
    losses = [rng.random(layer.shape[:2]) for layer in kernel]
    alpha = min(layer.min() for layer in masses(kernel, plain.policy))
    moment = [np.zeros(len(layer)) for layer in plain.policy]
    mean = [np.zeros_like(layer) for layer in plain.policy]
    for states, actions, chance in all_trajectories(kernel, plain.policy):
        seen = [losses[k][states[k], a] for k, a in enumerate(actions)]
        estimate = plain.estimate(Episode(states, actions, seen))
        costs, _ = q_values(kernel, estimate, plain.policy)
        for k, cost in enumerate(costs):
            moment[k] += chance * (plain.policy[k] * cost**2).sum(axis=1)
            mean[k] += chance * estimate[k]
    assert greatest_difference(mean, losses) < 1e-12  # l^_t is unbiased
    for k, layer in enumerate(moment):
        assert (layer <= (3 - k) * (2 + 3 - k - 1) / alpha).all()


@pytest.mark.parametrize("seed", range(3))
def test_alpha_is_the_least_visit_probability_of_any_policy(seed: int) -> None:
    kernel = random_kernel(np.random.default_rng(seed), (1, 2, 3, 1), 2)
    least = min(
        min(layer.min() for layer in masses(kernel, policy))
        for policy in deterministic_policies((1, 2, 3, 1), 2)
    )
    learner = NGS2010(am.Layout((1, 2, 3, 1), 2), kernel, 100)
    assert learner.alpha == pytest.approx(least, rel=1e-12)
    assert learner.eta == pytest.approx(np.sqrt(least * np.log(2) / 200) / 3, rel=1e-12)


def test_a_state_that_can_be_avoided_falls_back_to_the_widest_layer() -> None:
    mdp = am.families.grid(2, 2, horizon=3)
    learner = NGS2010(mdp.layout, mdp.transitions, 100)
    assert learner.alpha == 1 / max(mdp.layout.layer_sizes)


def test_one_layer_is_exp3_in_closed_form() -> None:
    rng = np.random.default_rng(3)
    n_actions, n_episodes = 4, 400
    layout = am.Layout((1, 1), n_actions)
    learner = NGS2010(layout, [np.ones((1, n_actions, 1))], n_episodes)
    assert learner.alpha == 1.0
    eta, total = np.sqrt(np.log(n_actions) / (n_episodes * n_actions)), np.zeros(n_actions)
    for _ in range(n_episodes):
        weights = np.exp(-eta * total)
        policy = weights / weights.sum()
        assert np.allclose(learner.policy()[0][0], policy, rtol=1e-11, atol=0)
        action, loss = int(rng.choice(n_actions, p=policy)), float(rng.random())
        total[action] += loss / policy[action]
        learner.update(am.Trajectory([0, 0], [action], [loss]))


def test_what_cannot_happen_teaches_nothing() -> None:
    # State 1 has probability zero under P: an estimate would be a division by zero.
    layout = am.Layout((1, 2, 1), 2)
    kernel = [np.array([[[1.0, 0.0], [1.0, 0.0]]]), np.ones((2, 2, 1))]
    learner = NGS2010(layout, kernel, 100)
    learner.update(am.Trajectory([0, 1, 0], [0, 1], [0.0, 1.0]))
    assert greatest_difference(learner.policy(), [np.full((1, 2), 0.5), np.full((2, 2), 0.5)]) == 0


def test_learning_beats_the_uniform_policy_by_far() -> None:
    mdp = am.families.random_mdp((1, 3, 3, 1), 3, seed=0)
    mean = mdp.layout.pairs(np.random.default_rng(0).random(mdp.layout.n_rows))
    losses, n_episodes = am.losses.Stochastic(mean), 20_000
    regret = {
        scale: am.play(
            mdp,
            losses,
            NGS2010(mdp.layout, mdp.transitions, n_episodes, eta_scale=scale),
            n_episodes,
            seed=1,
        ).regret[-1]
        for scale in (1.0, 30.0)
    }
    uniform = am.play(mdp, losses, am.Uniform(mdp.layout), n_episodes, seed=1).regret[-1]
    # alpha is 0.001 here, which makes the theorem's rate very small
    assert regret[1.0] < 0.92 * uniform
    assert regret[30.0] < 0.15 * uniform


def test_refusals_name_the_argument() -> None:
    layout = am.Layout((1, 2, 1), 2)
    good = [np.full((1, 2, 2), 0.5), np.ones((2, 2, 1))]
    short = [np.full((1, 2, 2), 0.4), np.ones((2, 2, 1))]
    cases = [
        (lambda: NGS2010(layout, short, 10), "transitions: layer 0, state 0, action 0"),
        (lambda: NGS2010(layout, good, 0), "n_episodes"),
        (lambda: NGS2010(layout, good, 10, alpha=0.0), "alpha"),
        (lambda: NGS2010(layout, good, 10, alpha=1.5), "alpha"),
        (lambda: NGS2010(layout, good, 10, alpha=np.nan), "alpha"),
        (lambda: NGS2010(layout, good, 10, gamma=-0.1), "gamma"),
        (lambda: NGS2010(layout, good, 10, gamma=1.1), "gamma"),
        (lambda: NGS2010(layout, good, 10, eta_scale=0.0), "eta_scale"),
    ]
    for call, message in cases:
        with pytest.raises(am.InvalidInput, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)
