"""Optimistic Q-learning: its weights, the transcription, optimism, easy and hard worlds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.kernels.learners.q_learning import learning_rate
from advmdp.learners.stochastic.q_learning import QLearningB, QLearningH
from tests.reference.plain_stochastic import PlainQLearning
from tests.reference.shadow import (
    Shadow,
    assert_greedy,
    assert_resumes,
    assert_same_both_ways,
    optimal_values,
    random_mean,
    worlds,
)
from tests.reference.tables import Array, greatest_difference

# The second pair of constants lets both widths of the Bernstein version be the smaller one.
CONSTANTS: list[tuple[Any, dict[str, float], dict[str, float]]] = [
    (QLearningH, {"c": 0.01}, {"c": 0.01}),
    (QLearningH, {"c": 1.0}, {"c": 1.0}),
    (QLearningB, {"c1": 0.003, "c2": 0.03}, {"c": 0.003, "c2": 0.03}),
    (QLearningB, {"c1": 1.0, "c2": 1.0}, {"c": 1.0, "c2": 1.0}),
]


def weights(n_layers: int, n: int) -> Array:
    """alpha_n^i, i = 0 .. n: the weight of the i-th target in Q after n visits."""
    rates = [learning_rate(float(n_layers), float(i)) for i in range(1, n + 1)]
    return np.array([rates[i] * np.prod([1.0 - rate for rate in rates[i + 1 :]]) for i in range(n)])


@pytest.mark.parametrize("n_layers", [1, 3, 10])
@pytest.mark.parametrize("n", [1, 2, 7, 60, 300])
def test_the_weights_of_the_paper(n_layers: int, n: int) -> None:
    """Lemma 4.1 of the paper: they sum to one, and none of them dominates."""
    alpha = weights(n_layers, n)
    assert alpha.sum() == pytest.approx(1.0, abs=1e-12)
    assert (alpha**2).sum() <= 2.0 * n_layers / n + 1e-12
    assert alpha.max() <= 2.0 * n_layers / n + 1e-12
    mean = (alpha / np.sqrt(np.arange(1, n + 1))).sum() * np.sqrt(n)
    assert 1.0 - 1e-12 <= mean <= 2.0 + 1e-12


def test_q_is_the_weighted_sum_of_its_targets() -> None:
    """One state, no bonus: Q is sum_i alpha_n^i loss_i, with the newest losses heaviest."""
    layout = am.Layout(layer_sizes=(1, 1), n_actions=1)
    learner = QLearningH(layout, 50, c=0.0)
    losses = np.random.default_rng(0).random(50)
    for n, loss in enumerate(losses, start=1):
        learner.update(am.Trajectory([0, 0], [0], [loss]))
        expected = (weights(1, n) * losses[:n]).sum()
        assert learner.optimistic_loss == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", worlds())
@pytest.mark.parametrize(("make", "constants", "plain_constants"), CONSTANTS)
def test_four_hundred_episodes_against_the_transcription(
    make: Any, constants: dict[str, float], plain_constants: dict[str, float], name: str
) -> None:
    mdp = worlds()[name]
    layout = mdp.layout
    plain = PlainQLearning(layout.layer_sizes, layout.n_actions, 400, **plain_constants)

    def compare(learner: Any, plain: PlainQLearning) -> None:
        assert greatest_difference(learner.lower_values, plain.q) <= 1e-9
        assert learner.optimistic_loss == pytest.approx(plain.value[0][0], abs=1e-9)
        assert_greedy(learner.policy(), plain.q)

    learner = make(layout, 400, **constants)
    losses = am.losses.Stochastic(random_mean(mdp))
    am.play(mdp, losses, Shadow(learner, plain, compare), 400, seed=2)
    compare(learner, plain)
    assert learner.episodes == 400
    if max(constants.values()) < 1.0:
        assert learner.optimistic_loss > 0.1  # the values mattered


@pytest.mark.parametrize(("make", "constants", "_"), CONSTANTS[::2])
@pytest.mark.parametrize("name", worlds())
def test_compiled_protocol_and_resumed_runs_are_the_same(
    make: Any, constants: dict[str, float], _: Any, name: str
) -> None:
    mdp = worlds()[name]
    losses = am.losses.Stochastic(random_mean(mdp))
    assert_same_both_ways(mdp, losses, lambda: make(mdp.layout, 500, **constants), 500)
    assert_resumes(mdp, losses, lambda: make(mdp.layout, 500, **constants), 500)


@pytest.mark.parametrize(
    ("make", "constants"),
    [(QLearningH, {"c": 0.25}), (QLearningB, {"c1": 0.5, "c2": 0.5})],
)
def test_values_are_optimistic(make: Any, constants: dict[str, float]) -> None:
    """Q <= Q* in every episode of five runs, with a quarter and a half of the theory's constants.

    The good event has probability 0.9 at least by the theory (delta = 0.1) and is far likelier:
    with these constants the martingale of a pair would have to leave four standard deviations.
    """
    mdp = am.families.random_mdp((1, 3, 3, 3, 1), 2, seed=3)
    mean = random_mean(mdp, 3)
    best = optimal_values(mdp, mean)
    for seed in range(5):
        learner = make(mdp.layout, 20_000, **constants)
        for part in range(20):
            am.play(mdp, am.losses.Stochastic(mean), learner, 1000, seed=100 * seed + part)
            values = learner.lower_values
            assert all((q <= s + 1e-9).all() for q, s in zip(values, best, strict=True))
        assert learner.optimistic_loss > 0.2 * best[0].min()  # and not because it is empty


@pytest.mark.parametrize(
    ("make", "constants"), [(QLearningH, {"c": 0.01}), (QLearningB, {"c1": 0.02, "c2": 0.02})]
)
def test_deep_sea_and_river_swim_are_solved_where_uniform_play_is_lost(
    make: Any, constants: dict[str, float]
) -> None:
    """A tenth of the uniform policy's regret, in each of three seeds.

    The constants are far below the theory's, with which nothing is learnt in 20,000 episodes.
    Over seeds 0-9 the ratio was below 0.06 and varied by less than 0.005, so an error by chance is
    far below one in a thousand.
    """
    for mdp in (am.families.deep_sea(8), am.families.river_swim(length=5, horizon=12)):
        losses = am.losses.Stochastic(mdp.natural_loss)
        for seed in range(3):
            learner = make(mdp.layout, 20_000, **constants)
            learnt = am.play(mdp, losses, learner, 20_000, seed=seed).regret[-1]
            uniform = am.play(mdp, losses, am.Uniform(mdp.layout), 20_000, seed=seed).regret[-1]
            assert learnt < 0.1 * uniform


def test_negative_control_one_switch_costs_linear_regret() -> None:
    """(0.5, 0.4) in the first half, (0.0, 0.5) in the second: action 0 is tried once, early.

    The weights favour the newer losses, but three quarters of 0.5 and one of 0.4 stay below 0.5.
    """
    layout = am.Layout(layer_sizes=(1, 1), n_actions=2)
    mdp = am.LayeredMDP(layout, [np.ones((1, 2, 1))])
    tables = [[np.array([[0.5, 0.4]])], [np.array([[0.0, 0.5]])]]
    for n_episodes in (5_000, 20_000):
        losses = am.losses.Switching(tables, period=n_episodes // 2)
        learner = QLearningH(layout, n_episodes, c=1e-4)
        misled = am.play(mdp, losses, learner, n_episodes).regret[-1]
        assert misled == pytest.approx(0.2 * n_episodes, rel=0.02)


def test_refusals_name_the_parameter() -> None:
    layout = am.Layout(layer_sizes=(1, 2, 1), n_actions=2)
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (QLearningH, {"n_episodes": 1.5}, "n_episodes"),
        (QLearningH, {"n_episodes": 10, "delta": 0.0}, "delta"),
        (QLearningH, {"n_episodes": 10, "c": -1.0}, "c: "),
        (QLearningB, {"n_episodes": 10, "c1": np.inf}, "c1"),
        (QLearningB, {"n_episodes": 10, "c2": np.nan}, "c2"),
    ]
    for make, arguments, name in cases:
        with pytest.raises(am.InvalidInput, match=name):
            make(layout, **arguments)
