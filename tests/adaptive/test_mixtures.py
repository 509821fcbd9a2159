"""Mixtures: the mean of the experts' losses, bounds to each of them, experts of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.learners.mixtures.weights import RULES
from tests.adaptive.test_ada_ftrl import WILD, wild
from tests.reference.contract import DENSE, GRID, assert_same_state, feedback_of, flat, losses_of
from tests.reference.plain_ada_ftrl import expected
from tests.reference.plain_hedge import sample_path

every_rule = pytest.mark.parametrize("rule", RULES)
LAYOUT = DENSE.layout


def some_experts() -> dict[str, Any]:
    always = [np.eye(2)[np.zeros(n, dtype=int)] for n in LAYOUT.layer_sizes[:-1]]
    return {
        "leader": am.AdaFTRL(LAYOUT, DENSE.transitions),
        "forgetful": am.AdaFTRL(LAYOUT, DENSE.transitions, forgetting=0.8),
        "last week": am.planners.KnownWindowPlanner(LAYOUT, DENSE.transitions, window=7),
        "always the first": always,
        "by the day": lambda episode, context: [np.eye(2)[np.full(n, (episode + context) % 2)]
                                                for n in LAYOUT.layer_sizes[:-1]],
    }  # fmt: skip


@every_rule
@pytest.mark.parametrize("kind", WILD)
def test_regret_to_every_expert_stays_below_its_bound(rule: str, kind: str) -> None:
    """Deterministic: after every episode, for every sequence."""
    tables = wild(LAYOUT, kind, 60)
    mixture = am.Mixture(LAYOUT, some_experts(), DENSE.transitions, rule)
    alone, suffered, theirs = some_experts(), 0.0, dict.fromkeys(some_experts(), 0.0)
    scale = 0.0
    for t, table in enumerate(tables):
        losses = LAYOUT.pairs(table)
        suffered += expected(DENSE, mixture.policy(), losses)
        for name, expert in alone.items():
            if hasattr(expert, "policy"):
                theirs[name] += expected(DENSE, expert.policy(), losses)
                expert.observe(table)
            else:
                policy = expert(t, 0) if callable(expert) else expert
                theirs[name] += expected(DENSE, policy, losses)
        mixture.observe(table)
        scale += float(np.abs(table).max())
        for name, bound in mixture.regret_bounds.items():
            assert suffered - theirs[name] <= bound + 1e-10 * scale, (t, name)


@every_rule
def test_the_policy_costs_the_weighted_mean_of_the_experts(rule: str) -> None:
    mixture = am.Mixture(LAYOUT, some_experts(), DENSE.transitions, rule)
    alone = some_experts()
    for t in range(30):
        losses = losses_of(DENSE, t)
        costs = []
        for expert in alone.values():
            if hasattr(expert, "policy"):
                costs.append(expected(DENSE, expert.policy(), losses))
                expert.observe(losses)
            else:
                costs.append(expected(DENSE, expert(t, 0) if callable(expert) else expert, losses))
        weights = np.array(list(mixture.weights.values()))
        assert weights.sum() == pytest.approx(1.0)
        assert expected(DENSE, mixture.policy(), losses) == pytest.approx(weights @ costs)
        mixture.observe(losses)


def test_a_turn_is_followed_sooner_with_a_share() -> None:
    """The best of two experts turns after 500 episodes; who shares has not given up the other."""
    layout = am.Layout((1, 1), 2)
    tables = np.repeat([[0.0, 1.0], [1.0, 0.0]], [500, 500], axis=0)
    experts = [[np.array([[1.0, 0.0]])], [np.array([[0.0, 1.0]])]]
    suffered = {}
    for rule in RULES:
        mixture = am.Mixture(layout, experts, np.ones(2), rule)
        suffered[rule] = 0.0
        for table in tables:
            suffered[rule] += float(flat(mixture.policy()) @ table)
            mixture.observe(table)
    assert suffered["fixed-share"] < 60.0
    assert suffered["adahedge"] > 200.0
    assert all(total < 520.0 for total in suffered.values())


@pytest.mark.parametrize("kind", [*WILD, "turns"])
def test_the_share_stays_near_every_sequence_of_experts(kind: str) -> None:
    """Deterministic: G (2 + ln T / ln K), and G ln(K T) / ln K more for every change."""
    layout, n_experts, rule = am.Layout((1, 1), 4), 4, RULES["fixed-share"](4)
    turns = np.repeat(1.0 - np.eye(n_experts)[[0, 1, 0]], 200, axis=0)
    tables, suffered = turns if kind == "turns" else wild(layout, kind, 80), 0.0
    best = np.full((6, n_experts), np.inf)  # with so many changes, ending with this expert
    best[0] = 0.0
    for t, losses in enumerate(tables):
        suffered += float(rule.weights() @ losses)
        rule.update(losses)
        best[1:] = np.minimum(best[1:], best[:-1].min(axis=1, keepdims=True))
        best += losses
        gaps, log_k = float(rule.state()["gaps"][0]), np.log(n_experts)
        steady = gaps * (2.0 + np.log(t + 1.0) / log_k)
        bounds = steady + np.arange(6) * gaps * np.log(n_experts * (t + 1.0)) / log_k
        rounding = 1e-10 * np.abs(tables[: t + 1]).max(axis=1).sum()
        assert (suffered - best.min(axis=1) <= bounds + rounding).all(), t


def test_units_and_zero_points_change_no_weight() -> None:
    tables = np.random.default_rng(0).normal(size=(40, LAYOUT.n_rows))
    for rule in RULES:
        found = []
        for scale, shift in ((1.0, 0.0), (1e7, 0.0), (1.0, 30.0)):
            mixture = am.Mixture(LAYOUT, some_experts(), DENSE.transitions, rule)
            for table in tables:
                mixture.observe(scale * table + shift)
            found.append(list(mixture.weights.values()))
        np.testing.assert_allclose(found[1], found[0], atol=1e-7)
        np.testing.assert_allclose(found[2], found[0], atol=1e-5)


@every_rule
def test_a_restored_mixture_goes_on_with_the_same_bits(rule: str) -> None:
    experts = {"a": am.UCOREPSBox(LAYOUT, 50), "b": am.planners.WindowPlanner(LAYOUT, 3)}
    again = {"a": am.UCOREPSBox(LAYOUT, 50), "b": am.planners.WindowPlanner(LAYOUT, 3)}
    mixture, other = am.Mixture(LAYOUT, experts, rule=rule), am.Mixture(LAYOUT, again, rule=rule)
    losses = am.losses.Replayed([losses_of(DENSE, t) for t in range(50)])
    am.play(DENSE, losses, mixture, 20)
    other.restore(mixture.state())
    for each in (mixture, other):
        am.play(DENSE, losses, each, 20, seed=4)
    assert_same_state(mixture, other)
    assert np.array_equal(flat(mixture.policy()), flat(other.policy()))


def test_all_experts_learn_or_none() -> None:
    """An expert whose horizon is over refuses, and takes the others back with it."""
    experts = [am.UCOREPSBox(LAYOUT, 50), am.FPOP(LAYOUT, 3)]
    mixture = am.Mixture(LAYOUT, experts)
    states, actions = sample_path(np.random.default_rng(0), DENSE.transitions, mixture.policy())
    seen = feedback_of(mixture, states, actions, losses_of(DENSE, 0))
    for _ in range(3):
        mixture.update(seen)
    before = mixture.state()
    with pytest.raises(am.InvalidInput, match="all 3 episodes are played"):
        mixture.update(seen)
    after = mixture.state()
    for name, array in before.items():
        np.testing.assert_array_equal(after[name], array, err_msg=name)


def test_who_refuses_nothing_learns_last() -> None:
    """A leader beside an expert that refuses has learnt nothing either."""
    leader = am.EstimatedAdaFTRL(LAYOUT)
    mixture = am.Mixture(LAYOUT, [leader, am.FPOP(LAYOUT, 1)])
    states, actions = sample_path(np.random.default_rng(0), DENSE.transitions, mixture.policy())
    seen = feedback_of(mixture, states, actions, losses_of(DENSE, 0))
    mixture.update(seen)
    with pytest.raises(am.InvalidInput, match="all 1 episodes are played"):
        mixture.update(seen)
    assert leader.episodes == mixture.episodes == 1


@every_rule
def test_votes_are_copies_of_an_expert(rule: str) -> None:
    """An expert with three votes weighs what three of its kind weigh together."""
    names = list(some_experts())
    voting = am.Mixture(
        LAYOUT, some_experts(), DENSE.transitions, rule, votes={names[0]: 3, names[3]: 2}
    )
    copies = [
        some_experts()[n] for n, k in zip(names, (3, 1, 1, 2, 1), strict=True) for _ in range(k)
    ]
    plain = am.Mixture(LAYOUT, copies, DENSE.transitions, rule)
    for t in range(25):
        together = np.add.reduceat(list(plain.weights.values()), [0, 3, 4, 5, 7])
        np.testing.assert_allclose(list(voting.weights.values()), together, atol=1e-12)
        for each in (voting, plain):
            each.observe(losses_of(DENSE, t))
    bounds = list(plain.regret_bounds.values())
    np.testing.assert_allclose(
        list(voting.regret_bounds.values()), [bounds[i] for i in (0, 3, 4, 5, 7)]
    )


def test_the_warm_up_teaches_experts_and_not_the_weights() -> None:
    late = am.Mixture(LAYOUT, some_experts(), DENSE.transitions, warm_up=10)
    for t in range(10):
        late.observe(losses_of(DENSE, t))
        assert set(late.weights.values()) == {0.2}
    assert late.regret_bounds["leader"] == 0.0
    late.observe(losses_of(DENSE, 10))
    assert len(set(late.weights.values())) > 1


def test_votes_that_do_not_fit_are_refused() -> None:
    for given, message in (
        ({"votes": {"nobody": 2}}, "no expert is called nobody"),
        ({"votes": {"leader": 0}}, "votes"),
        ({"warm_up": -1}, "warm_up"),
    ):
        with pytest.raises(am.InvalidInput, match=message):
            am.Mixture(LAYOUT, some_experts(), DENSE.transitions, **given)  # type: ignore[arg-type]


def test_experts_that_do_not_fit_are_refused() -> None:
    for experts, message in (
        ([], "experts: none"),
        ([am.UOBREPS(LAYOUT, 10)], "learns from its own path"),
        ([am.planners.WindowPlanner(GRID.layout)], "another layout"),
        ([np.ones((2, 2))], "policy"),
        ("uniform", "experts: give a list"),
    ):
        with pytest.raises(am.InvalidInput, match=message):
            am.Mixture(LAYOUT, experts)
    learners = [
        am.PerContext(am.planners.WindowPlanner, LAYOUT, n, window=2) for n in (2, 3)
    ]  # fmt: skip
    with pytest.raises(am.InvalidInput, match=r"experts: they have \[2, 3\] contexts"):
        am.Mixture(LAYOUT, learners)


def test_contexts_reach_the_experts() -> None:
    mixture = am.AdaMixture(LAYOUT, DENSE.transitions, n_contexts=2)
    assert len(mixture.weights) == 15
    rng = np.random.default_rng(0)
    mean = rng.normal(size=LAYOUT.n_rows)
    contexts = np.arange(200) % 2
    tables = np.where(contexts[:, np.newaxis] == 0, mean, -mean)
    losses = am.losses.Replayed(tables, any_losses=True)
    run = am.play(DENSE, losses, mixture, 200, contexts=contexts)
    best = sum(am.best_fixed_policy(DENSE, table).loss for table in tables)
    assert run.expected_loss[-1] < 0.95 * best  # what foresight earns; no fixed policy earns any
    assert run.best_loss[-1] > 0.05 * best


def test_experts_of_each_context_learn_as_they_would_alone() -> None:
    """From the policies that they had announced, with estimated transitions as well."""
    parts = {"forgetting": 0.8}
    inside, alone = (am.PerContext(am.EstimatedAdaFTRL, LAYOUT, 2, **parts) for _ in range(2))
    mixture = am.Mixture(LAYOUT, [inside, am.EstimatedAdaFTRL(LAYOUT)])
    rng = np.random.default_rng(0)
    for t in range(30):
        for each in (mixture, alone):
            each.enter(t % 3 % 2)
        table = rng.normal(size=LAYOUT.n_rows)
        if t < 5:
            mixture.observe(table)
            alone.observe(table)
            continue
        states, actions = sample_path(rng, DENSE.transitions, mixture.policy())
        seen = feedback_of(mixture, states, actions, table)
        mixture.update(seen)
        alone.update(seen)
    assert_same_state(inside, alone)
