"""MDP-E: against a plain copy, in closed form, and against its deterministic bound."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import advmdp as am
from advmdp.learners.per_state.mdp_e import MDPE
from tests.reference.brute_force import all_trajectories
from tests.reference.instances import random_kernel, random_policy
from tests.reference.plain_hedge import (
    PlainMDPE,
    best_policy,
    masses,
    q_values,
    random_losses,
    sample_path,
)
from tests.reference.tables import Table, greatest_difference, inner, occupancy, pair_sums

SHAPES = [((1, 1), 3), ((1, 3, 1), 2), ((1, 3, 2, 4, 1), 3)]


def expected_loss(transitions: Table, policy: Table, losses: Table) -> float:
    return inner(pair_sums(occupancy(transitions, policy)), losses)


def full(losses: Table, sizes: tuple[int, ...]) -> am.FullInformation:
    """The path is of no interest to a learner that knows the transition and sees all losses."""
    return am.FullInformation([0] * len(sizes), [0] * (len(sizes) - 1), losses)


@pytest.mark.parametrize(("sizes", "n_actions"), SHAPES)
def test_policies_equal_the_plain_copy(sizes: tuple[int, ...], n_actions: int) -> None:
    rng = np.random.default_rng(0)
    kernel = random_kernel(rng, sizes, n_actions)
    fast = MDPE(am.Layout(sizes, n_actions), kernel, 300, eta_scale=3.0)
    plain = PlainMDPE(kernel, 300, eta_scale=3.0)
    for losses in random_losses(rng, kernel, 300):
        fast.update(full(losses, sizes))
        plain.update(losses)
        assert greatest_difference(fast.policy(), plain.policy) < 1e-12
    assert fast.episodes == 300


def test_the_same_on_a_declared_support() -> None:
    mdp = am.families.grid(2, 2, horizon=4)
    rng = np.random.default_rng(1)
    fast, plain = MDPE(mdp.layout, mdp.transitions, 200), PlainMDPE(mdp.transitions, 200)
    for losses in random_losses(rng, mdp.transitions, 200):
        states, actions = sample_path(rng, mdp.transitions, plain.policy)
        fast.update(am.FullInformation(states, actions, losses))
        plain.update(losses)
    assert greatest_difference(fast.policy(), plain.policy) < 1e-12


def test_one_layer_is_hedge_in_closed_form() -> None:
    rng = np.random.default_rng(2)
    n_actions, n_episodes = 4, 500
    learner = MDPE(am.Layout((1, 1), n_actions), [np.ones((1, n_actions, 1))], n_episodes)
    total = np.zeros(n_actions)
    for _ in range(n_episodes):
        losses = rng.random(n_actions)
        total += losses
        learner.update(full([losses[None]], (1, 1)))
    weights = np.exp(-np.sqrt(8 * np.log(n_actions) / n_episodes) * (total - total.min()))
    assert np.allclose(learner.policy()[0][0], weights / weights.sum(), rtol=1e-10, atol=0)


# Adversaries: losses of the coming episode from the episode's number and the policy to be played.
Adversary = Callable[[int, Table, np.random.Generator], Table]


def uniform_noise(t: int, policy: Table, rng: np.random.Generator) -> Table:
    return [rng.random(layer.shape) for layer in policy]


def switching(t: int, policy: Table, rng: np.random.Generator) -> Table:
    favoured = (t // 40) % policy[0].shape[1]
    return [
        np.tile(np.arange(layer.shape[1]) != favoured, (len(layer), 1)) * 1.0 for layer in policy
    ]


def hurt_the_favourite(t: int, policy: Table, rng: np.random.Generator) -> Table:
    """A loss for the most probable action of every state."""
    return [np.eye(layer.shape[1])[layer.argmax(axis=1)] for layer in policy]


def hurt_what_is_above_average(t: int, policy: Table, rng: np.random.Generator) -> Table:
    """A loss for all actions that are played at least as often as in a uniform policy."""
    return [(layer >= 1.0 / layer.shape[1]) * 1.0 for layer in policy]


def one_good_action_hidden_late(t: int, policy: Table, rng: np.random.Generator) -> Table:
    """Coin flips, but one action of the last layer is free: Hedge's hard case, deep down."""
    losses = [np.round(rng.random(layer.shape)) for layer in policy]
    losses[-1][:, 0] = 0.0
    return losses


@pytest.mark.parametrize(
    "adversary",
    [
        uniform_noise,
        switching,
        hurt_the_favourite,
        hurt_what_is_above_average,
        one_good_action_hidden_late,
    ],
)
@pytest.mark.parametrize(("sizes", "n_actions"), SHAPES)
@pytest.mark.parametrize("n_episodes", [1, 10, 400])
def test_the_bound_holds_on_every_sequence(
    sizes: tuple[int, ...], n_actions: int, n_episodes: int, adversary: Adversary
) -> None:
    # R_T <= L (L + 1) / 2 sqrt(T ln|A| / 2), deterministically
    rng = np.random.default_rng(3)
    kernel = random_kernel(rng, sizes, n_actions)
    learner = MDPE(am.Layout(sizes, n_actions), kernel, n_episodes)
    total = [np.zeros(layer.shape[:2]) for layer in kernel]
    suffered = 0.0
    for t in range(n_episodes):
        policy = learner.policy()
        losses = adversary(t, policy, rng)
        suffered += expected_loss(kernel, policy, losses)
        total = [a + b for a, b in zip(total, losses, strict=True)]
        learner.update(full(losses, sizes))
    regret = suffered - expected_loss(kernel, best_policy(kernel, total), total)
    n_layers = len(kernel)
    bound = n_layers * (n_layers + 1) / 2 * np.sqrt(n_episodes * np.log(n_actions) / 2)
    assert regret <= bound + 1e-9


