"""AdaO-REPS: the leader by another solver, AdaHedge, its certificate, its invariances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import advmdp as am
from advmdp.kernels.learners import interface
from advmdp.kernels.model.visits import EPISODES
from advmdp.learners.adaptive.any_losses import NOWHERE
from advmdp.learners.base import CertifiesRegret, offers
from tests.adaptive.test_ada_ftrl import BANDIT, WILD, feed, wild
from tests.reference.contract import DENSE, GRID, WORLDS, flat, losses_of, made
from tests.reference.plain_ada_ftrl import expected


def known(mdp: am.LayeredMDP, **given: Any) -> am.AdaOREPS:
    return am.AdaOREPS(mdp.layout, mdp.transitions, **given)


class PlainAdaOREPS:
    """The regularised leader argmin <q, S + c m> + D(q || q_1) / eta, by ``am.minimise``.

    On Delta(P) the divergence from the measure of largest entropy is the entropy that lacks.
    """

    def __init__(self, mdp: am.LayeredMDP, forgetting: float, weight: float) -> None:
        self.mdp, self.forgetting, self.weight = mdp, forgetting, weight
        self.known = am.KnownTransition(mdp.layout, mdp.transitions)
        self.total, self.hint = np.zeros((2, mdp.layout.n_rows))
        self.gaps = 0.0
        self.most = -self.least(np.zeros(mdp.layout.n_rows), 1.0)[0]

    def least(self, costs: Any, eta: float) -> tuple[float, np.ndarray[Any, Any]]:
        """min of <q, costs> - H(q) / eta, and where it is."""
        table = self.mdp.layout.pairs(eta * costs)
        found = am.minimise(table, self.known, am.Entropy(1.0))
        pairs = np.concatenate([layer.sum(axis=2).ravel() for layer in found.occupancy])
        entropy = -(pairs * np.log(np.maximum(pairs, 1e-300))).sum()
        return pairs @ costs - entropy / eta, pairs

    def occupancy(self) -> np.ndarray[Any, Any]:
        if not self.gaps:
            return self.least(np.zeros_like(self.total), 1.0)[1]
        return self.least(self.total + self.weight * self.hint, self.most / self.gaps)[1]

    def update(self, losses: np.ndarray[Any, Any]) -> None:
        q = self.occupancy()
        if self.gaps:
            eta = self.most / self.gaps
            hinted = self.weight * self.hint
            before = self.least(self.total + hinted, eta)[0]
            gap = q @ (losses - hinted) - (self.least(self.total + losses, eta)[0] - before)
        else:
            gap = q @ losses - am.best_fixed_policy(self.mdp, losses).loss
        self.gaps = self.forgetting * (self.gaps + gap)
        self.total = self.forgetting * (self.total + losses)
        self.hint = losses


@pytest.mark.parametrize("world", ["dense", "declared support"])
@pytest.mark.parametrize(("forgetting", "weight"), [(1.0, 0.0), (0.8, 2.0)])
def test_it_is_the_regularised_leader(world: str, forgetting: float, weight: float) -> None:
    mdp = WORLDS[world]
    learner = known(mdp, forgetting=forgetting, hint_weight=weight)
    plain = PlainAdaOREPS(mdp, forgetting, weight)
    for t in range(25):
        ours = np.concatenate([layer.sum(axis=2).ravel() for layer in learner.occupancy()])
        np.testing.assert_allclose(ours, plain.occupancy(), atol=1e-6)
        losses = 300.0 * np.concatenate([table.ravel() for table in losses_of(mdp, t)]) - 100.0
        learner.observe(losses)
        plain.update(losses)
        assert learner.forgetting * learner.gap_sum == pytest.approx(plain.gaps, rel=1e-5)


def test_one_state_is_ada_hedge_in_closed_form() -> None:
    losses = np.random.default_rng(0).normal(size=(200, 4)) * [1.0, 5.0, 0.1, 2.0]
    learner = known(BANDIT)
    policies = feed(learner, losses)
    total, gaps = np.zeros(4), 0.0
    for weights, loss in zip(policies, losses, strict=False):
        eta = math.log(4) / gaps if gaps else 0.0
        ours = np.exp(-eta * (total - total.min()))
        np.testing.assert_allclose(weights, ours / ours.sum(), atol=1e-8)
        mix = loss.min()
        if gaps:
            mix -= np.log(weights @ np.exp(-eta * (loss - loss.min()))) / eta
        gaps += weights @ loss - mix
        total += loss
    assert learner.gap_sum == pytest.approx(gaps, rel=1e-9)


@pytest.mark.parametrize("world", [DENSE, GRID])
@pytest.mark.parametrize("kind", WILD)
def test_regret_never_exceeds_the_certificate(kind: str, world: am.LayeredMDP) -> None:
    """After every episode, for every sequence, by definition and not by luck."""
    tables = wild(world.layout, kind, 80)
    losses = am.losses.Replayed(tables, any_losses=True)
    run = am.play(world, losses, known(world), 80, checkpoints=range(1, 81))
    assert run.regret_bound is not None
    rounding = 1e-12 * np.abs(tables).max(axis=1).cumsum() * world.layout.n_layers
    assert (run.regret <= run.regret_bound + rounding).all()
    assert (np.diff(run.regret_bound) >= 0.0).all()


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), forgetting=st.floats(0.3, 1.0), spread=st.floats(-3.0, 3.0))
def test_discounted_regret_never_exceeds_twice_the_gaps(
    seed: int, forgetting: float, spread: float
) -> None:
    rng = np.random.default_rng(seed)
    tables = rng.normal(size=(30, DENSE.layout.n_rows)) * np.exp(spread * rng.normal(size=(30, 1)))
    learner = known(DENSE, forgetting=forgetting)
    suffered, total = 0.0, np.zeros(DENSE.layout.n_rows)
    for table in tables:
        loss = expected(DENSE, learner.policy(), DENSE.layout.pairs(table))
        suffered = forgetting * suffered + loss
        total = forgetting * total + table
        learner.observe(table)
        best = am.best_fixed_policy(DENSE, total).loss
        assert suffered - best <= 2.0 * learner.gap_sum + 1e-9 * np.abs(tables).max()


@pytest.mark.parametrize("name", ["ada-o-reps", "ada-uc-o-reps"])
@pytest.mark.parametrize(("unit", "offset"), [(1e-6, 0.0), (4096.0, 0.0), (1.0, 37.0)])
def test_units_and_offsets_change_no_policy(name: str, unit: float, offset: float) -> None:
    tables = np.random.default_rng(3).normal(size=(40, DENSE.layout.n_rows))
    plain = feed(made(name, DENSE), tables)
    moved = feed(made(name, DENSE), unit * tables + offset)
    np.testing.assert_allclose(moved, plain, atol=1e-6)


def test_promises_of_the_set_exceed_no_policy_by_more_than_twice_the_gaps() -> None:
    """Over confidence sets: while they hold P, <q_t, l_t> and not the true losses."""
    learner = am.AdaUCOREPS(DENSE.layout, log_scale=0.3)
    rng = np.random.default_rng(5)
    promised, total = 0.0, np.zeros(DENSE.layout.n_rows)
    for table in rng.normal(size=(200, DENSE.layout.n_rows)) + np.eye(1, DENSE.layout.n_rows)[0]:
        q = np.concatenate([layer.sum(axis=2).ravel() for layer in learner.occupancy()])
        promised += q @ table
        total += table
        states, actions = [0], []
        for k, policy in enumerate(learner.policy()):
            actions.append(int(rng.choice(DENSE.layout.n_actions, p=policy[states[-1]])))
            row = DENSE.transitions[k][states[-1], actions[-1]]
            states.append(int(rng.choice(len(row), p=row)))
        learner.update(am.FullInformation(states, actions, table))
        best = am.best_fixed_policy(DENSE, total).loss
        assert promised - best <= 2.0 * learner.gap_sum + 1e-9
    assert learner.epoch > 10
    assert learner.mean_width < 1.0


def test_an_episode_that_is_taken_back_leaves_no_trace() -> None:
    learner = known(DENSE, hint_weight=2.0, hint_window=3)
    tables = np.random.default_rng(3).normal(size=(12, DENSE.layout.n_rows))
    feed(learner, tables[:-1])
    before = learner.state()
    learner.observe(tables[-1])
    state = learner.kernel_state
    state.visits.clock[EPISODES] -= 1  # as if it had not been settled
    interface.undo_update(DENSE.layout.graph(), state, NOWHERE, NOWHERE)
    now = learner.state()
    for name in ("step.measure.policy", "step.measure.mass", "gaps", "hint.mean", "hint.tables"):
        assert np.array_equal(now[name], before[name]), name


def test_a_certificate_is_for_known_transitions_and_a_memory_without_end() -> None:
    assert offers(made("ada-o-reps", DENSE), CertifiesRegret)
    assert not offers(known(DENSE, forgetting=0.9), CertifiesRegret)
    assert not offers(made("ada-uc-o-reps", DENSE), CertifiesRegret)


def test_it_can_be_an_expert_and_serve_contexts() -> None:
    tables = np.random.default_rng(3).normal(size=(30, DENSE.layout.n_rows))
    experts = {"mirror": known(DENSE), "leader": am.AdaFTRL(DENSE.layout, DENSE.transitions)}
    mixture = am.Mixture(DENSE.layout, experts, DENSE.transitions)
    kinds = am.PerContext(am.AdaOREPS, DENSE.layout, 2, transitions=DENSE.transitions)
    losses = am.losses.Replayed(tables, any_losses=True)
    am.play(DENSE, losses, mixture, 30)
    assert flat(mixture.policy()).min() >= 0.0
    am.play(DENSE, losses, kinds, 30, contexts=np.arange(30) % 2)
    twin = known(DENSE)
    feed(twin, tables[::2])
    kinds.enter(0)
    np.testing.assert_allclose(flat(kinds.policy()), flat(twin.policy()), atol=1e-9)
