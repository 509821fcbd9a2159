"""Unrolled tables against value iteration on the environment's own table, and against its steps."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import advmdp as am
from advmdp.evaluation.comparator import best_fixed_policy

ENVIRONMENTS: dict[str, tuple[str, dict[str, Any], int]] = {
    "lake": ("FrozenLake-v1", {}, 25),
    "large lake": ("FrozenLake-v1", {"map_name": "8x8"}, 12),
    "lake without slips": ("FrozenLake-v1", {"is_slippery": False}, 6),
    "cliff": ("CliffWalking-v1", {}, 14),
    "slippery cliff": ("CliffWalking-v1", {"is_slippery": True}, 9),
    "taxi": ("Taxi-v4", {}, 14),
    "taxi in the rain": ("Taxi-v4", {"is_rainy": True}, 10),
}


def made(name: str) -> tuple[Any, int]:
    identifier, options, horizon = ENVIRONMENTS[name]
    return gymnasium.make(identifier, **options), horizon


def best_reward(env: Any, horizon: int) -> float:
    """Value iteration on ``P`` as it is: a terminated transition has no future."""
    table = env.unwrapped.P
    value = dict.fromkeys(table, 0.0)
    for _ in range(horizon):
        value = {
            s: max(
                sum(p * (r + (0.0 if done else value[after])) for p, after, r, done in outcomes)
                for outcomes in table[s].values()
            )
            for s in table
        }
    start = env.unwrapped.initial_state_distrib
    return float(sum(start[s] * value[s] for s in table))


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_best_reward_is_that_of_value_iteration(name: str) -> None:
    env, horizon = made(name)
    game = am.gym.from_gymnasium(env, horizon)
    assert game.mdp.natural_loss is not None
    best = best_fixed_policy(game.mdp, game.mdp.natural_loss)
    reward = game.rewards.total(best.loss, horizon)
    assert reward == pytest.approx(best_reward(env, horizon), abs=1e-9)
    assert game.opening == (1 if "taxi" in name else 0)
    assert game.layout.n_layers == horizon + game.opening


def test_the_shape_of_taxi() -> None:
    game = am.gym.from_gymnasium(gymnasium.make("Taxi-v4"), horizon=3)
    assert game.layout.layer_sizes[:2] == (1, 300)  # 300 first states, all alike
    assert np.allclose(game.mdp.flat[:300], 1 / 300, rtol=0, atol=1e-15)
    assert game.rewards == am.Rewards(-10.0, 20.0)
    assert game.layout.row_sizes()[game.layout.layer_rows(1)].max() <= 6  # a sparse support
    told = am.gym.from_gymnasium(gymnasium.make("Taxi-v4"), horizon=3, per_action=True)
    assert (
        told.layout.row_sizes()[told.layout.n_actions :].max() == 1
    )  # no chance, nothing to learn


@pytest.mark.parametrize("name", ["lake", "slippery cliff"])
def test_the_environment_steps_as_the_unrolled_table_says(name: str) -> None:
    """Uniform actions; every row's frequencies are within five standard errors of its chances.

    For the hundred rows or so that are seen often, a false alarm has probability below 1e-3.
    """
    env, horizon = made(name)[0], 4
    game = am.gym.from_gymnasium(env, horizon)
    layout = game.layout
    visits, seen = np.zeros(layout.n_rows), np.zeros(layout.n_entries)
    loss = np.zeros(layout.n_rows)

    class Counting(am.Uniform):
        def update(self, trajectory: am.Trajectory) -> None:
            states = np.asarray(trajectory.states) + layout.layer_start[:-1]
            for k, action in enumerate(trajectory.actions):
                row = int(states[k]) * layout.n_actions + int(action)
                begin, end = layout.row_start[row : row + 2]
                visits[row] += 1
                seen[begin + list(layout.successor[begin:end]).index(states[k + 1])] += 1
                loss[row] += trajectory.losses[k]

    am.gym.play(env, Counting(layout), game, n_episodes=4000, seed=3)
    row = layout.entry_rows()
    often = visits >= 100
    assert often.sum() > 20
    chance, n = np.array(game.mdp.flat), np.maximum(visits, 1.0)[row]
    assert not seen[chance == 0.0].any()
    error = np.abs(seen / n - chance) - 5.0 * np.sqrt(chance * (1 - chance) / n) - 1e-12
    assert (error[often[row]] <= 0.0).all()
    mean = (
        loss[often] / visits[often]
        - np.concatenate([table.ravel() for table in game.mdp.natural_loss or []])[often]
    )
    assert (np.abs(mean) <= 2.5 / np.sqrt(visits[often]) + 1e-12).all()


def test_what_has_no_table_is_refused() -> None:
    with pytest.raises(am.InvalidInput, match=r"BlackjackEnv has no transition table.*gym\.play"):
        am.gym.from_gymnasium(gymnasium.make("Blackjack-v1"), horizon=3)
    with pytest.raises(am.InvalidInput, match="fickle passengers"):
        am.gym.from_gymnasium(gymnasium.make("Taxi-v4", fickle_passenger=True), horizon=3)


def test_ranges_and_starts() -> None:
    cliff = gymnasium.make("CliffWalking-v1")
    assert am.gym.from_gymnasium(cliff, 3).rewards == am.Rewards(-100.0, 0.0)
    wide = am.Rewards(-200.0, 50.0)
    game = am.gym.from_gymnasium(cliff, 14, rewards=wide)
    best = best_fixed_policy(game.mdp, game.mdp.natural_loss)
    assert wide.total(best.loss, 14) == pytest.approx(-13.0)  # the short way along the cliff
    with pytest.raises(am.InvalidInput, match=r"the table has rewards from -100\.0 to 0\.0"):
        am.gym.from_gymnasium(cliff, 3, rewards=am.Rewards(-50.0, 0.0))
    near = am.gym.from_gymnasium(cliff, 3, start=35)  # one step above the goal
    assert near.start == 35
    best = best_fixed_policy(near.mdp, near.mdp.natural_loss)
    assert near.rewards.total(best.loss, 3) == pytest.approx(-1.0)
    with pytest.raises(am.InvalidInput, match="one probability for each of 48 observations"):
        am.gym.from_gymnasium(cliff, 3, start=[0.5, 0.5])
    for outside in (-1, 48):
        with pytest.raises(am.InvalidInput, match=rf"start: {outside} is not in the .*\(48\)"):
            am.gym.from_gymnasium(cliff, 3, start=outside)
    del cliff.unwrapped.initial_state_distrib
    with pytest.raises(am.InvalidInput, match="does not tell where it starts"):
        am.gym.from_gymnasium(cliff, 3)