def test_the_bound_is_not_vacuous_and_the_rate_matters() -> None:
    # On one layer the favourite-hurting adversary comes within a factor 4 of the bound; with a
    # rate of almost zero the regret of the uniform policy against one good action exceeds it.
    layout, n_episodes = am.Layout((1, 1), 2), 2000
    kernel = [np.ones((1, 2, 1))]
    bound = np.sqrt(n_episodes * np.log(2) / 2)
    regrets = []
    for scale, losses in ((1.0, None), (1e-6, [np.array([[0.0, 1.0]])])):
        learner = MDPE(layout, kernel, n_episodes, eta_scale=scale)
        rng, total, suffered = np.random.default_rng(0), np.zeros((1, 2)), 0.0
        for t in range(n_episodes):
            policy = learner.policy()
            now = hurt_the_favourite(t, policy, rng) if losses is None else losses
            suffered += expected_loss(kernel, policy, now)
            total += now[0]
            learner.update(full(now, (1, 1)))
        regrets.append(suffered - total.min())
    assert bound / 4 < regrets[0] <= bound
    assert regrets[1] > 10 * bound


@pytest.mark.parametrize("seed", range(20))
def test_performance_difference_and_simulation_lemma(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes, n_actions = (1, 3, 2, 3, 1), 3
    kernel, other = (random_kernel(rng, sizes, n_actions) for _ in range(2))
    policy, star = (random_policy(rng, sizes, n_actions) for _ in range(2))
    losses = [rng.random(layer.shape[:2]) for layer in kernel]
    costs, _ = q_values(kernel, losses, policy)
    # <q^pi - q^star, l> = sum_x q^star(x) <pi - star, Q^pi>(x)
    difference = expected_loss(kernel, policy, losses) - expected_loss(kernel, star, losses)
    weighted = sum(
        (m[:, None] * (p - s) * c).sum()
        for m, p, s, c in zip(masses(kernel, star), policy, star, costs, strict=True)
    )
    assert weighted == pytest.approx(difference, abs=1e-12)
    # <q^{P^,pi} - q^{P,pi}, l> = sum q^{P,pi}(x, a) <P^ - P, V^{P^,pi}>(x, a)
    _, values = q_values(other, losses, policy)
    difference = expected_loss(other, policy, losses) - expected_loss(kernel, policy, losses)
    pairs = pair_sums(occupancy(kernel, policy))
    simulated = sum(
        (q * ((hat - true) @ v)).sum()
        for q, hat, true, v in zip(pairs, other, kernel, values[1:], strict=True)
    )
    assert simulated == pytest.approx(difference, abs=1e-12)


def test_one_step_moves_along_the_q_values_of_enumerated_trajectories() -> None:
    # ln pi_2(a|x) - ln pi_2(b|x) = -eta_k (Q(x, a) - Q(x, b)); Q(x_0, .) by enumeration
    rng = np.random.default_rng(5)
    kernel = random_kernel(rng, (1, 2, 2, 1), 2)
    learner = MDPE(am.Layout((1, 2, 2, 1), 2), kernel, 50)
    policy, losses = learner.policy(), [rng.random(layer.shape[:2]) for layer in kernel]
    cost = np.zeros(2)
    for states, actions, chance in all_trajectories(kernel, policy):
        seen = sum(losses[k][states[k], a] for k, a in enumerate(actions))
        cost[actions[0]] += chance / policy[0][0, actions[0]] * seen
    learner.update(full(losses, (1, 2, 2, 1)))
    moved = np.log(learner.policy()[0][0])
    assert moved[0] - moved[1] == pytest.approx(-learner.eta / 3 * (cost[0] - cost[1]), abs=1e-12)


def test_an_action_comes_back_from_a_probability_of_zero() -> None:
    layout = am.Layout((1, 1), 2)
    learner = MDPE(layout, [np.ones((1, 2, 1))], 4000, eta_scale=50.0)
    for losses, expected in (([[0.0, 1.0]], [1.0, 0.0]), ([[1.0, 0.0]], [0.5, 0.5])):
        for _ in range(2000):
            learner.update(full([np.array(losses)], (1, 1)))
        assert np.allclose(learner.policy()[0][0], expected, rtol=0, atol=1e-9)


def test_learning_beats_the_uniform_policy_by_far() -> None:
    mdp = am.families.random_mdp((1, 3, 3, 1), 3, seed=0)
    mean = mdp.layout.pairs(np.random.default_rng(0).random(mdp.layout.n_rows))
    losses = am.losses.Stochastic(mean)
    learnt = am.play(mdp, losses, MDPE(mdp.layout, mdp.transitions, 5000), 5000, seed=1)
    uniform = am.play(mdp, losses, am.Uniform(mdp.layout), 5000, seed=1)
    assert learnt.compiled
    assert learnt.regret[-1] < 0.1 * uniform.regret[-1]


def test_refusals_name_the_argument() -> None:
    layout = am.Layout((1, 2, 1), 2)
    good = [np.full((1, 2, 2), 0.5), np.ones((2, 2, 1))]
    short = [np.full((1, 2, 2), 0.4), np.ones((2, 2, 1))]
    cases = [
        (lambda: MDPE(layout, short, 10), "transitions: layer 0, state 0, action 0"),
        (lambda: MDPE(layout, good[:1], 10), "transitions"),
        (lambda: MDPE(layout, good, 0), "n_episodes"),
        (lambda: MDPE(layout, good, 10, eta_scale=-1.0), "eta_scale"),
        (lambda: MDPE(layout, good, 10, eta_scale=np.nan), "eta_scale"),
    ]
    for call, message in cases:
        with pytest.raises(am.InvalidInput, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)
