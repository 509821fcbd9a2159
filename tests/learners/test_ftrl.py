"""Follow the regularised leader: literal copies, known twins, bounds, take-back."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import advmdp as am
from advmdp.kernels.learners import interface
from advmdp.kernels.learners.mirror.mirror_descent import begin_update
from tests.reference.contract import DENSE, WORLDS, follow, knowing
from tests.reference.plain_ftrl import PlainFTRL
from tests.reference.plain_uob_reps import random_episodes
from tests.reference.tables import Table, greatest_difference, pair_sums

SIZES, ACTIONS, T = (1, 3, 2, 1), 2, 120
MDP = am.families.random_mdp(SIZES, ACTIONS, seed=4)
LAYOUT, P = MDP.layout, [np.array(table) for table in MDP.transitions]
LOG_TERM = 0.02 * (np.log(T * sum(SIZES) * ACTIONS) + 3 * np.log(T))
UNKNOWN = {"log_scale": 0.02}

PAIRS: dict[str, tuple[Callable[[], Any], Callable[[], PlainFTRL]]] = {
    "tsallis": (
        lambda: am.TsallisFTRL(LAYOUT, P, T, log_barrier=0.3, eta_scale=2.0),
        lambda: PlainFTRL(SIZES, ACTIONS, P, rate=0.5, barrier=0.3),
    ),
    "theory": (
        lambda: am.TsallisFTRL(LAYOUT, P, T),
        lambda: PlainFTRL(SIZES, ACTIONS, P, rate=1.0, barrier=128.0 * 27),
    ),
    "log barrier": (
        lambda: am.LogBarrierFTRL(LAYOUT, P, T, log_barrier=0.5, adapt_scale=3.0),
        lambda: PlainFTRL(SIZES, ACTIONS, P, rate=0.0, barrier=0.5, adapt=1.5 / float(np.log(T))),
    ),
    "predictions": (
        lambda: am.LogBarrierFTRL(LAYOUT, P, T, prediction_rate=0.3),
        lambda: PlainFTRL(
            SIZES, ACTIONS, P, rate=0.0, barrier=6.0, adapt=0.5 / float(np.log(T)), learn=0.3
        ),
    ),
    "bonus": (
        lambda: am.UOBFTRL(LAYOUT, T, log_barrier=0.3, **UNKNOWN),  # type: ignore[arg-type]
        lambda: PlainFTRL(
            SIZES, ACTIONS, None, rate=1.0, barrier=0.3, bonus=3.0, log_term=float(LOG_TERM)
        ),
    ),
    "optimistic": (
        lambda: am.OptimisticFTRL(
            LAYOUT, T, log_barrier=0.3, root_scale=0.7, adapt_scale=5.0, **UNKNOWN
        ),
        lambda: PlainFTRL(
            *(SIZES, ACTIONS, None),
            rate=0.7,
            barrier=0.3,
            adapt=2.5 * 0.02 / float(LOG_TERM),
            log_term=float(LOG_TERM),
            optimistic=True,
        ),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_every_episode_is_that_of_a_literal_copy(name: str) -> None:
    ours, plain = (make() for make in PAIRS[name])
    moved = 0.0
    for episode in random_episodes(5, P, T):
        assert greatest_difference(ours.policy(), plain.policy) <= 1e-7
        bounds = plain.upper_occupancy(episode)
        ours.update(am.Trajectory(episode.states, episode.actions, episode.losses))
        plain.update(episode)
        assert np.allclose(ours.upper_occupancy_of_last, bounds, rtol=1e-6)
        assert ours.epoch == plain.counters.epoch
        moved = max(moved, greatest_difference(ours.policy(), [0 * p + 0.5 for p in plain.policy]))
    assert moved > (0.001 if name == "theory" else 0.1)
    assert ours.epoch > 5 or plain.transitions is not None


# ---------------------------------------------------------------------- closed forms and twins


def test_one_state_is_tsallis_inf() -> None:
    layout, rng = am.Layout((1, 1), 3), np.random.default_rng(3)
    learner = am.TsallisFTRL(layout, [np.ones((1, 3, 1))], 200, log_barrier=0.0)
    total = np.zeros(3)
    for t in range(1, 200):
        policy = learner.policy()[0][0]

        def excess(v: float, t: int = t) -> float:
            return float((t / (4.0 * (total - v) ** 2)).sum() - 1.0)

        v = brentq(excess, total.min() - 3.0 * np.sqrt(t), total.min() - 1e-12, xtol=1e-14)
        assert np.allclose(policy, t / (4.0 * (total - v) ** 2), rtol=0, atol=1e-8)
        action, loss = int(rng.choice(3, p=policy / policy.sum())), float(rng.random())
        learner.update(am.Trajectory([0, 0], [action], [loss]))
        total[action] += loss / policy[action]


def test_one_state_is_a_log_barrier_bandit() -> None:
    """b_t(a) / q_t(a) = estimated losses so far - a constant; b grows by c q^2 (Q - V)^2 / b."""
    layout, rng, n = am.Layout((1, 1), 3), np.random.default_rng(4), 200
    learner = am.LogBarrierFTRL(
        layout, [np.ones((1, 3, 1))], n, log_barrier=0.5, adapt_scale=3.0, barrier_scale=2.0
    )
    total, barrier = np.zeros(3), np.ones(3)
    for _ in range(n):
        policy = learner.policy()[0][0]
        assert np.ptp(barrier / policy - total) <= 1e-7 * (barrier / policy).max()
        action, loss = int(rng.choice(3, p=policy / policy.sum())), float(rng.random())
        learner.update(am.Trajectory([0, 0], [action], [loss]))
        estimate = np.zeros(3)
        estimate[action] = loss / policy[action]
        total += estimate
        excess = estimate - policy @ estimate
        barrier += 3.0 / (2.0 * np.log(n)) * (policy * excess) ** 2 / barrier
    assert barrier.min() > 1.1


def test_tsallis_ftrl_plays_alike_for_every_horizon() -> None:
    """So the first episodes of a long run are a whole short one; c of the log barrier has ln T."""
    losses = am.losses.Stochastic(np.random.default_rng(1).random(LAYOUT.n_rows))
    for preset in ({}, am.PRACTICAL["tsallis-ftrl"]):
        short, long = (
            am.play(MDP, losses, am.TsallisFTRL(LAYOUT, P, n, **preset), n, 3, checkpoints=[50, T])
            for n in (T, 40 * T)
        )
        assert np.array_equal(short.regret, long.regret[:2])
    tuned = [
        am.LogBarrierFTRL(LAYOUT, P, n, **am.PRACTICAL["log-barrier-ftrl"]) for n in (T, 40 * T)
    ]
    ends = [am.play(MDP, losses, each, T, 3).regret[-1] for each in tuned]
    assert ends[0] != ends[1]


@pytest.mark.parametrize("world", ["dense", "scattered support", "one layer"])
def test_with_every_row_known_the_unknown_learner_is_the_known_one(world: str) -> None:
    mdp = knowing(WORLDS[world], 2.0)
    known = am.TsallisFTRL(mdp.layout, mdp.transitions, 60, log_barrier=0.5)
    unknown = am.UOBFTRL(mdp.layout, 60, log_barrier=0.5)
    optimistic = am.OptimisticFTRL(mdp.layout, 60, log_barrier=0.5, root_scale=1.0, adapt_scale=0.0)
    policies = [follow(learner, mdp, 0, 60) for learner in (known, unknown, optimistic)]
    assert np.allclose(policies[1], policies[0], rtol=0, atol=1e-9)
    assert np.allclose(policies[2], policies[0], rtol=0, atol=1e-9)


def least_occupancy(lower: Table, policy: Table) -> Table:
    """q(x, a) of the lower bounds, the rest ending the episode."""
    reach, found = np.ones(1), []
    for chance, choice in zip(lower, policy, strict=True):
        found.append(reach[:, None] * choice)
        reach = np.einsum("xa,xay->y", found[-1], chance)
    return found


@pytest.mark.parametrize("optimistic", [True, False])
def test_the_iterate_is_below_the_upper_bounds(optimistic: bool) -> None:
    make = am.OptimisticFTRL if optimistic else am.UOBFTRL
    learner = make(LAYOUT, T, log_barrier=0.3, log_scale=0.05)
    partial = 0
    for episode in random_episodes(9, P, T):
        policy, box = learner.policy(), learner.confidence_set()
        assert isinstance(box, am.BoxSet)
        upper, least = am.upper_occupancy(policy, box), least_occupancy(box.lower, policy)
        mass = learner.kernel_state.step.measure.mass[:-1].repeat(ACTIONS)
        q = LAYOUT.pairs(mass * np.concatenate([p.ravel() for p in policy]))
        for low, own, high in zip(least, q, upper, strict=True):
            assert (low <= own + 1e-12).all()
            assert (own <= high + 1e-12).all()
        layers = [layer.sum() for layer in q]
        assert all(after <= before + 1e-12 for before, after in pairwise(layers))
        partial += layers[-1] < 0.99
        if not optimistic:
            assert greatest_difference(pair_sums(learner.occupancy()), q) <= 1e-12
        learner.update(am.Trajectory(episode.states, episode.actions, episode.losses))
    assert (partial > 10) == optimistic


def test_invariants_are_verified_where_whole_episodes_are_played() -> None:
    losses = am.losses.Stochastic(np.random.default_rng(0).random(LAYOUT.n_rows))
    am.play(MDP, losses, am.UOBFTRL(LAYOUT, 60, log_barrier=0.2, log_scale=0.05), 60, check=True)
    with pytest.raises(am.InvalidInput, match="check=True"):
        am.play(MDP, losses, am.OptimisticFTRL(LAYOUT, 60), 60, check=True)


# ---------------------------------------------------------------------- rare paths


def snapshot(learner: Any) -> dict[str, bytes]:
    kept = {name: array.copy() for name, array in learner.state().items()}
    kept["visits.clock"][[2, 3, 5]] = 0  # notes of the last episode
    kept["visits.changed"][int(kept["visits.clock"][1]) :] = 0  # beyond the list: history
    kept["visits.starts"][int(kept["visits.clock"][0]) :] = 0
    for name in ("visited.bound", "visited.estimate", "visited.occupancy"):
        del kept[name]
    return {name: array.tobytes() for name, array in kept.items() if "certificate" not in name}


@pytest.mark.parametrize("name", ["bonus", "optimistic", "predictions"])
def test_an_episode_that_fails_leaves_no_trace(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    learner, twin = (PAIRS[name][0]() for _ in range(2))

    def begin_only(graph: Any, state: Any, *episode: Any) -> bool:
        begin_update(graph, state, *episode)
        return False

    for i, episode in enumerate(random_episodes(6, P, 40)):
        trajectory = am.Trajectory(episode.states, episode.actions, episode.losses)
        before = snapshot(learner)
        with monkeypatch.context() as patch:
            patch.setattr(learner, "_update_program", begin_only)
            patch.setattr(interface, "finish_safely", lambda *arguments: False)
            with pytest.raises(am.UncertifiedStep, match=f"episode {i + 1}: no certified"):
                learner.update(trajectory)
        assert snapshot(learner) == before
        learner.update(trajectory)
        twin.update(trajectory)
    assert snapshot(learner) == snapshot(twin)


def test_the_safe_path_gives_the_same_iterates(monkeypatch: pytest.MonkeyPatch) -> None:
    fast, safe = (PAIRS["bonus"][0]() for _ in range(2))
    drawn = [am.Trajectory(e.states, e.actions, e.losses) for e in random_episodes(8, P, 60)]
    for trajectory in drawn:
        fast.update(trajectory)

    def only_safe(graph: Any, state: Any, *episode: Any) -> bool:
        begin_update(graph, state, *episode)
        return False

    monkeypatch.setattr(safe, "_update_program", only_safe)
    for trajectory in drawn:
        safe.update(trajectory)
    assert safe.epoch == fast.epoch
    assert greatest_difference(safe.policy(), fast.policy()) <= 1e-8


@pytest.mark.parametrize(("name", "most"), [("tsallis", 3.5), ("log barrier", 2.6), ("bonus", 4.5)])
def test_an_episode_takes_few_evaluations(name: str, most: float) -> None:
    """Where only the states of the path were settled before the search, 4.5, 3.2 and 5.8."""
    losses = am.losses.Stochastic(np.random.default_rng(2).random(LAYOUT.n_rows))
    solver = am.play(MDP, losses, PAIRS[name][0](), T, seed=3).solver
    assert solver is not None
    assert solver.evaluations <= most * solver.projections


LEADERS = ("tsallis-ftrl", "log-barrier-ftrl", "uob-ftrl", "optimistic-ftrl")


@pytest.mark.parametrize("name", LEADERS)
def test_four_evaluations_are_enough_inside_a_run_of_wide_layers(name: str) -> None:
    """With presets 2.2 to 3.1 at 1,10x5,1 x4; more while epochs are short, 7 in the first 500."""
    mdp = am.families.random_mdp((1, *[10] * 5, 1), 4, seed=0)
    losses = am.losses.Stochastic(np.random.default_rng(1).random(mdp.layout.n_rows))
    entry = am.LEARNERS[name]
    known = {"transitions": mdp.transitions} if entry.knows_transition else {}
    learner = entry.make(mdp.layout, n_episodes=6_000, **known, **am.PRACTICAL[name])
    am.play(mdp, losses, learner, 5_000, checkpoints=[1])
    solver = am.play(mdp, losses, learner, 1_000, seed=1, checkpoints=[1]).solver
    assert solver is not None
    assert solver.evaluations <= 4.0 * solver.projections
    assert solver.worst_gap <= 1e-10


def test_records_in_order_change_nothing_and_predictions_refuse_them() -> None:
    ours, twin = (PAIRS["bonus"][0]() for _ in range(2))
    for e in random_episodes(2, P, 30):
        trajectory = am.Trajectory(e.states, e.actions, e.losses)
        ours.update(trajectory, ours.issue())
        twin.update(trajectory)
    assert snapshot(ours) == snapshot(twin)
    predicting = PAIRS["predictions"][0]()
    with pytest.raises(am.InvalidInput, match="prediction_rate=0"):
        predicting.update(trajectory, predicting.issue())


def test_adopted_counts_make_the_first_transition() -> None:
    earlier, later = (am.UOBFTRL(LAYOUT, n, log_barrier=0.3, log_scale=0.02) for n in (20, 40))
    for e in random_episodes(7, P, 20):
        earlier.update(am.Trajectory(e.states, e.actions, e.losses))
    later.adopt_counts(earlier)
    assert later.episodes == 0
    seen = zip(
        earlier.visits,
        earlier.transitions_seen,
        am.transition_of(later.occupancy(), LAYOUT),
        strict=True,
    )
    for n, m, chance in seen:
        assert np.allclose((n[..., None] * chance)[n > 0], m[n > 0], rtol=0, atol=1e-9)
    later.update(am.Trajectory(e.states, e.actions, e.losses))


def test_the_regret_against_steady_losses_is_small() -> None:
    """Eight runs; uniform play has about 900, the worst seen was below 150."""
    mean = [np.tile([0.3, 0.7], (n, 1)) for n in DENSE.layout.layer_sizes[:-1]]
    regrets = [
        am.play(
            DENSE,
            am.losses.Stochastic(mean),
            am.TsallisFTRL(DENSE.layout, DENSE.transitions, 2000, log_barrier=0.1),
            2000,
            seed=seed,
        ).regret[-1]
        for seed in range(8)
    ]
    assert max(regrets) < 250.0
