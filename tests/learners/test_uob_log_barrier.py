"""UOB-Log-Barrier: a literal copy with a conic solver, the bandit, take-back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.kernels.learners import interface
from advmdp.kernels.learners.mirror.mirror_descent import begin_update
from tests.reference.contract import knowing
from tests.reference.plain_log_barrier import PlainUOBLogBarrier
from tests.reference.plain_uob_reps import random_episodes
from tests.reference.tables import greatest_difference

SIZES, ACTIONS, T = (1, 2, 3, 1), 2, 60
MDP = am.families.random_mdp(SIZES, ACTIONS, seed=6)
LAYOUT, P = MDP.layout, [np.array(table) for table in MDP.transitions]


def learner(limit_scale: float = 1.0) -> am.UOBLogBarrier:
    chosen = {"eta": 0.4, "log_scale": 0.03, "growth_scale": 8.0, "limit_scale": limit_scale}
    return am.UOBLogBarrier(LAYOUT, T, **chosen)


@pytest.mark.parametrize("limit_scale", [1.0, 0.6])
def test_every_episode_is_that_of_a_literal_copy(limit_scale: float) -> None:
    ours = learner(limit_scale)
    growth = float(np.exp(8.0 / (7.0 * np.log(T))))
    log_term = 0.03 * float(np.log(T * sum(SIZES) * ACTIONS / 0.1))
    plain = PlainUOBLogBarrier(SIZES, ACTIONS, 0.4, growth, log_term, 2.0 * limit_scale)
    for episode in random_episodes(3, P, T):
        assert greatest_difference(ours.policy(), plain.policy) <= 1e-4
        plain.occupancy = ours.occupancy()  # errors of the conic solver do not add up
        bounds = plain.update(episode)
        ours.update(am.Trajectory(episode.states, episode.actions, episode.losses))
        assert np.allclose(ours.upper_occupancy_of_last, bounds, rtol=1e-9)
        assert ours.epoch == plain.counters.epoch
        rates = 1.0 / ours.kernel_state.step.rates.barrier
        expected = np.concatenate([rate.ravel() for rate in plain.rate])
        assert np.allclose(rates, expected, rtol=1e-9)
    assert rates.max() > 0.5  # some have grown
    assert ours.epoch > 10
    assert greatest_difference(ours.policy(), [0 * p + 0.5 for p in plain.policy]) > 0.1


def test_a_rate_waits_for_its_pair_to_become_rarer() -> None:
    with pytest.raises(am.InvalidInput, match=r"limit_scale: 0\.5 is not above 1/2"):
        learner(0.5)


def test_one_state_is_a_bandit_with_a_log_barrier() -> None:
    """1 / q_{t+1} = 1 / q_t + eta l^ - a constant."""
    layout, rng = am.Layout((1, 1), 3), np.random.default_rng(2)
    bandit = am.UOBLogBarrier(layout, 100, eta=0.3, growth_scale=0.0)
    for _ in range(100):
        before = bandit.policy()[0][0]
        action, loss = int(rng.integers(3)), float(rng.random())
        bandit.update(am.Trajectory([0, 0], [action], [loss]))
        moved = 1.0 / bandit.policy()[0][0] - 1.0 / before
        moved[action] -= 0.3 * loss / before[action]
        assert np.ptp(moved) <= 1e-7 * (1.0 / before).max()


def test_invariants_hold_in_every_episode() -> None:
    losses = am.losses.Stochastic(np.random.default_rng(0).random(LAYOUT.n_rows))
    am.play(MDP, losses, learner(), T, check=True)


def test_known_rows_stay_known() -> None:
    mdp = knowing(MDP, 0.5)
    ours = am.UOBLogBarrier(mdp.layout, T, eta=0.4, log_scale=0.03)
    losses = am.losses.Stochastic(np.random.default_rng(0).random(LAYOUT.n_rows))
    am.play(mdp, losses, ours, T)
    known = mdp.layout.known
    assert known is not None
    chance = ours.kernel_state.step.measure.chance
    rows = np.repeat(known[0], mdp.layout.row_sizes())
    assert np.array_equal(chance[rows], known[1][rows])


def test_an_episode_that_fails_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, twin = learner(), learner()

    def begin_only(graph: Any, state: Any, *episode: Any) -> bool:
        begin_update(graph, state, *episode)
        return False

    def snapshot(each: am.UOBLogBarrier) -> dict[str, bytes]:
        kept = {name: array.tobytes() for name, array in each.state().items() if "step" in name}
        return {name: kept[name] for name in kept if "certificate" not in name}

    for i, e in enumerate(random_episodes(6, P, 30)):
        trajectory = am.Trajectory(e.states, e.actions, e.losses)
        before = snapshot(ours)
        with monkeypatch.context() as patch:
            patch.setattr(ours, "_update_program", begin_only)
            patch.setattr(interface, "finish_safely", lambda *arguments: False)
            with pytest.raises(am.UncertifiedStep, match=f"episode {i + 1}: no certified"):
                ours.update(trajectory)
        assert snapshot(ours) == before
        ours.update(trajectory)
        twin.update(trajectory)
    assert snapshot(ours) == snapshot(twin)


@pytest.mark.parametrize(
    ("sizes", "seed", "horizon", "played", "scales"),
    [
        ((1, 3, 3, 1), 17, 500, 60, {"eta_scale": 30.0, "log_scale": 0.01}),
        ((1, 5, 5, 5, 5, 1), 50, 25_000, 4_600, {}),
    ],
)
def test_bounds_that_come_and_go_stop_no_step(
    sizes: tuple[int, ...], seed: int, horizon: int, played: int, scales: dict[str, float]
) -> None:
    """Here full Newton steps go to and fro between two sets of active bounds for ever."""
    n_actions = len(sizes) // 2
    mdp = am.families.random_mdp(sizes, n_actions, seed=seed)
    losses = am.losses.Stochastic(one_good_action(seed, mdp.layout.n_rows, n_actions))
    ours = am.UOBLogBarrier(mdp.layout, horizon, **scales)
    run = am.play(mdp, losses, ours, played, seed=seed)
    assert run.solver.worst_gap <= 1e-10


def one_good_action(seed: int, n_rows: int, n_actions: int) -> np.ndarray:
    """Means of 0.1 for one action of every state and of 0.5 for the others."""
    rng, mean = np.random.default_rng([seed, 1]), np.full(n_rows, 0.5)
    rng.random((2, n_rows))
    best = rng.integers(n_actions, size=n_rows // n_actions)
    mean[np.arange(len(best)) * n_actions + best] -= 0.4
    return mean
