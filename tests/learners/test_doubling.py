"""Doubling: rounds, playing and keeping them, and the price of not knowing the horizon."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.kernels.accounting import episode
from advmdp.learners import compiled
from advmdp.learners.catalogue import LEARNERS
from tests.reference.contract import (
    DENSE,
    assert_same_state,
    doubling,
    drive,
    flat,
    follow,
    losses_of,
)

WITH_HORIZON = [name for name, entry in LEARNERS.items() if entry.has_horizon]
every_horizon = pytest.mark.parametrize("name", WITH_HORIZON)


# ---------------------------------------------------------------------- rounds


@every_horizon
def test_rounds_are_learners_tuned_for_their_length(name: str) -> None:
    learner = doubling(name, DENSE)
    deltas = []
    for number, (start, stop) in enumerate([(0, 5), (5, 15), (15, 35)], start=1):
        learner.policy()
        assert (learner.round, learner.learner.n_episodes) == (number, 5 * 2 ** (number - 1))
        assert isinstance(learner.learner, LEARNERS[name].make)
        deltas.append(getattr(learner.learner, "delta", None))
        follow(learner, DENSE, start, stop)
        assert learner.episodes == stop
    default = inspect.signature(LEARNERS[name].make).parameters.get("delta")
    if default is not None and default.default is not None:
        assert deltas == [default.default / n for n in (4, 12, 24)]


def test_the_first_round_is_the_learner_itself() -> None:
    learner = doubling("uob-reps", DENSE, 20, delta=0.2, log_scale=0.1)
    plain = am.UOBREPS(DENSE.layout, 20, delta=0.05, log_scale=0.1)
    assert np.array_equal(follow(learner, DENSE, 0, 19), follow(plain, DENSE, 0, 19))


def test_all_deltas_together_are_no_more_than_the_one_given() -> None:
    shares = []
    learner = doubling("uob-reps", am.families.random_mdp((1, 1), 1, seed=0), 1, delta=0.3)
    for _ in range(1000):
        learner.policy()
        if learner.round > len(shares):
            shares.append(learner.learner.delta)
        learner.update(am.Trajectory([0, 0], [0], [0.0]))
    assert len(shares) == 10
    assert 0.9 * 0.3 < 2 * sum(shares) < 0.3  # each counts twice: visits up to 2 T_i


def test_every_round_has_bonuses_of_its_own() -> None:
    learner = doubling("fpl", DENSE, 5, seed=3)
    means, noises = [], []
    for start, stop in ((0, 5), (5, 15)):
        learner.policy()
        means.append(1.0 / learner.learner.eta)
        noises.append(flat(learner.learner.perturbation))
        follow(learner, DENSE, start, stop)
    ratio = (noises[0] / means[0]) / (noises[1] / means[1])
    assert np.unique(ratio.round(6)).size > 1


# ---------------------------------------------------------------------- how it is played and kept


@every_horizon
def test_compiled_and_protocol_loop_agree_over_rounds(name: str) -> None:
    """With slices that end inside rounds, at their ends, and beyond several of them."""
    losses = am.losses.Switching([losses_of(DENSE, t) for t in (0, 5)], period=7, noisy=True)
    points = [3, 5, 6, 15, 16, 150]
    learners = [doubling(name, DENSE) for _ in range(2)]
    fast, slow = (
        am.play(DENSE, losses, learner, 150, seed=5, compiled=compiled, checkpoints=points)
        for learner, compiled in zip(learners, (True, False), strict=True)
    )
    assert (fast.compiled, slow.compiled) == (True, False)
    for field in ("regret", "expected_loss", "realised_loss", "best_loss"):
        assert np.array_equal(getattr(fast, field), getattr(slow, field)), field
    assert_same_state(*learners)
    assert learners[0].round == 5
    if fast.solver is not None:
        assert slow.solver is not None
        assert fast.solver.projections == slow.solver.projections
        assert np.allclose(fast.decomposition.total(), fast.regret)


def test_a_projection_on_the_safe_path_stays_in_its_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled loop stops at a pending projection; Python completes it, and the loop goes on.

    The kernel here is a stand-in that plays one episode and leaves its projection pending.
    """
    losses = am.losses.Stochastic(losses_of(DENSE, 0))
    plain, halting = (doubling("uob-reps", DENSE) for _ in range(2))
    am.play(DENSE, losses, plain, 40, seed=2)

    def pending(graph: Any, world: Any, program: Any, ledger: Any, *rest: Any) -> int:
        _, start, _, state, _ = rest
        episode.fill_losses(program, world.seed0, world.seed1, start, ledger.losses)
        episode.open_episode(graph, world, state.step.measure.policy, start, ledger)
        steps = (ledger.states, ledger.path, ledger.path_losses, ledger.losses)
        episode.begin_update(graph, state, *steps)
        return int(start)

    monkeypatch.setattr(compiled, "play_slice", pending)
    run = am.play(DENSE, losses, halting, 40, seed=2)
    assert run.solver is not None
    assert run.solver.safe_paths == 40
    assert (halting.round, halting.episodes) == (plain.round, plain.episodes) == (4, 40)
    assert np.allclose(flat(halting.policy()), flat(plain.policy()), rtol=0, atol=1e-9)


