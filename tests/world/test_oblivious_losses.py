"""The loss processes that are fixed in advance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from advmdp.errors import InvalidInput
from advmdp.layout import Floats, Layout, Table
from advmdp.world.families import random_mdp
from advmdp.world.losses import (
    Adaptive,
    Corrupted,
    Custom,
    Drifting,
    LossProcess,
    Majority,
    Replayed,
    Stochastic,
    Switching,
)
from tests.reference.brute_force import deterministic_policies
from tests.reference.tables import inner, occupancy, pair_sums

LAYOUT = Layout((1, 3, 2, 1), n_actions=2)
RNG = np.random.default_rng(11)
TABLES = [LAYOUT.pairs(RNG.random(LAYOUT.n_rows)) for _ in range(3)]
FLAT = [LAYOUT.flat_pairs(table) for table in TABLES]

EVERY_PROCESS: dict[str, LossProcess] = {
    "stochastic": Stochastic(TABLES[0]),
    "switching": Switching(TABLES, period=3, noisy=True),
    "majority": Majority(TABLES[0], TABLES[1], period=5, adverse_share=0.25),
    "drifting": Drifting(TABLES[0], TABLES[1], period=9, noisy=True),
    "corrupted": Corrupted(TABLES[0], TABLES[1], n_corrupted=6, n_episodes=30),
    "replayed": Replayed(TABLES, repeat=True),
    "adaptive": Adaptive(TABLES[0], noisy=True),
    "custom": Custom(lambda episode, history: FLAT[episode % 3]),
}
DETERMINISTIC = {"replayed", "custom"}


def tables_of(process: LossProcess, n_episodes: int, seed: int = 0) -> Floats:
    stream = process.begin(LAYOUT, seed)
    return np.array([stream.table(t) for t in range(n_episodes)])


@pytest.mark.parametrize("name", EVERY_PROCESS)
def test_losses_lie_in_the_unit_interval_and_follow_the_seed(name: str) -> None:
    process = EVERY_PROCESS[name]
    first = tables_of(process, 30)
    assert first.shape == (30, LAYOUT.n_rows)
    assert first.min() >= 0.0
    assert first.max() <= 1.0
    assert np.array_equal(first, tables_of(process, 30))
    assert np.array_equal(first[17], process.begin(LAYOUT, 0).table(17))  # any order
    same_for_all_seeds = np.array_equal(first, tables_of(process, 30, seed=1))
    assert same_for_all_seeds == (name in DETERMINISTIC)


@pytest.mark.parametrize("name", EVERY_PROCESS)
def test_a_process_is_frozen_and_its_tables_are_its_own(name: str) -> None:
    process = EVERY_PROCESS[name]
    with pytest.raises(AttributeError):
        process.period = 1  # type: ignore[attr-defined]
    stream = process.begin(LAYOUT, 0)
    stream.table(0)[:] = np.nan
    assert np.isfinite(stream.table(0)).all()


def test_a_process_keeps_a_copy_of_what_it_was_given() -> None:
    table = np.zeros(LAYOUT.n_rows)
    process = Stochastic(table)
    table[:] = 1.0
    assert not tables_of(process, 1).any()


def test_stochastic_losses_are_coins_with_the_given_means() -> None:
    """Each of 12 pairs within 6 standard deviations; a false alarm has probability below 1e-7."""
    n = 4000
    losses = tables_of(Stochastic(TABLES[0]), n)
    assert set(np.unique(losses)) == {0.0, 1.0}
    mean = FLAT[0]
    assert np.all(np.abs(losses.sum(0) - n * mean) <= 6 * np.sqrt(n * mean * (1 - mean)))


def test_switching_is_exactly_periodic() -> None:
    losses = tables_of(Switching(TABLES, period=4), 36)
    assert np.array_equal(losses[:12], losses[12:24])
    assert np.array_equal(losses[:12], np.repeat(FLAT, 4, axis=0))


def test_drifting_moves_smoothly_from_start_to_end_and_back() -> None:
    losses = tables_of(Drifting(TABLES[0], TABLES[1], period=40), 81)
    assert np.array_equal(losses[0], FLAT[0])
    assert np.allclose(losses[20], FLAT[1], rtol=0, atol=1e-15)
    assert np.array_equal(losses[:40], losses[40:80])
    assert np.allclose(losses[1:40], losses[39:0:-1], rtol=0, atol=1e-15)
    # the wave has slope at most 3 per period
    assert np.abs(np.diff(losses, axis=0)).max() <= 3 / 40 + 1e-12


def test_corrupted_has_exactly_so_many_corrupted_episodes() -> None:
    calm, wild = np.zeros(LAYOUT.n_rows), np.ones(LAYOUT.n_rows)
    losses = tables_of(Corrupted(calm, wild, n_corrupted=7, n_episodes=60), 100)
    corrupted = losses.min(axis=1) == 1.0
    assert corrupted[:60].sum() == 7
    assert not losses[~corrupted].any()
    assert not losses[60:].any()
    other = tables_of(Corrupted(calm, wild, n_corrupted=7, n_episodes=60, seed=1), 60)
    assert not np.array_equal(other, losses[:60])
    every = tables_of(Corrupted(calm, wild, n_corrupted=20, n_episodes=20), 21)
    assert every[:20].all()
    assert not every[20].any()
    none = tables_of(Corrupted(calm, wild, n_corrupted=0, n_episodes=60), 60)
    assert not none.any()


def ranking(transitions: Table, losses: Floats, layout: Layout) -> Floats:
    """The total loss of every deterministic policy."""
    total = layout.pairs(losses.sum(axis=0))
    policies = deterministic_policies(layout.layer_sizes, layout.n_actions)
    return np.array([inner(pair_sums(occupancy(transitions, pi)), total) for pi in policies])


def test_majority_against_keeps_the_ranking_of_all_policies_at_every_prefix() -> None:
    mdp = random_mdp((1, 2, 2, 1), n_actions=2, seed=5)
    usual = np.random.default_rng(6).random(mdp.layout.n_rows)
    process = Majority.against(usual, period=10, adverse_share=0.4, noisy=False)
    stream = process.begin(mdp.layout, 0)
    losses = np.array([stream.table(t) for t in range(35)])
    assert [t for t in range(35) if not np.array_equal(losses[t], usual)] == [
        *range(6, 10), *range(16, 20), *range(26, 30),
    ]  # fmt: skip
    values = ranking(mdp.transitions, usual[None], mdp.layout)
    best = np.flatnonzero(values <= values.min() + 1e-12)
    for n in range(1, 36):
        adverse = sum(t % 10 >= 6 for t in range(n))
        total = ranking(mdp.transitions, losses[:n], mdp.layout)
        assert np.allclose(total, (n - 2 * adverse) * values + 3 * adverse, rtol=0, atol=1e-11)
        assert np.array_equal(np.flatnonzero(total <= total.min() + 1e-11), best)


def test_majority_with_any_adverse_table_has_one_best_policy_at_whole_periods() -> None:
    mdp = random_mdp((1, 2, 2, 1), n_actions=2, seed=8)
    usual, adverse = np.random.default_rng(9).random((2, mdp.layout.n_rows))
    process = Majority(usual, adverse, period=5, adverse_share=0.4, noisy=False)
    stream = process.begin(mdp.layout, 0)
    losses = np.array([stream.table(t) for t in range(20)])
    expected = int(
        ranking(mdp.transitions, (0.6 * usual + 0.4 * adverse)[None], mdp.layout).argmin()
    )
    for n in (5, 10, 15, 20):
        assert int(ranking(mdp.transitions, losses[:n], mdp.layout).argmin()) == expected


def test_majority_counts_whole_adverse_episodes() -> None:
    assert Majority(TABLES[0], TABLES[1], period=100, adverse_share=0.29).n_adverse == 29
    assert Majority.against(TABLES[0]).n_adverse == 30


def test_replayed_gives_back_the_record_and_refuses_to_go_beyond_it() -> None:
    for record in (TABLES, np.array(FLAT)):
        stream = Replayed(record).begin(LAYOUT, 0)
        assert np.array_equal([stream.table(t) for t in range(3)], FLAT)
        stream.check_length(3)
        with pytest.raises(InvalidInput, match="3 recorded episodes cannot serve 4; play fewer"):
            stream.check_length(4)
        with pytest.raises(InvalidInput, match="set repeat=True"):
            stream.table(3)
    repeated = Replayed(TABLES, repeat=True).begin(LAYOUT, 0)
    repeated.check_length(1000)
    assert np.array_equal(repeated.table(7), FLAT[1])


BAD = [np.array([[0.5, 0.5]]), np.array([[0.5, 0.5], [0.5, 1.25], [0.5, 0.5]]), np.ones((2, 2))]
PLACE = "1.25 at layer 1, state 1, action 1; losses lie in [0, 1]"


@pytest.mark.parametrize(
    ("process", "message"),
    [
        (Stochastic(BAD), f"mean: {PLACE}"),
        (Switching([TABLES[0], BAD], period=2), f"tables[1]: {PLACE}"),
        (Majority(TABLES[0], BAD), f"adverse: {PLACE}"),
        (Majority.against(BAD), f"usual: {PLACE}"),
        (Drifting(BAD, TABLES[0], period=2), f"start: {PLACE}"),
        (Corrupted(TABLES[0], BAD, 1, 2), f"corrupted_table: {PLACE}"),
        (Adaptive(BAD), f"base: {PLACE}"),
        (Replayed([TABLES[0], BAD]), f"tables[1]: {PLACE}"),
        (Stochastic(-FLAT[0]), "mean: -"),
        (Stochastic(np.full(LAYOUT.n_rows, np.nan)), "mean: nan at layer 0, state 0, action 0"),
        (Stochastic(np.ones(5)), "mean: a flat vector needs 12 values, got 5"),
        (Stochastic(TABLES[0][:2]), "mean: give a list of 3 arrays"),
        (Switching([], period=2), "tables: give a sequence of at least one pair table"),
        (Replayed(np.array([0.5, 0.5])), "tables[0]: give a list of 3 arrays"),
        (Replayed(7), "tables: give a sequence of at least one pair table"),
    ],
)
def test_a_bad_table_is_refused_at_the_beginning_with_its_place(
    process: LossProcess, message: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        process.begin(LAYOUT, 0)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


T: Any = TABLES[0]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Switching([T], period=0), "period: 0 is not a whole number of at least 1"),
        (lambda: Switching([T], period=2.0), "period: 2.0 is not a whole number"),  # type: ignore[arg-type]
        (lambda: Drifting(T, T, period=1), "period: 1 is not a whole number of at least 2"),
        (lambda: Majority(T, T, adverse_share=0.5), "adverse_share: 0.5 leaves no majority"),
        (lambda: Majority(T, T, adverse_share=-0.1), r"adverse_share: -0.1 is outside \[0, 1\]"),
        (lambda: Majority(T, T, period=3), "adverse_share: 0.3 of a period of 3 is no whole"),
        (lambda: Majority.against(None), "usual: give a pair table"),
        (lambda: Corrupted(T, T, 3, 2), "n_corrupted: 3 exceeds the 2 episodes"),
        (lambda: Corrupted(T, T, -1, 2), "n_corrupted: -1 is not a whole number of at least 0"),
        (lambda: Corrupted(T, T, 1, 2, seed=-1), "seed: -1 is not a whole number"),
        (lambda: Adaptive(T, strength=1.5), r"strength: 1.5 is outside \[0, 1\]"),
        (lambda: Adaptive(T, memory=1.0), r"memory: 1.0 is outside \[0, 1\)"),
        (lambda: Adaptive(T, memory="long"), "memory: 'long' is not a number"),  # type: ignore[arg-type]
        (lambda: Custom(3), "function: give a callable"),  # type: ignore[arg-type]
    ],
)
def test_bad_arguments_are_refused_when_the_process_is_built(
    build: Callable[[], LossProcess], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        build()
    assert "\n" not in str(caught.value)
