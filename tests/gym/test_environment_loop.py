"""Environments driven without a table: what the learner is told is what the environment did."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import advmdp as am
from advmdp.gym.numbering import numbering


class Corridor(gymnasium.Env[Any, Any]):
    """Walk on 0..4 from the middle; the ends finish it, the right one pays 3, every step costs 1.

    Observations are pairs (place, whether it is the first step), actions are two switches of which
    the second moves.
    """

    observation_space = spaces.MultiDiscrete([5, 2], start=[-2, 0])
    action_space = spaces.Tuple((spaces.Discrete(2), spaces.Discrete(2, start=-1)))

    def __init__(self, slip: float = 0.0) -> None:
        self.slip = slip
        self.log: list[list[Any]] = []

    def _seen(self) -> Any:
        return np.array([self.place, int(not self.log[-1])])

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.place = 0
        self.log.append([])
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action)
        before = self.place
        self.place += 1 if (action[1] == 0) != (self.np_random.random() < self.slip) else -1
        reward = 3.0 if self.place == 2 else -1.0
        self.log[-1].append((before, action, reward))
        return self._seen(), reward, abs(self.place) == 2, False, {}


class Recording(am.Uniform):
    """Plays uniformly and keeps the trajectories."""

    def __init__(self, layout: am.Layout) -> None:
        super().__init__(layout)
        self.kept: list[am.Trajectory] = []

    def update(self, trajectory: am.Trajectory) -> None:
        super().update(trajectory)  # checks it against the declared support
        self.kept.append(trajectory)


@pytest.mark.parametrize("starts", [None, [(0, 1)]])
def test_the_learner_is_told_what_happened(starts: Any) -> None:
    env, horizon = Corridor(slip=0.2), 5
    game = am.gym.unroll(env, horizon, am.Rewards(-1, 3), starts=starts)
    learner = Recording(game.layout)
    played = am.gym.play(env, learner, game, n_episodes=60, seed=4)
    assert game.opening == (starts is None)
    for t, (log, told) in enumerate(zip(env.log, learner.kept, strict=True)):
        opening = game.opening
        assert len(told.actions) == horizon + opening
        assert played.steps[t] == len(log)
        assert played.reward[t] == sum(reward for _, _, reward in log)
        assert list(told.losses[:opening]) == [0.0] * opening
        rewards = [reward for _, _, reward in log] + [0.0] * (horizon - len(log))
        assert game.rewards.to_rewards(told.losses[opening:]).tolist() == pytest.approx(rewards)
        for step in range(horizon):
            if step == 0 and starts is not None:
                continue
            state = told.states[opening + step]
            place = game.layout.original_state[opening + step][state]
            if step < len(log):
                assert tuple(game.observations.element(place)) == (log[step][0], step == 0)
                assert game.actions.element(told.actions[opening + step]) == log[step][1]
            else:
                assert place == game.finished
    assert {len(log) for log in env.log} >= {2, 4, 5}


def test_a_learner_finds_the_way() -> None:
    env = Corridor(slip=0.1)
    game = am.gym.unroll(env, 5, am.Rewards(-1, 3), starts=[(0, 1)])
    n_episodes = 3000
    learner = am.UOBREPS(game.layout, n_episodes, **am.PRACTICAL["uob-reps"])
    learnt = am.gym.play(env, learner, game, n_episodes).reward[-500:].mean()
    uniform = am.gym.play(env, am.Uniform(game.layout), game, n_episodes).reward.mean()
    # always right: 3 - 1 with probability 0.81, ... about 1.3; uniform: about -0.7
    assert learnt > 0.8
    assert uniform < 0.0


def test_blackjack_without_a_table() -> None:
    def later(hand: Any) -> list[Any]:
        return [(t, hand[1], a) for t in range(4, 22) for a in (0, 1)]

    env = gymnasium.make("Blackjack-v1")
    hands = [(t, card, a) for t in range(4, 22) for card in range(1, 11) for a in (0, 1)]
    game = am.gym.unroll(env, 5, am.Rewards(-1.0, 1.0), starts=hands, successors=later)
    learner = am.UOBREPS(game.layout, n_episodes=200, **am.PRACTICAL["uob-reps"])
    played = am.gym.play(env, learner, game, n_episodes=200, seed=1)
    assert set(played.reward) == {-1.0, 0.0, 1.0}
    assert learner.episodes == 200
    again = am.gym.play(env, am.Uniform(game.layout), game, n_episodes=50, seed=1)
    once_more = am.gym.play(env, am.Uniform(game.layout), game, n_episodes=50, seed=1)
    assert np.array_equal(again.reward, once_more.reward)


def test_a_learner_of_the_table_can_drive_the_environment() -> None:
    env = gymnasium.make("Taxi-v4")
    game = am.gym.from_gymnasium(env, 6)
    learner = Recording(game.layout)
    am.gym.play(env, learner, game, n_episodes=50)
    assert len(learner.kept) == 50


def test_a_truncated_episode_is_over() -> None:
    env = gymnasium.wrappers.TimeLimit(Corridor(), max_episode_steps=1)
    game = am.gym.unroll(env, 3, am.Rewards(-1, 3), starts=[(0, 1)])
    assert am.gym.play(env, am.Uniform(game.layout), game, 5).steps.tolist() == [1] * 5


@pytest.mark.parametrize(
    "space",
    [
        spaces.Discrete(4, start=-1),
        spaces.MultiDiscrete([2, 3], start=[5, -5]),
        spaces.MultiDiscrete(np.array([[2, 3], [1, 2]])),
        spaces.MultiBinary([2, 2]),
        spaces.Tuple((spaces.Discrete(3), spaces.Tuple((spaces.Discrete(2, start=7),)))),
    ],
)
def test_numbering_is_a_bijection(space: Any) -> None:
    count = numbering(space, "space")
    elements = [count.element(i) for i in range(count.size)]
    assert all(space.contains(element) for element in elements)
    assert [count.number(element) for element in elements] == list(range(count.size))
    assert len({str(element) for element in elements}) == count.size
    space.seed(0)
    for _ in range(50):
        assert 0 <= count.number(space.sample()) < count.size


def test_what_is_refused() -> None:
    env = Corridor()
    rewards = am.Rewards(-1, 3)
    game = am.gym.unroll(env, 4, rewards)
    with pytest.raises(am.InvalidInput, match="the learner has another layout"):
        am.gym.play(env, am.Uniform(am.Layout((1, 2, 1), 2)), game, 3)
    spoilt = am.Uniform(game.layout)
    spoilt.feedback = "full"  # type: ignore[misc]
    with pytest.raises(am.InvalidInput, match="choose a learner with bandit feedback"):
        am.gym.play(env, spoilt, game, 3)
    with pytest.raises(am.InvalidInput, match="must contain 0, the reward after the end"):
        am.gym.unroll(env, 4, am.Rewards(1, 3))
    with pytest.raises(am.InvalidInput, match="starts: name at least one"):
        am.gym.unroll(env, 4, rewards, starts=[])
    short = am.gym.unroll(env, 4, am.Rewards(-1, 1), starts=[(0, 1)])
    with pytest.raises(am.InvalidInput, match=r"rewards: 3.0 is outside \[-1, 1\]"):
        am.gym.play(env, am.Uniform(short.layout), short, 50)
    narrow = am.gym.unroll(env, 4, rewards, starts=[(1, 1)])
    with pytest.raises(am.InvalidInput, match=r"\[0 1\] at step 0 is not among the declared"):
        am.gym.play(env, am.Uniform(narrow.layout), narrow, 1)
    still = am.gym.unroll(env, 4, rewards, starts=[(0, 1)], successors=lambda seen: [seen])
    learner = Recording(still.layout)
    with pytest.raises(am.InvalidInput, match="at step 1 is not among the declared"):
        am.gym.play(env, learner, still, 1)
    assert not learner.kept
    made_for_two = am.UOBREPS(game.layout, n_episodes=2)
    with pytest.raises(am.InvalidInput, match="3 episodes, but the learner was made for n_epi"):
        am.gym.play(env, made_for_two, game, 3)
    for strange in ((3, 0), (0, 2), "a", (0, 0, 0), 0):
        with pytest.raises(am.InvalidInput, match=r"env: .* is not in the observation_space Multi"):
            game.place(strange)


@pytest.mark.parametrize("strange", [-1, 16, 17, "a", "3", 2.5, None])
def test_observations_outside_the_space_are_refused(strange: Any) -> None:
    lake, rewards = gymnasium.make("FrozenLake-v1"), am.Rewards(0, 1)
    outside = rf"{strange!r} is not in the observation_space Discrete\(16\)"
    with pytest.raises(am.InvalidInput, match=f"^starts: {outside}$"):
        am.gym.unroll(lake, 4, rewards, starts=[0, strange])
    with pytest.raises(am.InvalidInput, match=rf"^successors\(0\): {outside}$"):
        am.gym.unroll(lake, 4, rewards, successors=lambda seen: [seen, strange])
