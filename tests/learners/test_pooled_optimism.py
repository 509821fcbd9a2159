"""Optimism where nothing changes over time: what is seen at one step is learnt for all steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import advmdp as am
from advmdp.learners.presets import PRACTICAL
from tests.reference.plain_stochastic import (
    PlainQLearning,
    PlainUCBVI,
    PlainUCRL2,
    PooledAverages,
)
from tests.reference.shadow import (
    Shadow,
    assert_greedy,
    assert_resumes,
    assert_same_both_ways,
    optimal_values,
)
from tests.reference.tables import greatest_difference

PLACES = np.random.default_rng(1).dirichlet(np.ones(3), (3, 2))
MEAN = np.random.default_rng(2).random((3, 2))
MDP = am.time_expand(PLACES, horizon=5, loss=MEAN, pooled=True)
LAYOUT = MDP.layout
LOSSES = am.losses.Stochastic(MDP.natural_loss)
SIZES = (LAYOUT.layer_sizes, LAYOUT.n_actions)
EAGER = {"loss_scale": 0.02, "transition_scale": 0.01}


def against(learner: Any, plain: Any, n_episodes: int) -> None:
    """Play both; the values agree before every episode."""

    def compare(learner: Any, plain: Any) -> None:
        assert greatest_difference(learner.lower_values, plain.q) <= 1e-9
        assert_greedy(learner.policy(), plain.q)

    am.play(MDP, LOSSES, Shadow(learner, plain, compare), n_episodes, seed=2)
    compare(learner, plain)
    assert learner.optimistic_loss > 0.1  # the values mattered


@pytest.mark.parametrize("make", [am.UCBVICH, am.UCBVIBF])
def test_ucbvi_agrees_with_the_transcription_that_writes_a_visit_into_every_step(make: Any) -> None:
    bernstein, scale = make is am.UCBVIBF, 0.003
    plain = PlainUCBVI(
        *SIZES, 100, bernstein=bernstein, bonus_scale=scale, past=PooledAverages(LAYOUT)
    )
    against(make(LAYOUT, 100, bonus_scale=scale, stationary=True), plain, 100)


@pytest.mark.parametrize("window", [None, 30])
def test_ucrl2_agrees_with_the_transcription_that_writes_a_visit_into_every_step(
    window: int | None,
) -> None:
    support = [layer > 0 for layer in LAYOUT.triples(np.ones(LAYOUT.n_entries))]
    plain = PlainUCRL2(
        *SIZES, support=support, window=window, empty=lambda: PooledAverages(LAYOUT), **EAGER
    )
    learner = am.UCRL2(LAYOUT, stationary=True, **EAGER)
    if window is not None:
        learner = am.SlidingWindowUCRL2(LAYOUT, window, stationary=True, **EAGER)
    against(learner, plain, 100)


def steps_alike(k: int, x: int, a: int, following: int) -> list[tuple[int, int, int, int]]:
    """The same move at every step but the last; the first step knows one place only."""
    if k == LAYOUT.n_layers - 1:
        return [(k, x, a, following)]
    return [(j, x, a, following) for j in range(LAYOUT.n_layers - 1) if j > 0 or x == 0]


@pytest.mark.parametrize(
    ("make", "constants", "plain_constants"),
    [
        (am.QLearningH, {"c": 0.01}, {"c": 0.01}),
        (am.QLearningB, {"c1": 0.003, "c2": 0.03}, {"c": 0.003, "c2": 0.03}),
    ],
)
def test_q_learning_agrees_with_the_transcription_that_replays_a_step_everywhere(
    make: Any, constants: dict[str, float], plain_constants: dict[str, float]
) -> None:
    plain = PlainQLearning(*SIZES, 100, alike=steps_alike, **plain_constants)
    learner = make(LAYOUT, 100, stationary=True, **constants)
    against(learner, plain, 100)
    counted = learner.state()["pairs"]
    assert np.array_equal(counted[:2], counted[2:4])  # the first place, in layers 0 and 1
    assert counted[:2].sum() > 100  # more often than there are episodes


def test_pooled_q_values_stay_below_the_optimal_ones_and_come_nearer() -> None:
    """With a quarter of the theory's constant, whose event has probability 0.9 at least."""
    best = optimal_values(MDP, MDP.natural_loss)
    for seed in range(2):
        pooled, alone = (am.QLearningH(LAYOUT, 8000, c=0.25, stationary=s) for s in (True, False))
        for part in range(4):
            for learner in (pooled, alone):
                am.play(MDP, LOSSES, learner, 2000, seed=100 * seed + part)
            values = pooled.lower_values
            assert all((q <= s + 1e-9).all() for q, s in zip(values, best, strict=True))
        assert best[0].min() > pooled.optimistic_loss > 1.2 * alone.optimistic_loss


