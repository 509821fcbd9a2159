"""UOB-REPS as a whole: against the slow transcription, in closed form, and its invariants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import advmdp as am
from tests.reference.instances import box_from_counts, random_instance, random_policy
from tests.reference.plain_uob_reps import Counters, Episode, PlainUOBREPS, random_episodes
from tests.reference.tables import (
    Table,
    divergence,
    flow_error,
    greatest_difference,
    occupancy,
    pair_sums,
    policy_of,
)

# Large steps and narrow sets: with the theory's constants the sets stay vacuous for a long time.
EAGER: dict[str, Any] = {"delta": 0.1, "eta": 0.5, "gamma": 0.05, "log_scale": 0.01}
SHAPES = [(1, 3, 1), (1, 2, 3, 1), (1, 3, 2, 3, 1)]


def trajectory(episode: Episode) -> am.Trajectory:
    return am.Trajectory(episode.states, episode.actions, episode.losses)


def log_term(sizes: tuple[int, ...], n_actions: int, n_episodes: int) -> float:
    """The logarithm of Eq. (6) under EAGER."""
    return float(EAGER["log_scale"] * np.log(n_episodes * sum(sizes) * n_actions / EAGER["delta"]))


# ---------------------------------------------------------------- against the transcription


@pytest.mark.parametrize("sizes", SHAPES)
def test_forty_episodes_against_the_transcription(sizes: tuple[int, ...]) -> None:
    case = random_instance(21, sizes=sizes)
    learner = am.UOBREPS(am.Layout(layer_sizes=sizes, n_actions=2), n_episodes=40, **EAGER)
    plain = PlainUOBREPS(sizes, 2, n_episodes=40, **EAGER)
    bitten = False
    for t, episode in enumerate(random_episodes(3, case.kernel, 40)):
        assert greatest_difference(learner.policy(), plain.policy) <= 1e-8, f"policy of episode {t}"
        assert greatest_difference(learner.occupancy(), plain.occupancy) <= 1e-8
        chosen = _chosen(plain, episode)
        learner.update(trajectory(episode))
        plain.update(episode)
        assert learner.epoch == plain.epoch, f"epoch after episode {t}"
        np.testing.assert_allclose(
            learner.upper_occupancy_of_last, plain.upper_occupancy_of_last, rtol=0, atol=1e-8
        )
        bitten |= bool((plain.upper_occupancy_of_last < 0.9 * chosen).any())
    assert greatest_difference(learner.policy(), plain.policy) <= 1e-8
    assert bitten  # the sets mattered, so the comparison had something to find


def _chosen(plain: PlainUOBREPS, episode: Episode) -> np.ndarray:
    """pi_t on the visited pairs: the bound that vacuous sets would give."""
    visited = zip(episode.states, episode.actions, strict=False)
    return np.array([plain.policy[k][x, a] for k, (x, a) in enumerate(visited)])


# ---------------------------------------------------------------- closed forms


@pytest.mark.parametrize("n_layers", [1, 3])
def test_single_state_layers_are_exp3_ix(n_layers: int) -> None:
    # Neu's EXP3-IX in every layer: p(a) times exp(-eta loss / (p(a) + gamma)), normalised.
    # First visits open epochs, but a set with one possible successor never restricts anything.
    eta, gamma, n_actions = 0.3, 0.1, 4
    layout = am.Layout(layer_sizes=(1,) * (n_layers + 1), n_actions=n_actions)
    learner = am.UOBREPS(layout, n_episodes=200, delta=0.1, eta=eta, gamma=gamma)
    kernel = [np.ones((1, n_actions, 1))] * n_layers
    chances = np.full((n_layers, n_actions), 1.0 / n_actions)
    seen: set[tuple[int, int]] = set()
    for t, episode in enumerate(random_episodes(5, kernel, 200)):
        np.testing.assert_allclose(np.concatenate(learner.policy()), chances, rtol=0, atol=1e-12)
        before = learner.epoch
        learner.update(trajectory(episode))
        pairs = set(enumerate(episode.actions))
        if pairs - seen:
            assert learner.epoch == before + 1, f"first visit in episode {t}"
        seen |= pairs
        for k, a in pairs:
            chances[k, a] *= np.exp(-eta * episode.losses[k] / (chances[k, a] + gamma))
        chances /= chances.sum(axis=1, keepdims=True)


def test_first_occupancy_is_uniform() -> None:
    learner = am.UOBREPS(am.Layout(layer_sizes=(1, 2, 3, 1), n_actions=2), n_episodes=10, delta=0.1)
    expected = [np.full((1, 2, 2), 1 / 4), np.full((2, 2, 3), 1 / 12), np.full((3, 2, 1), 1 / 6)]
    assert greatest_difference(learner.occupancy(), expected) <= 1e-15
    assert greatest_difference(learner.policy(), [np.full((n, 2), 0.5) for n in (1, 2, 3)]) <= 1e-15
    assert learner.epoch == 1


# ---------------------------------------------------------------- parameters


def last_policy(sizes: tuple[int, ...], **parameters: Any) -> Table:
    """The policy after thirty episodes that do not depend on the parameters."""
    kernel = random_instance(8, sizes=sizes, n_actions=3).kernel
    learner = am.UOBREPS(am.Layout(layer_sizes=sizes, n_actions=3), n_episodes=30, **parameters)
    for episode in random_episodes(9, kernel, 30):
        learner.update(trajectory(episode))
    return learner.policy()


def test_default_rates_are_those_of_the_theorem() -> None:
    sizes, delta = (1, 2, 3, 1), 0.2
    # eta = gamma = sqrt(L ln(L |X| |A| / delta) / (T |X| |A|)); X has the first and last state too.
    rate = float(np.sqrt(3 * np.log(3 * 7 * 3 / delta) / (30 * 7 * 3)))
    default = last_policy(sizes, delta=delta)
    explicit = last_policy(sizes, delta=delta, eta=rate, gamma=rate)
    assert greatest_difference(default, explicit) <= 1e-12
    other = last_policy(sizes, delta=delta, eta=1.01 * rate, gamma=rate)
    assert greatest_difference(default, other) > 1e-5


def test_scales_multiply_the_default_rates() -> None:
    sizes, delta = (1, 2, 3, 1), 0.2
    rate = float(np.sqrt(3 * np.log(3 * 7 * 3 / delta) / (30 * 7 * 3)))
    scaled = last_policy(sizes, delta=delta, eta_scale=3.0, gamma_scale=0.5)
    explicit = last_policy(sizes, delta=delta, eta=3.0 * rate, gamma=0.5 * rate)
    assert greatest_difference(scaled, explicit) <= 1e-12


# ---------------------------------------------------------------- invariants of a run


def test_first_epoch_lasts_one_episode_and_pairs_double() -> None:
    # One pair per layer, visited again and again: epochs end at 1, 2, 4, 8, ... visits.
    layout = am.Layout(layer_sizes=(1, 2, 1), n_actions=2)
    learner = am.UOBREPS(layout, n_episodes=40, **EAGER)
    epochs = []
    for _ in range(40):
        learner.update(am.Trajectory([0, 1, 0], [0, 1], [0.5, 0.5]))
        epochs.append(learner.epoch)
    expected = [1 + int(np.floor(np.log2(t))) + 1 for t in range(1, 41)]
    assert epochs == expected


@pytest.mark.parametrize("sizes", SHAPES)
def test_every_iterate_is_feasible_and_below_its_bound(sizes: tuple[int, ...]) -> None:
    # q-hat <= u is the most sensitive detector of a set taken from the wrong epoch.
    kernel, layout = random_instance(22, sizes=sizes).kernel, am.Layout(sizes, 2)
    learner, counters = am.UOBREPS(layout, n_episodes=120, **EAGER), Counters(sizes, 2)
    term = log_term(sizes, 2, 120)
    for episode in random_episodes(4, kernel, 120):
        lower, upper = box_from_counts(counters.frozen_visits, counters.frozen_transitions, term)
        q, policy = learner.occupancy(), learner.policy()
        assert flow_error(q) <= 1e-12
        assert greatest_difference(policy, policy_of(q)) <= 1e-12
        bound = am.upper_occupancy(policy, am.BoxSet(layout, lower, upper))
        for u, pairs in zip(bound, pair_sums(q), strict=True):
            assert (pairs <= u + 1e-12).all()
        learner.update(trajectory(episode))
        counters.record(episode)
        visited = list(zip(episode.states, episode.actions, strict=False))
        expected = [bound[k][x, a] for k, (x, a) in enumerate(visited)]
        np.testing.assert_allclose(learner.upper_occupancy_of_last, expected, rtol=0, atol=1e-12)
        assert learner.upper_occupancy_of_last[0] == pytest.approx(policy[0][visited[0]], abs=1e-14)


def test_nothing_lost_and_no_epoch_changes_nothing() -> None:
    layout = am.Layout(layer_sizes=(1, 2, 1), n_actions=2)
    learner = am.UOBREPS(layout, n_episodes=40, **EAGER)
    for _ in range(2):
        learner.update(am.Trajectory([0, 1, 0], [0, 1], [0.7, 0.4]))
    before, epoch = learner.policy(), learner.epoch
    learner.update(am.Trajectory([0, 1, 0], [0, 1], [0.0, 0.0]))  # third visit: no doubling
    assert learner.epoch == epoch
    assert greatest_difference(learner.policy(), before) <= 1e-12


def test_a_policy_handed_out_is_not_rewritten_later() -> None:
    kernel = random_instance(8, sizes=(1, 2, 1)).kernel
    learner = am.UOBREPS(am.Layout(layer_sizes=(1, 2, 1), n_actions=2), n_episodes=10, **EAGER)
    kept = learner.policy()
    copy = [layer.copy() for layer in kept]
    for episode in random_episodes(1, kernel, 10):
        learner.update(trajectory(episode))
    assert greatest_difference(kept, copy) == 0.0
    assert greatest_difference(learner.policy(), copy) > 1e-3


def test_mirror_descent_inequality() -> None:
    # While the sets are vacuous every measure r is a legal comparator, and
    # eta sum <q_t - r, est_t> <= D(r || q_1) - D(r || q_{T+1}) + sum D(q_t || q_t e^{-eta est_t}).
    sizes, eta, gamma = (1, 3, 2, 1), 0.3, 0.1
    case = random_instance(23, sizes=sizes)
    learner = am.UOBREPS(am.Layout(sizes, 2), n_episodes=60, delta=0.1, eta=eta, gamma=gamma)
    first, left, spent = learner.occupancy(), 0.0, 0.0
    r = occupancy(case.kernel, random_policy(case.rng(), sizes, 2))
    for episode in random_episodes(6, case.kernel, 60):
        q = learner.occupancy()
        learner.update(trajectory(episode))
        tilted = [layer.copy() for layer in q]
        for k, (x, a) in enumerate(zip(episode.states, episode.actions, strict=False)):
            estimate = episode.losses[k] / (learner.upper_occupancy_of_last[k] + gamma)
            left += eta * estimate * float((q[k] - r[k])[x, a].sum())
            tilted[k][x, a] *= np.exp(-eta * estimate)
        spent += divergence(q, tilted)
    right = divergence(r, first) - divergence(r, learner.occupancy()) + spent
    assert left <= right + 1e-9
