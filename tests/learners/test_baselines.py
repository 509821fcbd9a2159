"""Baselines of estimates: bias and variance by enumeration, the step, and what they cost."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import pytest
from benchmarks.baselines import hostile_losses

import advmdp as am
from advmdp.errors import UnsafeChoice
from advmdp.kernels.learners import interface
from tests.reference.brute_force import all_trajectories

GAMMA = 0.07
MDP = am.families.random_mdp((1, 2, 2, 1), 2, seed=4)
BANDIT = am.families.random_mdp((1, 1), 3, seed=0)


def warned(kind: str | None) -> AbstractContextManager[Any]:
    """Whoever makes a learner with an undamped baseline is told, and nobody else."""
    if kind != "undamped":
        return nullcontext()
    return pytest.warns(UnsafeChoice, match="is not found again; use baseline='damped'$")


def made(kind: str | None, mdp: am.LayeredMDP = MDP, **given: Any) -> am.UOBREPS:
    parameters = {"gamma": GAMMA, "eta": 0.2, "log_scale": 0.02, **given}
    with warned(kind):
        return am.UOBREPS(mdp.layout, 10_000, baseline=kind, **parameters)


def after(n_episodes: int, kind: str | None) -> am.UOBREPS:
    """Some way into a run, with sets that bite; deterministic."""
    mean = np.random.default_rng(1).random(MDP.layout.n_rows)
    learner = made(kind)
    am.play(MDP, am.losses.Stochastic(mean), learner, n_episodes, seed=2)
    return learner


def estimates(learner: am.UOBREPS, states: Any, actions: Any, losses: am.Table) -> am.Table:
    """l^_t over all pairs, of an episode that the learner then has learnt from."""
    table = [layer.copy() for layer in learner.baseline_table()]
    seen = [losses[k][states[k], a] for k, a in enumerate(actions)]
    learner.update(am.Trajectory(states, actions, seen))
    for k, (a, estimate) in enumerate(zip(actions, learner.estimate_of_last, strict=True)):
        table[k][states[k], a] = estimate
    return table


@pytest.mark.parametrize("kind", ["damped", "undamped"])
def test_mean_and_second_moment_by_enumeration(kind: str) -> None:
    # E[l^] = b + (l - b) q / (u + gamma);  E[l^^2] = (1 - q) b^2 + q (b + (l - b) / (u + gamma))^2
    template = after(40, kind)
    policy, b = template.policy(), template.baseline_table()
    bounds = am.upper_occupancy(policy, template.confidence_set())
    q = [t.sum(axis=2) for t in am.occupancy_measure(MDP.transitions, policy, MDP.layout)]
    losses = MDP.layout.pairs(np.random.default_rng(9).random(MDP.layout.n_rows))
    mean, square = ([np.zeros_like(table) for table in losses] for _ in range(2))
    for states, actions, chance in all_trajectories(MDP.transitions, policy):
        for k, found in enumerate(estimates(after(40, kind), states, actions, losses)):
            mean[k] += chance * found
            square[k] += chance * found**2
    for k, u in enumerate(bounds):
        on_path = b[k] + (losses[k] - b[k]) / (u + GAMMA)
        np.testing.assert_allclose(mean[k], b[k] + q[k] * (on_path - b[k]), atol=1e-12)
        np.testing.assert_allclose(square[k], (1 - q[k]) * b[k] ** 2 + q[k] * on_path**2)
        # what the damped form is for: the positive part of the bias is at most this
        excess = b[k] * (u - q[k] + GAMMA) / (u + GAMMA)
        assert (mean[k] - losses[k] <= excess + 1e-12).all()


OWN = {  # learners that divide by their own occupancy, which is the true one if P is known
    "o-reps-bandit": lambda kind: am.OREPSBandit(
        MDP.layout, MDP.transitions, 10_000, eta=0.2, gamma=GAMMA, baseline=kind
    ),
    "bandit-uc-o-reps": lambda kind: am.BanditUCOREPS(
        MDP.layout, 10_000, alpha=0.3, eta=0.02, log_scale=0.02, baseline=kind
    ),
}


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("kind", ["damped", "undamped"])
def test_the_mean_where_the_own_occupancy_divides(name: str, kind: str) -> None:
    # E[l^] = b + (l - b) q / d,  d = q^ + gamma  or  pi max(q^(x), alpha)
    def some_way_in() -> Any:
        with warned(kind):
            learner = OWN[name](kind)
        mean = np.random.default_rng(1).random(MDP.layout.n_rows)
        am.play(MDP, am.losses.Stochastic(mean), learner, 40, seed=2)
        return learner

    template = some_way_in()
    policy, b = template.policy(), template.baseline_table()
    own = [table.sum(axis=2) for table in template.occupancy()]
    q = [t.sum(axis=2) for t in am.occupancy_measure(MDP.transitions, policy, MDP.layout)]
    losses = MDP.layout.pairs(np.random.default_rng(9).random(MDP.layout.n_rows))
    mean = [np.zeros_like(table) for table in losses]
    for states, actions, chance in all_trajectories(MDP.transitions, policy):
        for k, found in enumerate(estimates(some_way_in(), states, actions, losses)):
            mean[k] += chance * found
    for k, table in enumerate(losses):
        divisor = own[k] + GAMMA
        if name == "bandit-uc-o-reps":
            divisor = policy[k] * np.maximum(own[k].sum(axis=1, keepdims=True), 0.3)
        expected = b[k] + (table - b[k]) * q[k] / divisor
        np.testing.assert_allclose(mean[k], expected, rtol=0, atol=1e-9)
        assert (b[k] > 0.0).any()


def test_the_damped_baseline_is_the_mean_of_the_last_losses_damped_where_visits_are_rare() -> None:
    learner = made("damped", BANDIT, baseline_memory=3)
    theory = am.UOBREPS(BANDIT.layout, 10_000).gamma
    mean, seen = np.zeros(3), np.zeros(3)
    for t, loss in enumerate([1.0, 0.0, 0.5, 0.25, 1.0, 1.0, 0.0]):
        policy = learner.policy()[0][0]
        expected = mean * policy / (policy + theory)
        np.testing.assert_allclose(learner.baseline_table()[0][0], expected)
        learner.update(am.Trajectory([0, 0], [t % 2], [loss]))
        seen[t % 2] = min(seen[t % 2] + 1, 3)
        mean[t % 2] += (loss - mean[t % 2]) / seen[t % 2]


def test_the_step_takes_the_estimates_of_all_pairs() -> None:
    learner = made("undamped", BANDIT)
    losses = [np.array([[0.9, 0.3, 0.6]])]
    for t in range(40):
        before = learner.policy()[0][0]
        table = estimates(learner, [0, 0], [t % 3], losses)[0][0]
        weights = before * np.exp(-learner.eta * table)
        np.testing.assert_allclose(learner.policy()[0][0], weights / weights.sum(), atol=1e-9)


def test_the_invariants_and_both_loops_hold_with_a_baseline() -> None:
    tables = [np.eye(1, MDP.layout.n_rows)[0], np.full(MDP.layout.n_rows, 0.7)]
    losses = am.losses.Switching(tables, period=20)
    runs = [
        am.play(MDP, losses, made("damped"), 150, seed=1, **given)
        for given in ({}, {"compiled": False}, {"check": True})
    ]
    for run in runs[1:]:
        assert np.array_equal(run.regret, runs[0].regret)
        assert run.decomposition is not None
        assert np.array_equal(run.decomposition.bias2, runs[0].decomposition.bias2)
    terms = runs[0].decomposition
    whole = terms.error + terms.bias1 + terms.reg + terms.bias2
    np.testing.assert_allclose(whole, runs[0].regret, atol=1e-9)


def test_an_episode_that_is_taken_back_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = after(30, "damped")
    before = learner.state()

    def begin_only(graph: Any, state: Any, *steps: Any) -> bool:
        interface.begin_update(graph, state, *steps)
        return False

    monkeypatch.setattr(learner, "_update_program", begin_only)
    monkeypatch.setattr(interface, "finish_safely", lambda *arguments: False)
    with pytest.raises(am.UncertifiedStep):
        learner.update(am.Trajectory([0, 1, 0, 0], [0, 1, 0], [1.0, 0.5, 0.0]))
    now = learner.state()
    for name in ("baseline.mean", "baseline.seen", "step.measure.policy", "visits.pairs"):
        assert np.array_equal(now[name], before[name]), name


def test_feedback_that_comes_late_is_estimated_with_the_policy_of_its_time() -> None:
    learner = after(30, "damped")
    record = learner.issue()
    bounds = am.upper_occupancy(record.policy, learner.confidence_set())
    learner.update(am.Trajectory([0, 1, 0, 0], [0, 1, 0], [1.0, 0.5, 0.0]))
    learner.update(am.Trajectory([0, 0, 1, 0], [1, 1, 0], [1.0, 0.5, 0.0]), record)
    expected = [bounds[k][x, a] for k, (x, a) in enumerate([(0, 1), (0, 1), (1, 0)])]
    np.testing.assert_allclose(learner.upper_occupancy_of_last, expected)


@pytest.mark.parametrize("seed", range(3))
def test_a_damped_baseline_halves_the_regret_at_theorys_parameters(seed: int) -> None:
    mdp = am.families.random_mdp((1, 3, 3, 1), 3, seed=seed)
    losses = am.losses.Stochastic(np.random.default_rng(seed).random(mdp.layout.n_rows))
    plain, damped = (
        am.play(mdp, losses, made(mdp.layout, 4000), 4000, seed=seed).regret[-1]
        for made in (am.UOBREPS, am.UOBREPSBaseline)
    )
    assert damped < 0.55 * plain


def test_losses_can_be_made_that_a_baseline_with_a_long_memory_never_recovers_from() -> None:
    n_episodes = 10_000
    mdp = am.families.random_mdp((1, 1), 2, seed=0)
    losses = am.losses.Replayed(hostile_losses(n_episodes))
    regret = {
        memory: am.play(mdp, losses, made, n_episodes, seed=0).regret[-1]
        for memory, made in {
            None: am.UOBREPS(mdp.layout, n_episodes),
            100: am.UOBREPSBaseline(mdp.layout, n_episodes, baseline_memory=100),
        }.items()
    }
    assert regret[None] < 100.0
    assert regret[100] > 400.0  # of the 483 that the better action saves


def test_the_undamped_baseline_warns_once_and_where_it_was_asked_for() -> None:
    """Not with every episode: pytest makes an error of any further warning."""
    with pytest.warns(UnsafeChoice) as found:
        learner = am.UOBREPS(MDP.layout, 100, baseline="undamped")
    assert [each.filename for each in found] == [__file__]
    am.play(MDP, am.losses.Stochastic(np.full(MDP.layout.n_rows, 0.5)), learner, 50)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"baseline": "median"}, "baseline: 'median' is not 'damped', 'undamped' or None"),
        ({"baseline": "damped", "baseline_memory": 0}, "baseline_memory: 0"),
        ({"baseline": "damped", "damping_scale": 0.0}, "damping_scale: 0.0"),
    ],
)
def test_bad_parameters_are_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(am.InvalidInput, match=message):
        am.UOBREPS(MDP.layout, 100, **given)