@pytest.mark.parametrize(
    "make",
    [
        lambda: am.QLearningH(LAYOUT, 200, c=0.01, stationary=True),
        lambda: am.UCBVIBF(LAYOUT, 200, bonus_scale=0.01, stationary=True),
        lambda: am.UCRL2(LAYOUT, stationary=True, **EAGER),
        lambda: am.SlidingWindowUCRL2(LAYOUT, 70, stationary=True, **EAGER),
    ],
)
def test_both_loops_agree_and_a_saved_state_goes_on(make: Any, tmp_path: Path) -> None:
    assert_same_both_ways(MDP, LOSSES, make, 200)
    assert_resumes(MDP, LOSSES, make, 200)
    learner = make()
    am.play(MDP, LOSSES, learner, 50)
    learner.save(tmp_path / "pooled.am")
    again = am.load(tmp_path / "pooled.am")
    assert again.stationary
    assert greatest_difference(again.lower_values, learner.lower_values) == 0.0


def test_a_state_that_does_not_fit_the_pools_is_refused() -> None:
    learner: Any = am.UCRL2(LAYOUT, stationary=True, **EAGER)
    am.play(MDP, LOSSES, learner, 20)
    state = learner.state()
    pools = LAYOUT.counter_row
    assert pools is not None
    elsewhere = int(np.flatnonzero(pools != np.arange(LAYOUT.n_rows))[0])
    moved = {name: array.copy() for name, array in state.items()}
    here, there = LAYOUT.row_start[pools[elsewhere]], LAYOUT.row_start[elsewhere]
    moved["model.pairs"][[pools[elsewhere], elsewhere]] += (-1, 1)
    moved["model.triples"][[here, there]] += (-1, 1)
    with pytest.raises(am.InvalidInput, match="counted elsewhere"):
        learner.restore(moved)
    learner = am.UCBVIBF(LAYOUT, 200, stationary=True)
    am.play(MDP, LOSSES, learner, 20)
    state = learner.state()
    lost = {**state, "seen": state["seen"] + 1}
    with pytest.raises(am.InvalidInput, match="seen does not fit"):
        learner.restore(lost)
    learner = am.QLearningH(LAYOUT, 200, stationary=True)
    most = {**learner.state(), "pairs": np.full(LAYOUT.n_rows, LAYOUT.n_layers)}
    with pytest.raises(am.InvalidInput, match="more visits than episodes"):
        learner.restore(most)
    learner.restore({**most, "clock": np.ones(1, dtype=np.int64)})


@pytest.mark.parametrize(
    ("make", "holds"),
    [
        (lambda layout: am.UCRL2(layout, stationary=True), False),
        (lambda layout: am.UCRL2(layout), True),
        (lambda layout: am.QLearningH(layout, 1000, stationary=True), True),
        (lambda layout: am.UCBVICH(layout, 1000, stationary=True), True),
    ],
)
def test_one_coin_for_all_steps_is_a_single_sample(make: Any, holds: bool) -> None:
    """Losses of an episode that are equal: a bound that is made for independent ones may fail.

    The mean loss is 1/2, so the value is L / 2.  After an episode of ones UCRL2 believes L samples;
    the bonuses of the others are made for values up to L, and have room for it.
    """
    L = 200
    layout = am.time_expand(np.ones((1, 1, 1)), horizon=L, pooled=True).layout
    learner = make(layout)
    learner.update(am.Trajectory([0] * (L + 1), [0] * L, [1.0] * L))
    learner.policy()
    assert (learner.lower_values[0][0, 0] <= 0.5 * L) == holds


def test_without_stationary_the_pools_change_nothing() -> None:
    apart = am.time_expand(PLACES, horizon=5, loss=MEAN)
    runs = [
        am.play(mdp, LOSSES, am.UCBVIBF(mdp.layout, 300, bonus_scale=0.01), 300, seed=3)
        for mdp in (MDP, apart)
    ]
    assert np.array_equal(runs[0].regret, runs[1].regret)


def test_nothing_that_steps_could_share_is_told(caplog: pytest.LogCaptureFixture) -> None:
    apart = am.gym.from_gymnasium("FrozenLake-v1", horizon=3)
    am.UCBVIBF(apart.layout, 10)
    am.UCBVIBF(LAYOUT, 10, stationary=True)
    assert caplog.text == ""
    for make in (am.UCBVICH, am.UCBVIBF, am.QLearningH, am.QLearningB):
        make(apart.layout, 10, stationary=True)
    am.UCRL2(apart.layout, stationary=True)
    assert caplog.text.count("has no effect: no rows of the layout share") == 5
    assert "pooled=True" in caplog.text


def test_frozen_lake_is_learnt_in_its_own_environment() -> None:
    """Mean reward over all 20,000 episodes of 30 steps; the best policy has 0.349, uniform 0.014.

    The preset was chosen on other worlds (random MDPs and a river swim).  With seeds 0-9 the mean
    was between 0.29 and 0.30, so that 0.25 is far beyond chance.
    """
    lake = am.gym.from_gymnasium(gymnasium.make("FrozenLake-v1"), horizon=30, pooled=True)
    learner = am.UCBVIBF(lake.layout, 20_000, stationary=True, **PRACTICAL["ucbvi-bf"])
    losses = am.losses.Stochastic(lake.mdp.natural_loss)
    run = am.play(lake.mdp, losses, learner, 20_000, seed=0)
    earned = lake.rewards.report(run)
    assert earned.expected_reward[-1] / 20_000 > 0.25
    assert earned.best_reward[-1] / 20_000 == pytest.approx(0.349, abs=0.005)
