"""AdaFTRL: its formulas, its certificate on wild sequences, its invariances, its estimate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import advmdp as am
from advmdp.learners.base import CertifiesRegret, offers
from tests.reference.contract import DENSE, GRID, WORLDS, flat, losses_of, made
from tests.reference.plain_ada_ftrl import PlainAdaFTRL, expected

BANDIT = am.families.random_mdp((1, 1), 4, seed=2)


def feed(learner: Any, tables: Any) -> np.ndarray[Any, Any]:
    """The policies before each table and after the last."""
    policies = [flat(learner.policy())]
    for table in tables:
        learner.observe(table)
        policies.append(flat(learner.policy()))
    return np.array(policies)


def wild(layout: am.Layout, kind: str, n: int) -> np.ndarray[Any, Any]:
    """Sequences that have broken learners: growing, alternating, heavy-tailed, nearly constant."""
    rng = np.random.default_rng(5)
    noise = rng.standard_cauchy((n, layout.n_rows))
    t = np.arange(n)[:, np.newaxis]
    sign = np.where(rng.random(layout.n_rows) < 0.5, -1.0, 1.0)
    return {
        "heavy tails": noise,
        "growing": noise * 1.5 ** (t / 4),
        "dying": noise * 0.7**t,
        "alternating": sign * (-1.0) ** t * 1e6,
        "one shock": np.where(t == n // 2, 1e8, 1e-8) * sign,
        "nothing, then much": np.where(t < n // 2, 0.0, noise),
        "constant": np.full((n, layout.n_rows), -7.25e5),
        "a hair apart": 1e9 + rng.random((n, layout.n_rows)),
    }[kind]


WILD = (
    *("heavy tails", "growing", "dying", "alternating", "one shock"),
    *("nothing, then much", "constant", "a hair apart"),
)


# ---------------------------------------------------------------------- the formulas


@pytest.mark.parametrize("world", ["dense", "declared support", "one layer"])
@pytest.mark.parametrize(("forgetting", "weight"), [(1.0, 0.0), (0.9, 0.0), (1.0, 2.0), (0.8, 5.0)])
def test_it_is_the_formula(world: str, forgetting: float, weight: float) -> None:
    mdp = WORLDS[world]
    learner = am.AdaFTRL(mdp.layout, mdp.transitions, forgetting, weight)
    plain = PlainAdaFTRL(mdp, forgetting, weight)
    for t in range(60):
        np.testing.assert_allclose(flat(learner.policy()), flat(plain.policy()), atol=2e-7)
        losses = [300.0 * table - 100.0 for table in losses_of(mdp, t)]
        learner.observe(losses)
        plain.update(losses)
        assert 2.0 * learner.gap_sum == pytest.approx(plain.bound, rel=1e-8)


def test_one_state_is_ada_hedge_in_closed_form() -> None:
    losses = np.random.default_rng(0).normal(size=(200, 4)) * [1.0, 5.0, 0.1, 2.0]
    policies = feed(am.AdaFTRL(BANDIT.layout, BANDIT.transitions), losses)
    total, gaps = np.zeros(4), 0.0
    for weights, loss in zip(policies, losses, strict=False):
        eta = math.log(4) / gaps if gaps else math.inf
        best = total.min()
        ours = np.exp(-eta * (total - best)) if gaps else (total == best) * 1.0
        np.testing.assert_allclose(weights, ours / ours.sum(), atol=1e-9)
        if gaps:
            mix = -np.log(weights @ np.exp(-eta * (loss - loss.min()))) / eta + loss.min()
        else:
            mix = (total + loss).min() - best
        gaps += weights @ loss - mix
        total += loss


@pytest.mark.parametrize("weight", [0.0, 3.0])
@pytest.mark.parametrize("world", [DENSE, GRID])
@pytest.mark.parametrize("kind", WILD)
def test_regret_never_exceeds_the_certificate(
    kind: str, world: am.LayeredMDP, weight: float
) -> None:
    """After every episode, for every sequence, by definition and not by luck."""
    tables = wild(world.layout, kind, 80)
    learner = am.AdaFTRL(world.layout, world.transitions, hint_weight=weight)
    losses = am.losses.Replayed(tables, any_losses=True)
    run = am.play(world, losses, learner, 80, checkpoints=range(1, 81))
    assert run.regret_bound is not None
    rounding = 1e-12 * np.abs(tables).max(axis=1).cumsum() * world.layout.n_layers
    assert (run.regret <= run.regret_bound + rounding).all()
    assert (np.diff(run.regret_bound) >= 0.0).all()
    assert run.regret_bound[-1] == learner.regret_bound


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    forgetting=st.floats(0.3, 1.0),
    weight=st.floats(0.0, 20.0),
    spread=st.floats(-3.0, 3.0),
)
def test_discounted_regret_never_exceeds_twice_the_gaps(
    seed: int, forgetting: float, weight: float, spread: float
) -> None:
    rng = np.random.default_rng(seed)
    tables = rng.normal(size=(30, DENSE.layout.n_rows)) * np.exp(spread * rng.normal(size=(30, 1)))
    learner = am.AdaFTRL(DENSE.layout, DENSE.transitions, forgetting, weight)
    suffered, total = 0.0, np.zeros(DENSE.layout.n_rows)
    for table in tables:
        suffered = forgetting * suffered + expected(
            DENSE, learner.policy(), DENSE.layout.pairs(table)
        )
        total = forgetting * total + table
        learner.observe(table)
        best = am.best_fixed_policy(DENSE, total).loss
        assert suffered - best <= 2.0 * learner.gap_sum + 1e-9 * np.abs(tables).max()


def test_a_certificate_is_for_known_transitions_and_a_memory_without_end() -> None:
    assert offers(made("ada-ftrl", DENSE), CertifiesRegret)
    forgetful = am.AdaFTRL(DENSE.layout, DENSE.transitions, forgetting=0.9)
    assert not offers(forgetful, CertifiesRegret)
    assert not offers(made("ada-ftrl-estimated", DENSE), CertifiesRegret)
    losses = am.losses.Stochastic(losses_of(DENSE, 0))
    assert am.play(DENSE, losses, forgetful, 20).regret_bound is None
    used = made("ada-ftrl", DENSE)
    used.observe(losses_of(DENSE, 0))
    assert am.play(DENSE, losses, used, 20).regret_bound is None  # it bounds more than this run


def test_the_certificate_survives_a_resumed_run() -> None:
    losses, snapshots = am.losses.Stochastic(losses_of(DENSE, 0)), {}

    def keep(episodes: int, snapshot: Any) -> None:
        snapshots[episodes] = snapshot()

    whole = am.play(DENSE, losses, made("ada-ftrl", DENSE), 300, keep=keep, compiled=False)
    again = am.play(DENSE, losses, made("ada-ftrl", DENSE), 300, resume=snapshots[117])
    assert whole.regret_bound is not None
    assert again.regret_bound is not None
    assert np.array_equal(whole.regret_bound, again.regret_bound)
    broken = {**snapshots[117], "points.bound": np.array([np.nan])}
    with pytest.raises(am.InvalidInput, match=r"points\.bound"):
        am.play(DENSE, losses, made("ada-ftrl", DENSE), 300, resume=broken)


# ---------------------------------------------------------------------- invariances


@pytest.mark.parametrize("forgetting", [1.0, 0.8])
def test_units_and_zero_points_change_no_policy(forgetting: float) -> None:
    tables = np.random.default_rng(1).normal(size=(60, DENSE.layout.n_rows))

    def policies(scale: float, shift: float) -> np.ndarray[Any, Any]:
        learner = am.AdaFTRL(DENSE.layout, DENSE.transitions, forgetting, hint_weight=1.0)
        return feed(learner, scale * tables + shift)

    plain = policies(1.0, 0.0)
    assert np.array_equal(policies(2.0**40, 0.0), plain)  # the same bits
    np.testing.assert_allclose(policies(1e-7 / 3, 0.0), plain, atol=1e-9)
    np.testing.assert_allclose(policies(1.0, 50.0), plain, atol=1e-6)


def test_gaps_do_not_collapse_where_rates_are_large() -> None:
    """A thousand equal episodes, then small differences on top of huge sums."""
    learner = am.AdaFTRL(BANDIT.layout, BANDIT.transitions)
    feed(learner, np.tile([0.0, 1e6, 2e6, 3e6], (1000, 1)))
    before = learner.gap_sum
    feed(learner, np.tile([1e-3, 0.0, 0.0, 0.0], (5, 1)))
    assert learner.gap_sum >= before > 0.0
    assert np.isfinite(flat(learner.policy())).all()


# ---------------------------------------------------------------------- the estimate


def test_a_known_transition_counts_nothing_and_an_estimated_one_everything() -> None:
    losses = am.losses.Stochastic(losses_of(DENSE, 0))
    learner = am.EstimatedAdaFTRL(DENSE.layout, prior=0.5)
    am.play(DENSE, losses, learner, 400, seed=2)
    state = learner.state()
    pairs, triples = state["transition.pairs"], state["transition.triples"]
    assert pairs.sum() == 400 * DENSE.layout.n_layers
    sizes = DENSE.layout.row_sizes()
    chance = DENSE.layout.flat_triples(learner.transition)
    imagined = chance * np.repeat(pairs + 0.5, sizes) - triples
    rows = np.split(imagined, DENSE.layout.row_start[1:-1])
    np.testing.assert_allclose([row.max() for row in rows], 0.5, atol=1e-9)  # all on one successor
    np.testing.assert_allclose([np.abs(row).sum() for row in rows], 0.5, atol=1e-9)
    first = DENSE.layout.layer_entries(0)
    close = np.abs(chance - np.array(DENSE.flat))[first].max()
    assert close < 0.15  # the first pair was visited a hundred times


def test_what_was_never_tried_is_imagined_to_go_well() -> None:
    """One step to a good or a bad state, the better action never seen: it looks best of all."""
    layout = am.Layout((1, 2, 1), 2)
    learner = am.EstimatedAdaFTRL(layout, prior=1.0)
    losses = [np.zeros((1, 2)), np.array([[0.0, 0.0], [9.0, 9.0]])]
    for _ in range(20):
        learner.update(am.FullInformation([0, 1, 0], [0, 0], losses))  # action 0 led to the bad one
    assert learner.policy()[0][0, 1] > 0.9
    np.testing.assert_allclose(learner.transition[0][0], [[1 / 21, 20 / 21], [1.0, 0.0]])


def test_shared_rows_count_together_and_known_rows_stay() -> None:
    pooled = am.families.grid(2, 2, horizon=4, pooled=True)
    learner = am.EstimatedAdaFTRL(pooled.layout, prior=1.0)
    am.play(pooled, am.losses.Stochastic(losses_of(pooled, 0)), learner, 50)
    state, counter = learner.state(), pooled.layout.counter_row
    chance, triples = state["transition.chance"], state["transition.triples"]
    assert counter is not None
    assert (counter != np.arange(len(counter))).any()
    begin, sizes = pooled.layout.row_start, pooled.layout.row_sizes()
    for r, c in enumerate(counter):
        mine, counted = chance[begin[r] : begin[r + 1]], triples[begin[c] : begin[c] + sizes[r]]
        imagined = mine * (counted.sum() + 1.0) - counted
        assert imagined.max() == pytest.approx(1.0)
        assert np.abs(imagined).sum() == pytest.approx(1.0)
    assert state["transition.pairs"].sum() == 50 * pooled.layout.n_layers
    knowing = DENSE.with_known_rows(np.arange(DENSE.layout.n_rows) % 2 == 0)
    learner = am.EstimatedAdaFTRL(knowing.layout)
    am.play(knowing, am.losses.Stochastic(losses_of(DENSE, 0)), learner, 50)
    known = np.repeat(np.arange(DENSE.layout.n_rows) % 2 == 0, DENSE.layout.row_sizes())
    chance = learner.state()["transition.chance"]
    assert np.array_equal(chance[known], np.array(DENSE.flat)[known])


def test_a_good_hint_lowers_the_certificate() -> None:
    tables = np.random.default_rng(4).random((100, DENSE.layout.n_rows))

    def bound(weight: float, told: Any) -> float:
        learner = am.AdaFTRL(DENSE.layout, DENSE.transitions, 1.0, weight, hint_window=0)
        for table in tables:
            learner.hint(told(table))
            learner.observe(table)
        return learner.regret_bound

    without = bound(0.0, lambda table: table)
    assert bound(1.0, lambda table: table) == pytest.approx(0.0, abs=1e-9)
    assert bound(1.0, lambda table: table + 0.1) < 0.1 * without
    assert bound(1.0, lambda table: 1.0 - table) > without


def test_losses_of_a_users_own_may_have_any_unit() -> None:
    def prices(episode: int, history: Any) -> Any:
        return np.cos(np.arange(DENSE.layout.n_rows) + episode) * 1e4

    losses, snapshots = am.losses.Custom(prices, any_losses=True), {}

    def keep(episodes: int, snapshot: Any) -> None:
        snapshots[episodes] = snapshot()

    whole = am.play(DENSE, losses, made("ada-ftrl", DENSE), 50, keep=keep)
    again = am.play(DENSE, losses, made("ada-ftrl", DENSE), 50, resume=snapshots[20])
    assert np.array_equal(whole.regret, again.regret)
    assert whole.regret_bound is not None
    assert (whole.regret <= whole.regret_bound + 1e-6).all()
    with pytest.raises(am.InvalidInput, match=r"needs losses in \[0, 1\]"):
        am.play(DENSE, losses, made("uob-reps", DENSE), 40)
    with pytest.raises(am.InvalidInput, match=r"losses lie in \[0, 1\]"):
        am.play(DENSE, am.losses.Custom(prices), made("ada-ftrl", DENSE), 50)
