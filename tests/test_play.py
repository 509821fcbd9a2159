"""The episode loop: two ways to run it, one answer; exact accounting; refusals."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import advmdp as am
from advmdp.evaluation import account
from advmdp.layout import Table
from tests.reference.brute_force import all_trajectories
from tests.reference.contract import DENSE, N_EPISODES, losses_of, made
from tests.reference.linear_programs import best_fixed_policy_loss

SIZES, ACTIONS = (1, 3, 2, 3, 1), 2


def world(seed: int = 0) -> tuple[am.LayeredMDP, list[Table]]:
    mdp = am.families.random_mdp(SIZES, ACTIONS, seed=seed)
    rng = np.random.default_rng(seed)
    return mdp, [mdp.layout.pairs(rng.random(mdp.layout.n_rows)) for _ in range(2)]


def processes() -> dict[str, am.losses.LossProcess]:
    _, (one, two) = world()
    return {
        "stochastic": am.losses.Stochastic(one),
        "switching": am.losses.Switching([one, two], period=7),
        "majority": am.losses.Majority(one, two, period=20),
        "drifting": am.losses.Drifting(one, two, period=50),
        "corrupted": am.losses.Corrupted(one, two, n_corrupted=40, n_episodes=400),
        "adaptive": am.losses.Adaptive(one),
        "replayed": am.losses.Replayed([one, two], repeat=True),
    }


def eager(mdp: am.LayeredMDP, n_episodes: int) -> am.UOBREPS:
    """A learner whose confidence sets bite within a few hundred episodes."""
    return am.UOBREPS(mdp.layout, n_episodes, log_scale=0.01, eta_scale=4.0)


@pytest.mark.parametrize("name", processes())
def test_compiled_and_protocol_loop_agree_to_the_last_bit(name: str) -> None:
    mdp, _ = world()
    runs = [
        am.play(mdp, processes()[name], eager(mdp, 400), 400, seed=5, compiled=compiled)
        for compiled in (True, False)
    ]
    fast, slow = runs
    assert fast.compiled
    assert not slow.compiled
    for field in ("episodes", "regret", "expected_loss", "realised_loss", "best_loss", "epoch"):
        assert np.array_equal(getattr(fast, field), getattr(slow, field)), field
    assert np.array_equal(fast.decomposition.total(), slow.decomposition.total())
    assert np.array_equal(fast.epoch_starts, slow.epoch_starts)
    assert fast.solver == slow.solver


CURVES = ("episodes", "regret", "expected_loss", "realised_loss", "best_loss")


@pytest.mark.parametrize("name", ["uob-reps", "uc-o-reps", "ucrl2", "uniform", "exp3-ix"])
def test_a_checkpoint_at_every_episode_says_what_single_ones_say(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In both loops, in blocks of seven; against the linear programme at some of them."""
    monkeypatch.setattr(account, "MOST_POINTS", 7)
    n_episodes, some = N_EPISODES, [1, 6, 7, 8, 21, N_EPISODES]
    losses = am.losses.Switching([losses_of(DENSE, t) for t in range(2)], period=5)

    def played(points: object, compiled: bool) -> am.Run:
        learner = made(name, DENSE)
        return am.play(
            DENSE, losses, learner, n_episodes, seed=3, checkpoints=points, compiled=compiled
        )

    few = played(some, compiled=True)
    for every in (played(range(1, n_episodes + 1), compiled) for compiled in (True, False)):
        shown = [every.episodes.tolist().index(episode) for episode in some]
        for one, other in _curves_of(few, every):
            assert np.array_equal(one, other[shown])
    tables = [DENSE.layout.flat_pairs(losses_of(DENSE, t // 5 % 2)) for t in range(n_episodes)]
    for episodes, best in zip(some, few.best_loss, strict=True):
        total = DENSE.layout.pairs(np.sum(tables[:episodes], axis=0))
        assert best == pytest.approx(best_fixed_policy_loss(DENSE.transitions, total), abs=1e-9)


def _curves_of(one: am.Run, other: am.Run) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """All that two runs of one learner have at their checkpoints, in pairs."""
    pairs = [(getattr(one, curve), getattr(other, curve)) for curve in CURVES]
    pairs += [(one.epoch, other.epoch), (one.mean_width, other.mean_width)]
    if one.decomposition is not None:
        terms = [field.name for field in dataclasses.fields(one.decomposition)]
        pairs += [tuple(getattr(r.decomposition, t) for r in (one, other)) for t in terms]
    return [pair for pair in pairs if pair[0] is not None]


def test_a_step_on_the_safe_path_between_two_checkpoints() -> None:
    """What compiled code left to Python is not noted twice, nor left out."""
    mdp, tables = world()
    losses = am.losses.Switching(tables, period=3)
    runs = [
        am.play(mdp, losses, _absurd(mdp), 60, seed=1, checkpoints=range(1, 61), compiled=compiled)
        for compiled in (True, False)
    ]
    assert runs[0].solver is not None
    assert runs[0].solver.safe_paths > 0
    for one, other in _curves_of(*runs):
        assert len(one) == 60
        assert np.array_equal(one, other)


def _absurd(mdp: am.LayeredMDP) -> am.UOBREPS:
    """A learner whose steps the fast path cannot always certify."""
    return am.UOBREPS(mdp.layout, 60, eta_scale=3e4, gamma_scale=1e-3, log_scale=0.01)


class Indifferent(am.UOBREPS):
    """A built-in learner that was changed: it learns, and plays something else."""

    def policy(self) -> Table:
        return [np.full_like(part, 1.0 / ACTIONS) for part in super().policy()]


class Handing:
    """Hands on the methods of another learner."""

    def __init__(self, learner: am.UOBREPS) -> None:
        self.policy, self.update = learner.policy, learner.update


def test_the_policy_that_is_played_is_that_of_the_method() -> None:
    """The loops ask built-in learners for a vector instead of a table, and nobody else."""
    mdp, (mean, _) = world()
    losses = am.losses.Stochastic(mean)
    learners = [Indifferent(mdp.layout, 40), am.Uniform(mdp.layout)]
    learners += [Handing(eager(mdp, 40)), eager(mdp, 40)]
    runs = [am.play(mdp, losses, one, 40, seed=1, compiled=False) for one in learners]
    for changed, expected in (runs[:2], runs[2:]):
        assert np.array_equal(changed.realised_loss, expected.realised_loss)
        assert changed.expected_loss == pytest.approx(expected.expected_loss, abs=1e-9)


def test_same_seed_same_run_other_seed_other_run() -> None:
    mdp, (mean, _) = world()
    regrets = [
        am.play(mdp, am.losses.Stochastic(mean), eager(mdp, 300), 300, seed=seed).regret
        for seed in (1, 1, 2)
    ]
    assert np.array_equal(regrets[0], regrets[1])
    assert not np.array_equal(regrets[0], regrets[2])


@pytest.mark.parametrize("name", processes())
def test_the_four_terms_add_up_to_the_regret(name: str) -> None:
    mdp, _ = world()
    run = am.play(mdp, processes()[name], eager(mdp, 400), 400, seed=3)
    assert run.decomposition is not None
    assert np.allclose(run.decomposition.total(), run.regret, rtol=0, atol=1e-9)
    assert abs(run.decomposition.bias1[-1]) > 1.0  # large terms that cancel, not four zeros


def test_best_loss_is_the_linear_programme_over_fixed_policies() -> None:
    mdp, (one, two) = world()
    run = am.play(mdp, am.losses.Switching([one, two], 7), eager(mdp, 70), 70, seed=0)
    total = [35.0 * (a + b) for a, b in zip(one, two, strict=True)]
    expected = best_fixed_policy_loss(mdp.transitions, total)
    assert run.best_loss[-1] == pytest.approx(expected, abs=1e-9)


def test_expected_loss_enumerates_all_trajectories() -> None:
    mdp, (mean, _) = world()
    learner = eager(mdp, 1)
    first = sum(
        chance * sum(mean[k][x, a] for k, (x, a) in enumerate(zip(states, actions, strict=False)))
        for states, actions, chance in all_trajectories(mdp.transitions, learner.policy())
    )
    run = am.play(mdp, am.losses.Switching([mean], 1), learner, 1)
    assert run.expected_loss[-1] == pytest.approx(first, abs=1e-12)


def test_realised_loss_averages_to_the_expected_loss() -> None:
    # 20,000 episodes of losses in [0, 4]: Hoeffding puts the difference below 1,060 except with
    # probability 2 exp(-2 * 1060**2 / (20000 * 16)) < 2e-3; the seed is fixed.
    mdp, (mean, _) = world()
    run = am.play(mdp, am.losses.Stochastic(mean), am.Uniform(mdp.layout), 20_000, seed=0)
    assert abs(run.realised_loss[-1] - run.expected_loss[-1]) < 1060


def test_uniform_regret_is_linear_and_has_no_terms() -> None:
    mdp, (mean, _) = world()
    run = am.play(mdp, am.losses.Switching([mean], 1), am.Uniform(mdp.layout), 1000)
    assert np.allclose(run.regret / run.episodes, run.regret[-1] / 1000)
    assert run.decomposition is None
    assert run.solver is None


def test_learning_beats_the_uniform_policy_by_far() -> None:
    mdp, (mean, _) = world()
    losses = am.losses.Stochastic(mean)
    learnt = am.play(mdp, losses, eager(mdp, 20_000), 20_000, seed=1).regret[-1]
    uniform = am.play(mdp, losses, am.Uniform(mdp.layout), 20_000, seed=1).regret[-1]
    assert learnt < 0.2 * uniform


def test_every_projection_of_a_run_is_certified() -> None:
    mdp, (one, two) = world()
    run = am.play(mdp, am.losses.Switching([one, two], 500), eager(mdp, 5000), 5000)
    assert run.solver is not None
    assert run.solver.projections > 4900
    assert run.solver.worst_residual <= 1e-10
    assert run.solver.worst_gap <= 1e-14


def test_checkpoints_and_progress() -> None:
    mdp, (mean, _) = world()
    seen: list[am.Progress] = []
    run = am.play(
        mdp,
        am.losses.Stochastic(mean),
        eager(mdp, 100),
        100,
        checkpoints=[10, 50],
        progress=seen.append,
    )
    assert run.episodes.tolist() == [10, 50, 100]
    assert seen[-1].episodes == 100
    assert seen[-1].account.regret == run.regret[-1]
    assert run.epoch is not None
    assert run.epoch[-1] == seen[-1].epoch
    assert run.epoch_starts is not None
    assert run.epoch_starts[:2].tolist() == [0, 1]
    assert np.all(np.diff(run.epoch_starts) > 0)
    assert run.mean_width is not None
    assert run.mean_width[-1] < run.mean_width[0]


def test_a_custom_process_and_a_custom_learner_need_only_the_protocol() -> None:
    mdp, (mean, _) = world()

    class First:
        """Always the first action."""

        def policy(self) -> Table:
            return [np.eye(ACTIONS)[np.zeros(n, dtype=int)] for n in SIZES[:-1]]

        def update(self, trajectory: am.Trajectory) -> None:
            assert list(trajectory.actions) == [0] * len(SIZES[:-1])

    run = am.play(mdp, am.losses.Custom(lambda episode, history: mean), First(), 50)
    assert not run.compiled
    assert run.expected_loss[-1] > 0


def test_refusals_come_before_anything_is_played() -> None:
    mdp, (mean, _) = world()
    other = am.Layout(layer_sizes=(1, 2, 1), n_actions=2)
    losses = am.losses.Stochastic(mean)
    learner = eager(mdp, 10)
    cases = [
        (lambda: am.play(mdp, losses, learner, 11), "made for n_episodes=10"),
        (lambda: am.play(mdp, losses, learner, 0), "n_episodes"),
        (lambda: am.play(mdp, losses, am.Uniform(other), 5), "different layouts"),
        (lambda: am.play(mdp, losses, learner, 5, checkpoints=[0, 3]), "checkpoints"),
        (lambda: am.play(mdp, losses, learner, 5, compiled=True, check=True), "compiled"),
        (lambda: am.play(mdp, am.losses.Replayed([mean] * 3), learner, 5), "3 recorded episodes"),
        (lambda: am.play(mdp, losses, learner, 5, seed=-1), "seed"),
    ]
    for call, message in cases:
        with pytest.raises(am.InvalidInput, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)
    assert learner.episodes == 0
    assert learner.epoch == 1


def test_a_learner_that_plays_no_distribution_is_named() -> None:
    mdp, (mean, _) = world()

    class Broken:
        def policy(self) -> Table:
            return [np.full((n, ACTIONS), 0.7) for n in SIZES[:-1]]

        def update(self, trajectory: am.Trajectory) -> None: ...

    with pytest.raises(am.InvalidInput, match="policy: layer 0, state 0"):
        am.play(mdp, am.losses.Stochastic(mean), Broken(), 5)
