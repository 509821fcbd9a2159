"""A range that follows the losses: what is learnt, what is not, and what the result says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import advmdp as am
from advmdp.checks.range_policy import LossRange
from advmdp.learners.adaptive.range_follower import RangeFollower
from tests.reference.contract import DENSE, made

ROWS = DENSE.layout.n_rows
TAME = np.random.default_rng(3).random((7, ROWS))
N_EPISODES = 25


def replayed(tables: Any) -> am.losses.LossProcess:
    return am.losses.Replayed(tables, repeat=True, any_losses=True)


def adapted(tables: Any, name: str = "uob-reps", **options: Any) -> tuple[Any, am.Run]:
    learner = made(name, DENSE)
    options = {"seed": 2, "losses_outside": "adapt", **options}
    return learner, am.play(DENSE, replayed(tables), learner, N_EPISODES, **options)


@pytest.mark.parametrize("name", ["uob-reps", "uc-o-reps"])
def test_nothing_outside_nothing_changes(name: str) -> None:
    learner, run = adapted(TAME, name)
    same = made(name, DENSE)
    plain = am.play(DENSE, am.losses.Replayed(TAME, repeat=True), same, N_EPISODES, seed=2)
    assert np.array_equal(run.regret, plain.regret)
    assert np.array_equal(run.realised_loss, plain.realised_loss)
    assert all(np.array_equal(a, same.state()[key]) for key, a in learner.state().items())
    assert run.loss_range == LossRange(0.0, 1.0, 0, 0)
    assert plain.loss_range is None


def test_a_run_in_other_units_is_that_of_the_scaled_losses_after_the_first_episode() -> None:
    """All losses in [3, 4] from the first episode on: it is not learnt from, the range is [0, 4].

    What follows is the run of a new learner with the losses l / 4, one episode later.
    """
    learner, run = adapted(3.0 + TAME)
    assert run.loss_range == LossRange(0.0, 4.0, 2, 1)
    assert "loss_range=[0, 4] after 2 doublings" in repr(run)
    new = made("uob-reps", DENSE)
    follower = RangeFollower(made("uob-reps", DENSE), "losses")
    for t in range(6):
        path = np.random.default_rng(t).integers(2, size=DENSE.layout.n_layers)
        states = [*np.zeros(DENSE.layout.n_layers, dtype=int), 0]
        losses = 3.0 + np.random.default_rng(t).random(DENSE.layout.n_layers)
        follower.update(am.Trajectory(states, path, losses))
        if t > 0:
            new.update(am.Trajectory(states, path, losses / 4.0))
    assert all(map(np.array_equal, follower.policy(), new.policy()))
    assert follower.episodes == new.episodes + 1 == 6
    assert learner.episodes == N_EPISODES - 1


def test_the_account_is_in_the_losses_as_they_are() -> None:
    """The regret is linear: with uniform play it is that of the same losses in [0, 1], times 4."""
    runs = [adapted(tables, "uniform")[1] for tables in (4.0 * TAME - 2.0, TAME)]
    assert np.allclose(runs[0].regret, 4.0 * runs[1].regret, rtol=0, atol=1e-12 * N_EPISODES)


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ((1.5,), (0.0, 2.0, 1)),
        ((-0.1,), (-1.0, 1.0, 1)),
        ((100.0, 3.0), (0.0, 128.0, 7)),
        ((-5.0, 9.0), (-7.0, 9.0, 4)),
        ((9.0, -5.0), (-16.0, 16.0, 5)),
    ],
)
def test_ranges_double_and_are_at_most_four_times_too_wide(seen: Any, expected: Any) -> None:
    layout = am.Layout((1, 1), 1)
    follower = RangeFollower(am.UOBREPS(layout, 10), "losses")
    for loss in seen:
        follower.update(am.Trajectory([0, 0], [0], [loss]))
    now = follower.range
    assert (now.low, now.high, now.doublings) == expected
    needed = max(1.0, *seen) - min(0.0, *seen)
    assert now.high - now.low <= 4.0 * needed
    assert now.doublings <= 2 + np.log2(needed)


def test_a_resumed_run_goes_on_in_its_range() -> None:
    tables = TAME * np.array([1, 1, 1, 5, 1, 1, -40])[:, np.newaxis]
    kept: dict[str, Any] = {}

    def keep(episodes: int, snapshot: Any) -> None:
        if episodes == 5:
            kept.update(snapshot())

    (learner, whole), (_, again) = adapted(tables, keep=keep), adapted(tables, resume=kept)
    assert learner.episodes <= N_EPISODES - 7  # it began again in the seventh at the latest
    assert np.array_equal(whole.regret, again.regret)
    assert whole.loss_range == again.loss_range
    assert whole.loss_range is not None
    assert whole.loss_range.unlearnt >= 2
    follower = RangeFollower(made("uob-reps", DENSE), "losses")
    with pytest.raises(am.InvalidInput, match="does not come from 3 doublings"):
        follower.restore({**follower.state(), "counts": np.array([3, 0, 0])})


def test_what_cannot_follow_a_range_is_refused_before_anything_is_played() -> None:
    mixed = am.Corral(DENSE.layout, [made("uob-reps", DENSE)] * 2, N_EPISODES)
    cases = (
        (made("uob-ftrl-aggregate", DENSE), "sees sums, which hide the range; take 'clip'"),
        (mixed, "Corral holds learners of its own"),
    )
    for learner, message in cases:
        with pytest.raises(am.InvalidInput, match=message):
            am.play(DENSE, replayed(5 * TAME), learner, 5, losses_outside="adapt")
        assert learner.episodes == 0
    follower = RangeFollower(made("uob-reps", DENSE), "losses")
    n = DENSE.layout.n_layers
    for states, losses, message in (
        ([0, 9, *[0] * (n - 1)], [5.0] * n, "state 9 at step 1"),
        ([0] * (n + 1), [5.0, np.nan, *[0.0] * (n - 2)], "loss nan at step 1"),
        ([0] * (n + 1), [5.0, np.inf, *[0.0] * (n - 2)], r"not within 1e\+100 of 0"),
    ):
        with pytest.raises(am.InvalidInput, match=message):
            follower.update(am.Trajectory(states, [0] * n, losses))
    assert follower.range == LossRange(0.0, 1.0, 0, 0)


def test_a_service_follows_and_forgets_what_was_open(tmp_path: Path) -> None:
    layout = am.Layout((1, 2, 1), 2)
    service = am.Service(am.UOBREPS(layout, 10), tmp_path / "s", losses_outside="adapt", every=3)
    plain = am.Service(am.UOBREPS(layout, 10))
    open_then = service.begin()
    service.finish(service.begin(), am.Trajectory([0, 1, 0], [0, 1], [7.0, 0.0]))
    service.finish(open_then, am.Trajectory([0, 1, 0], [0, 1], [1.0, 0.0]))
    assert service.loss_range == LossRange(0.0, 8.0, 3, 2)
    assert service.learner.episodes == 0
    left_open = service.begin()
    service.finish(service.begin(), am.Trajectory([0, 1, 0], [0, 1], [4.0, 2.0]))
    plain.finish(plain.begin(), am.Trajectory([0, 1, 0], [0, 1], [0.5, 0.25]))
    service.finish(service.begin(), am.Trajectory([0, 0, 0], [1, 1], [2.0, 2.0]))
    plain.finish(plain.begin(), am.Trajectory([0, 0, 0], [1, 1], [0.25, 0.25]))
    service.close()
    again = am.Service.load(tmp_path / "s")
    assert (again.losses_outside, again.loss_range) == ("adapt", LossRange(0.0, 8.0, 3, 2))
    assert all(map(np.array_equal, again.learner.policy(), plain.learner.policy()))
    assert "[0, 8] after 3 doublings" in repr(again)
    again.finish(left_open.number, am.Trajectory([0, 1, 0], [0, 1], [-1.0, 0.0]))
    assert again.loss_range == LossRange(-8.0, 8.0, 4, 3)
    again.close()
    last = am.Service.load(tmp_path / "s")
    assert (last.loss_range, last.learner.episodes) == (again.loss_range, 0)
    last.close()


def test_rewards_of_an_environment() -> None:
    env = gymnasium.make("FrozenLake-v1", is_slippery=False)
    game = am.gym.unroll(env, 8, am.Rewards(0, 0.25), starts=[0])
    learner = am.UCBVICH(game.layout, 300, bonus_scale=0.001)
    run = am.gym.play(env, learner, game, 300, rewards_outside="adapt")
    assert run.reward.max() == 1.0
    assert run.reward_range == LossRange(0.0, 1.0, 2, 1)
    assert "reward_range=[0, 1] after 2 doublings" in repr(run)


def test_the_bound_is_in_the_width_of_all_losses_not_of_those_seen() -> None:
    """Uniform play of few episodes that never meets the one loss of a million, and pays nothing."""
    layout = am.Layout(layer_sizes=(1, 1), n_actions=50)
    mdp = am.LayeredMDP(layout, [np.ones((1, 50, 1))])
    table = np.zeros((1, 50))
    table[0, 49] = 1e6
    run = am.play(mdp, replayed(table), am.Uniform(layout), 5, seed=0, losses_outside="adapt")
    assert run.loss_range == LossRange(0.0, 1.0, 0, 0)
    assert run.realised_loss[-1] == 0.0

    def bound(S: float) -> float:  # L = 1, R_T = T, a probability of failure of 1%
        return 8 * S * 5 + 12 * S + 1.6 * S * (2 + np.log2(S) + np.log(100))

    assert bound(1.0) < run.regret[-1] < bound(1e6)
