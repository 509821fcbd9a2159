"""Counts shared over time steps: against a slow copy that writes every visit into all members."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import advmdp as am
from tests.reference.contract import assert_same_state, flat
from tests.reference.instances import box_from_counts
from tests.reference.plain_uob_reps import Counters, Episode, PlainUOBREPS, random_episodes

N_EPISODES = 30


def places(seed: int, n_places: int = 2, n_actions: int = 2) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(n_places), (n_places, n_actions))


class PooledCounters(Counters):
    """Every visit is written into all rows of the pool."""

    def __init__(self, layout: am.Layout) -> None:
        super().__init__(layout.layer_sizes, layout.n_actions)
        assert layout.counter_row is not None
        self.pools = layout.pairs(layout.counter_row.astype(np.float64))

    def record(self, episode: Episode) -> bool:
        doubled = False
        for k, (x, a) in enumerate(zip(episode.states, episode.actions, strict=False)):
            for j, pools in enumerate(self.pools):
                for y, b in np.argwhere(pools == self.pools[k][x, a]):
                    self.visits[j][y, b] += 1
                    self.transitions[j][y, b, episode.states[k + 1]] += 1
            doubled |= bool(self.visits[k][x, a] >= max(1, 2 * self.frozen_visits[k][x, a]))
        if doubled:
            self.epoch += 1
            self._freeze()
        return doubled


@pytest.mark.parametrize(("start", "log_scale"), [(0, 0.001), ([0.3, 0.7], 0.01)])
def test_every_step_agrees_with_the_slow_copy(start: Any, log_scale: float) -> None:
    mdp = am.time_expand(places(3), horizon=4, start=start, pooled=True)
    layout = mdp.layout
    settings = {"delta": 0.1, "eta": 0.3, "gamma": 0.1, "log_scale": log_scale}
    plain = PlainUOBREPS(layout.layer_sizes, 2, n_episodes=N_EPISODES, **settings)
    plain.counters = PooledCounters(layout)
    plain.occupancy = am.UOBREPS(layout, N_EPISODES).occupancy()
    fast = am.UOBREPS(layout, N_EPISODES, **settings)
    for episode in random_episodes(5, mdp.transitions, N_EPISODES):
        plain.update(episode)
        fast.update(am.Trajectory(episode.states, episode.actions, episode.losses))
        assert fast.epoch == plain.epoch
        assert np.array_equal(flat(fast.visits), flat(plain.counters.visits))
        assert np.array_equal(flat(fast.transitions_seen), flat(plain.counters.transitions))
        box = fast.confidence_set()
        for ours, theirs in zip((box.lower, box.upper), plain.bounds(), strict=True):
            assert np.allclose(flat(ours), flat(theirs), rtol=0, atol=1e-14)
        assert np.allclose(
            fast.upper_occupancy_of_last, plain.upper_occupancy_of_last, rtol=0, atol=1e-9
        )
        assert np.allclose(flat(fast.policy()), flat(plain.policy), rtol=0, atol=1e-8)


def test_pools_survive_pruning() -> None:
    """River swim: early layers lack the far places, the rest of the rows correspond."""
    step = am.families.river_swim(5, 6).transitions[4]  # all five places can be left from here on
    mdp = am.time_expand(step, horizon=6, pooled=True)
    learner = am.UOBREPS(mdp.layout, 300)
    by_place: dict[tuple[int, int, int], int] = {}
    for episode in random_episodes(1, mdp.transitions, 300):
        learner.update(am.Trajectory(episode.states, episode.actions, episode.losses))
        named = [0, *(int(mdp.layout.original_state[k][episode.states[k]]) for k in range(1, 6))]
        for k in range(5):
            key = (named[k], episode.actions[k], named[k + 1])
            by_place[key] = by_place.get(key, 0) + 1
    for k in range(5):
        for x, name in enumerate([0] if k == 0 else mdp.layout.original_state[k]):
            for a in range(2):
                seen = learner.transitions_seen[k][x, a]
                after = mdp.layout.original_state[k + 1]
                assert seen.tolist() == [by_place.get((name, a, y), 0) for y in after]
                assert learner.visits[k][x, a] == seen.sum()


def test_the_l1_sets_are_pooled_too() -> None:
    mdp = am.time_expand(places(1), horizon=4, pooled=True)
    learner = am.UOBREPSL1(mdp.layout, 200, log_scale=0.05)
    for episode in random_episodes(2, mdp.transitions, 200):
        learner.update(am.Trajectory(episode.states, episode.actions, episode.losses))
    centre = mdp.layout.triples(learner.confidence_set().known_transition())
    assert np.array_equal(centre[1], centre[2])
    assert not np.array_equal(centre[1][0, 0], [0.5, 0.5])
    assert np.array_equal(centre[0][0], centre[1][0])


@pytest.mark.parametrize("name", ["uob-reps", "uob-reps-l1", "uc-o-reps", "fpop"])
def test_compiled_and_protocol_loop_agree_to_the_last_bit(name: str) -> None:
    mdp = am.time_expand(places(4, 4, 3), horizon=5, start=[0.25] * 4, pooled=True)
    losses = am.losses.Stochastic(np.random.default_rng(0).random(mdp.layout.n_rows))
    learners = [am.LEARNERS[name].make(mdp.layout, 300, log_scale=0.01) for _ in range(2)]
    runs = [
        am.play(mdp, losses, learner, 300, seed=5, compiled=compiled)
        for learner, compiled in zip(learners, (True, False), strict=True)
    ]
    assert np.array_equal(runs[0].regret, runs[1].regret)
    assert_same_state(*learners)


def test_the_invariants_hold() -> None:
    mdp = am.time_expand(places(6, 3), horizon=4, pooled=True)
    losses = am.losses.Stochastic(np.random.default_rng(0).random(mdp.layout.n_rows))
    am.play(mdp, losses, am.UOBREPS(mdp.layout, 200, log_scale=0.01), 200, check=True)


def covered(log_scale: float, seed: int) -> bool:
    """Whether P was in the pooled set of every epoch."""
    mdp = am.time_expand(places(seed, 3), horizon=5, pooled=True)
    learner = am.UOBREPS(mdp.layout, 300, delta=0.1, log_scale=log_scale)
    truth = np.array(mdp.flat)
    for episode in random_episodes(seed, mdp.transitions, 300):
        before = learner.epoch
        learner.update(am.Trajectory(episode.states, episode.actions, episode.losses))
        if learner.epoch > before:
            rows = learner.confidence_set().rows
            if (truth < rows.lower - 1e-12).any() or (truth > rows.upper + 1e-12).any():
                return False
    return True


def test_coverage_with_the_printed_constants() -> None:
    # As in test_coverage.py: far more cautious than 1 - 4 delta, so all runs are covered.
    assert all(covered(1.0, seed) for seed in range(12))


def test_coverage_breaks_when_the_log_term_is_shrunk() -> None:
    assert sum(covered(0.001, seed) for seed in range(6)) <= 1


def test_pooling_narrows_the_sets_and_lowers_the_regret() -> None:
    """Paired runs on one world; the same seeds, so the outcome is fixed."""
    step, n_episodes = places(8, 6, 2), 4000
    regret, width = [], []
    for pooled in (False, True):
        mdp = am.time_expand(step, 8, pooled=pooled)
        loss = np.random.default_rng(2).random((6, 2))
        mean = np.concatenate([loss[[0]].ravel(), np.tile(loss.ravel(), 7)])
        learner = am.UOBREPS(mdp.layout, n_episodes, log_scale=0.1)
        run = am.play(mdp, am.losses.Stochastic(mean), learner, n_episodes, seed=1)
        regret.append(float(run.regret[-1]))
        width.append(learner.mean_width)
    assert width[1] < 0.6 * width[0]
    assert regret[1] < 0.97 * regret[0]


def test_learners_that_do_not_pool_take_no_notice() -> None:
    alone, shared = (am.time_expand(places(2), 4, pooled=pooled) for pooled in (False, True))
    assert alone.layout == shared.layout
    losses = am.losses.Stochastic(np.full(alone.layout.n_rows, 0.5))
    runs = [am.play(mdp, losses, am.UCBVICH(mdp.layout, 50), 50) for mdp in (alone, shared)]
    assert np.array_equal(runs[0].expected_loss, runs[1].expected_loss)


def test_a_layout_may_share_any_rows() -> None:
    layout = am.Layout((1, 2, 2, 1), 1, shared_rows=[[[-1]], [[7], [7]], [[-1], [-1]]])
    assert layout.counter_row is not None
    assert layout.counter_row.tolist() == [0, 1, 1, 3, 4]
    learner = am.UOBREPS(layout, 10)
    learner.update(am.Trajectory([0, 0, 1, 0], [0, 0, 0], [0.0, 0.0, 0.0]))
    assert learner.visits[1].tolist() == [[1.0], [1.0]]
    assert learner.transitions_seen[1].tolist() == [[[0.0, 1.0]], [[0.0, 1.0]]]


@pytest.mark.parametrize(
    ("shared", "message"),
    [
        ([[[0]]], "give 3 arrays, one for each layer"),
        ([[[0]], [[0]], [[0], [0]]], r"layer 1 must hold whole numbers of shape \(2, 1\)"),
        ([[[0.5]], [[0], [0]], [[0], [0]]], "layer 0: give an array of whole numbers"),
        ([[[-1]], [[5], [6]], [[5], [6]]], "pool 5 has rows with 2 and 1 successors"),
    ],
)
def test_what_cannot_be_shared_is_refused(shared: Any, message: str) -> None:
    with pytest.raises(am.InvalidInput, match=message):
        am.Layout((1, 2, 2, 1), 1, shared_rows=shared)


def test_counts_that_would_overflow_are_refused() -> None:
    mdp = am.time_expand(places(0), horizon=4, pooled=True)
    with pytest.raises(am.InvalidInput, match="too many to count in shared rows"):
        am.UOBREPS(mdp.layout, n_episodes=2**29)
    with pytest.raises(am.InvalidInput, match="the transition changes over time"):
        am.time_expand(np.stack([places(0), places(1)]), horizon=3, pooled=True)


def test_bounds_are_the_formula_on_pooled_counts() -> None:
    mdp = am.time_expand(places(9, 3), horizon=5, pooled=True)
    learner = am.UOBREPS(mdp.layout, 500, log_scale=0.02)
    for episode in random_episodes(4, mdp.transitions, 500):
        before = learner.epoch
        learner.update(am.Trajectory(episode.states, episode.actions, episode.losses))
        if learner.epoch > before:  # live counts are those of the set
            box = learner.confidence_set()
            lower, upper = box_from_counts(
                learner.visits, learner.transitions_seen, learner.log_term
            )
            assert np.allclose(flat(box.lower), flat(lower), rtol=0, atol=1e-14)
            assert np.allclose(flat(box.upper), flat(upper), rtol=0, atol=1e-14)