@every_horizon
def test_a_loaded_learner_continues_with_the_same_bits(name: str, tmp_path: Path) -> None:
    """Saved within a round, at its end, and when the next has begun."""
    learner = doubling(name, DENSE)
    path, again = tmp_path / "learner", tmp_path / "again"
    for start, stop in ((0, 3), (3, 5), (5, 5), (5, 6), (6, 15), (15, 22)):
        drive(learner, DENSE, start, stop)
        learner.save(path)
        loaded = am.load(path)
        loaded.save(again)
        assert again.read_bytes() == path.read_bytes()
        assert (loaded.round, loaded.episodes) == (learner.round, stop)
        twin = am.load(path)
        drive(twin, DENSE, stop, 30)
        assert np.array_equal(flat(loaded.policy()), flat(learner.policy()))
        drive(loaded, DENSE, stop, 30)
        assert_same_state(loaded, twin)
    drive(learner, DENSE, 22, 30)
    assert_same_state(loaded, learner)


def test_a_state_without_rounds_is_refused_without_a_trace() -> None:
    learner, twin = (doubling("uob-reps", DENSE) for _ in range(2))
    for each in (learner, twin):
        follow(each, DENSE, 0, 8)
    good = learner.state()
    for bad in (
        {name: array for name, array in good.items() if name != "clock"},
        good | {"clock": np.array([0, 0, 0])},
        good | {"clock": good["clock"][:2]},
        {name: array for name, array in good.items() if name != "learner.step.measure.policy"},
    ):
        with pytest.raises(am.InvalidInput, match="restore: "):
            learner.restore(bad)
    assert_same_state(learner, twin)


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("make", "parameters", "message"),
    [
        (am.UCRL2, {}, "make: UCRL2 has no horizon"),
        (am.Uniform, {}, "make: Uniform has no horizon"),
        (lambda layout: None, {}, "make: give the class of a learner"),
        (am.UOBREPS, {"n_episodes": 10}, "n_episodes: Doubling chooses"),
        (am.UOBREPS, {"first": 0}, "first: 0 is not"),
        (am.UOBREPS, {"delta": 1.5}, "delta: 1.5 is not"),
        (am.UOBREPS, {"first": 2**30}, "Doubling: round 1 would count"),
    ],
)
def test_what_cannot_be_doubled_is_refused(make: Any, parameters: Any, message: str) -> None:
    with pytest.raises(am.InvalidInput, match=message):
        am.Doubling(make, DENSE.layout, **parameters)


def test_bad_feedback_leaves_no_trace() -> None:
    learner, twin = (doubling("uob-reps", DENSE) for _ in range(2))
    for each in (learner, twin):
        follow(each, DENSE, 0, 4)
    with pytest.raises(am.InvalidInput):
        learner.update(am.Trajectory([0] * 5, [0] * 4, [2.0] * 4))
    assert learner.episodes == 4
    assert np.array_equal(follow(learner, DENSE, 4, 20), follow(twin, DENSE, 4, 20))


def test_only_what_the_accounting_needs_is_passed_on() -> None:
    learner = doubling("uob-reps", DENSE)
    assert learner.mean_width == 1.0
    assert not hasattr(learner, "n_episodes")  # it plays on for ever
    assert not hasattr(doubling("exp3-ix", DENSE), "kernel_state")
    with pytest.raises(AttributeError, match=r"Doubling has no 'gamma'; see .*\.learner"):
        _ = learner.gamma


# ---------------------------------------------------------------------- the price


@pytest.mark.parametrize("name", ["uob-reps", "o-reps-bandit", "uc-o-reps", "exp3-ix"])
def test_the_regret_is_a_small_multiple_of_the_tuned_one(name: str) -> None:
    """Rounds pay sqrt(2) / (sqrt(2) - 1) = 3.42 times as much at most, and some logarithms."""
    n_episodes = 20_000
    mdp = am.families.random_mdp((1, 3, 3, 1), 2, seed=0)
    losses = am.losses.Stochastic(mdp.layout.pairs(np.random.default_rng(0).random(14)))
    known = {"transitions": mdp.transitions} if LEARNERS[name].knows_transition else {}
    regrets = np.zeros(2)
    for seed in range(3):
        tuned = LEARNERS[name].make(mdp.layout, n_episodes=n_episodes, **known)
        for place, learner in enumerate((doubling(name, mdp, None), tuned)):
            regrets[place] += am.play(mdp, losses, learner, n_episodes, seed=seed).regret[-1]
    assert regrets[0] < 4.0 * regrets[1]
