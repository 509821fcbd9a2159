"""Packs of rows that list their successors: in and out, projections with and without them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

import advmdp as am
from advmdp.kernels.lanes.short_packs import add_short, gather_short, scatter_short, tilt_short
from advmdp.kernels.sets.box.pack_guess import guess_listed
from advmdp.kernels.sets.packed import ListedSuccessors, SharedSuccessors
from advmdp.learners.compiled import forget_scratch
from advmdp.steps import workspace
from tests.reference.contract import assert_same_state, follow
from tests.reference.instances import modest

N_LANES, N_ACTIONS, SIZES = 8, 3, (1, 4, 13, 15, 17, 14, 5, 4, 4, 1)
Array = np.ndarray[Any, Any]


@njit  # type: ignore[untyped-decorator]
def in_and_out(table: Array, start: Array, length: Array, pack: Array, back: Array) -> None:
    gather_short(table, start, length, 0, pack, 1, (len(pack) - 2) // 8)
    scatter_short(pack, 1, start, length, 0, back)


@njit  # type: ignore[untyped-decorator]
def tilted_and_poured(
    p: Array, tilt: Array, near: Array, weight: Array, flow: Array, size: int, out: Array
) -> None:
    tilt_short(p, tilt, near, weight, 0, len(p))
    add_short(p, 0, near, flow, 0, size, out)


@njit  # type: ignore[untyped-decorator]
def guessed(*arguments: Any) -> None:
    guess_listed(*arguments)


def test_rows_of_any_length_come_back_as_they_were() -> None:
    rng = np.random.default_rng(0)
    length = np.array([3, 1, 4, 4, 2, 5, 1, 1])
    start = np.concatenate([np.cumsum([2, *length])[:-2], [0]])
    start[-1] = start[-2]  # a spare slot repeats the last row
    table = rng.normal(size=30)
    pack, back = np.full(2 + N_LANES * 5, np.nan), np.full(30, np.nan)
    in_and_out(table, start, length, pack, back)
    assert np.isnan(pack[[0, -1]]).all()
    for lane, (at, size) in enumerate(zip(start, length, strict=True)):
        column = pack[1:-1].reshape(5, N_LANES)[:, lane]
        assert (column[:size] == np.maximum(table[at : at + size], 0.0)).all()
        assert (column[size:] == 0.0).all()
        assert (back[at : at + size] == column[:size]).all()
    assert np.isnan(back).sum() == len(back) - length[:-1].sum()


def test_weights_are_tilted_and_flows_arrive_where_rows_lead() -> None:
    rng = np.random.default_rng(1)
    size, n = 4, 9
    p, near = rng.random(N_LANES * size), rng.integers(0, n, size=N_LANES * size)
    tilt, flow, weight, out = rng.random(n), rng.random(N_LANES), np.zeros(p.size), np.ones(n)
    tilted_and_poured(p, tilt, near, weight, flow, size, out)
    assert (weight == p * tilt[near]).all()
    expected = 1.0 + np.bincount(near, (p.reshape(size, N_LANES) * flow).ravel(), minlength=n)
    assert out == pytest.approx(expected, rel=1e-14)


def test_bounds_that_will_hold_are_guessed_where_each_row_leads() -> None:
    rng = np.random.default_rng(2)
    size = 3
    p = rng.dirichlet(np.ones(size), size=N_LANES).T
    where = rng.random(p.shape)
    lower, upper = np.where(where < 0.4, p, 0.5 * p), np.where(where > 0.6, p, 2.0 * p)
    push, near = rng.normal(size=7), rng.integers(0, 7, size=p.shape)
    free, mass = np.zeros(p.size), np.zeros(N_LANES)
    tables = [table.ravel() for table in (p, lower, upper)]
    guessed(*tables, free, 0, push, near.ravel(), mass, 0, size)
    way = push[near] - np.sum(p * push[near], axis=0)
    held = ((p >= upper) & (way > 0.0)) | ((p <= lower) & (way < 0.0))
    assert held.any()
    assert (free.reshape(p.shape) == np.where(held, -1.0, p)).all()
    assert mass == pytest.approx(np.where(held, 0.0, p).sum(axis=0), abs=1e-15)


def grid_world(seed: int) -> am.LayeredMDP:
    """Every row leads to between one and five states near its own, as in a grid."""
    rng = np.random.default_rng(seed)
    support, tables = [], []
    for n, after in pairwise(SIZES):
        allowed = np.zeros((n, N_ACTIONS, after), dtype=bool)
        for x, a in np.ndindex(n, N_ACTIONS):
            around = np.unique(np.clip(x * after // n + rng.integers(-3, 4, size=5), 0, after - 1))
            allowed[x, a, rng.permutation(around)[: rng.integers(1, 6)]] = True
        for y in range(after):  # so that every state can be reached
            allowed[y * n // after, y % N_ACTIONS, y] = True
        weights = rng.gamma(2.0, size=allowed.shape) * allowed
        support.append(allowed)
        tables.append(weights / weights.sum(axis=2, keepdims=True))
    return am.LayeredMDP(am.Layout(SIZES, N_ACTIONS, successors=support), tables)


def instance(seed: int, deviation: float) -> tuple[Any, am.BoxSet]:
    """Weights off the world's measure, and boxes from counts, of which some are wide open."""
    mdp = grid_world(seed)
    rng = np.random.default_rng(seed + 1)
    visits = [rng.integers(0, 400, size=p.shape[:2]) for p in mdp.transitions]
    counts = [rng.multinomial(n, p) for n, p in zip(visits, mdp.transitions, strict=True)]
    box = am.BoxSet.from_counts(mdp.layout, visits, counts, 0.3)
    uniform = [np.full(p.shape[:2], 1 / N_ACTIONS) for p in mdp.transitions]
    q = am.occupancy_measure(mdp.transitions, uniform, mdp.layout)
    return [part * np.exp(rng.normal(0.0, deviation, size=part.shape)) for part in q], box


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("deviation", [0.02, 0.5, 3.0])
def test_a_projection_is_the_same_without_packs(
    seed: int, deviation: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights, box = instance(seed, deviation)
    projector = am.Projector(box.layout)
    assert projector._solver.wide is None
    in_packs = projector.project(weights, box)
    assert not in_packs.safe_path
    packed = projector._solver.dual.packed
    assert isinstance(packed.successors, ListedSuccessors)
    assert packed.n_packs.sum() > 4
    assert packed.marks.max() > 0.0
    if deviation == 3.0:
        assert packed.distant.max() > 0
    monkeypatch.setattr(workspace, "LONGEST_LISTED", 0)
    alone = am.Projector(box.layout)
    assert isinstance(alone._solver.dual.packed.successors, SharedSuccessors)
    one_by_one = alone.project(weights, box)
    assert in_packs.iterations == one_by_one.iterations
    for part, other in zip(in_packs.occupancy, one_by_one.occupancy, strict=True):
        assert part == pytest.approx(other, abs=1e-11)


@modest
@given(st.integers(0, 999), st.sampled_from([0.05, 1.0]))
def test_a_projection_reads_nothing_that_another_has_left(seed: int, deviation: float) -> None:
    weights, box = instance(seed, deviation)
    projector = am.Projector(box.layout)
    first = projector.project(weights, box)
    forget_scratch(projector._solver)
    again = projector.project(weights, box)
    assert all(map(np.array_equal, first.occupancy, again.occupancy))
    assert first.iterations == again.iterations


def test_a_learner_goes_on_with_the_same_bits() -> None:
    """What packs and blocks hold between episodes is no part of a state."""
    mdp = grid_world(5)
    parameters = {"n_episodes": 3000, **am.PRACTICAL["uob-reps"]}
    learner, other = (am.UOBREPS(mdp.layout, **parameters) for _ in range(2))
    losses = am.losses.Majority.against(
        [np.random.default_rng(3).random((n, N_ACTIONS)) for n in SIZES[:-1]], period=100
    )
    run = am.play(mdp, losses, learner, n_episodes=600, seed=0)
    assert run.solver.worst_gap <= 1e-13
    assert learner.kernel_state.step.solver.dual.packed.n_packs.sum() > 0
    other.restore(learner.state())
    for each in (learner, other):
        follow(each, mdp, 0, 20)
    assert_same_state(learner, other)


def test_entries_too_small_for_floats_are_no_hindrance() -> None:
    """Eager steps and narrow boxes: rows all of whose free entries are logarithms."""
    mdp = grid_world(1)
    learner = am.UCOREPSBox(mdp.layout, n_episodes=3000, log_scale=1e-4, eta_scale=256.0)
    losses = am.losses.Majority.against(
        [np.random.default_rng(3).random((n, N_ACTIONS)) for n in SIZES[:-1]], period=100
    )
    run = am.play(mdp, losses, learner, n_episodes=900, seed=0)
    assert np.isfinite(run.regret).all()
    assert run.solver.worst_gap <= 1e-13
    assert run.solver.safe_paths < 0.1 * 900
