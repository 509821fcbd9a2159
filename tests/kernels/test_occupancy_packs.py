"""Bounds of a whole path in packs, against COMP-UOB for one state and linear programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

import advmdp as am
from advmdp.kernels.planning.occupancy_packs import fill_pack, largest_in_packs, open_pack
from advmdp.kernels.planning.ranking import rank_descending, sort_descending
from advmdp.kernels.planning.upper_occupancy import largest_state_occupancy
from advmdp.layout import Layout
from advmdp.steps.workspace import LEAST_PACKED, NARROW, new_reach
from tests.kernels.test_occupancy_lanes import random_rows
from tests.reference.instances import modest
from tests.reference.linear_programs import best_row

N_LANES = 8
Array = np.ndarray[Any, Any]


@njit  # type: ignore[untyped-decorator]
def best_of_pack(lower: Array, upper: Array, value: Array, order: Array, out: Array) -> None:
    size, slack = len(value), np.zeros(N_LANES)
    open_pack(lower, upper, 0, slack, 0, size)
    count = int(rank_descending(value, 0, size, order))
    fill_pack(lower, upper, 0, slack, 0, order, value, 0, count, out)


@njit  # type: ignore[untyped-decorator]
def ranked(value: Array, begin: int, n: int, order: Array) -> float:
    return rank_descending(value, begin, n, order)


@modest
@given(st.integers(1, 20), st.integers(0, 9999))
def test_the_best_of_eight_rows(size: int, seed: int) -> None:
    """A fractional knapsack in every lane, against HiGHS."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(size, 0.5), size=N_LANES)
    width = rng.choice([0.0, 0.1, 1.0], size=(N_LANES, 1)) * rng.random((N_LANES, size))
    lower, upper = np.maximum(p - width, 0.0), np.minimum(p + width, 1.0)
    value = rng.choice([0.0, 0.3, 1.0], size=size) * rng.random(size).round(1)
    value[rng.integers(size)] = 0.7
    out, order = np.zeros(N_LANES), np.zeros(size, dtype=np.int64)
    best_of_pack(lower.T.flatten(), upper.T.flatten(), value, order, out)
    expected = [best_row(value, low, high) for low, high in zip(lower, upper, strict=True)]
    assert out == pytest.approx(np.array(expected), abs=1e-9)


@modest
@given(st.lists(st.sampled_from([0.0, 0.1, 0.2, 1.0]), min_size=1, max_size=24))
def test_ranks_are_those_of_a_stable_sort(values: list[float]) -> None:
    order = np.full(len(values) + 2, -1, dtype=np.int64)
    positive = ranked(np.array([9.0, *values, 9.0]), 1, len(values), order)
    assert order[:-2].tolist() == np.argsort(-np.array(values), kind="stable").tolist()
    assert order[-2:].tolist() == [-1, -1]
    assert positive == np.count_nonzero(values)
    again = np.full(len(values), -1, dtype=np.int64)
    sort_descending(np.array(values), again, len(values))
    assert again.tolist() == order[:-2].tolist()


@modest
@given(
    st.lists(st.integers(1, NARROW), min_size=1, max_size=6),
    st.integers(1, 3),
    st.integers(0, 9999),
)
def test_a_whole_path_is_bounded_as_its_states_are_one_by_one(
    sizes: list[int], n_actions: int, seed: int
) -> None:
    sizes = [*sizes, LEAST_PACKED]
    rng = np.random.default_rng(seed)
    layout = Layout(layer_sizes=(1, *sizes, 1), n_actions=n_actions)
    rows, reach = random_rows(layout, rng), new_reach(layout)
    policy = rng.dirichlet(np.full(n_actions, 0.3), size=layout.n_states - 1).ravel()
    policy[policy < 0.1] = 0.0
    begins = np.cumsum([0, *layout.layer_sizes])
    picks = [rng.integers(n) for n in layout.layer_sizes[:-1]]
    states = (begins[:-2] + picks).astype(np.int64)
    together = np.full(layout.n_layers, np.nan)
    for part in (reach.packs.lower, reach.packs.upper, reach.packs.slack, reach.packs.total):
        part[:] = np.nan  # what an earlier episode has left does not matter
    reach.value[:] = np.nan
    largest_in_packs(
        layout.graph(), states, policy, rows, reach.packs, reach.order, reach.value, together
    )
    one_by_one = [
        largest_state_occupancy(layout.graph(), int(x), k, policy, rows, reach, False)
        for k, x in enumerate(states)
    ]
    assert together == pytest.approx(np.array(one_by_one), rel=1e-12, abs=1e-15)


def test_layouts_that_are_sparse_narrow_or_wide_have_no_packs() -> None:
    def has_packs(width: int, **declared: Any) -> bool:
        layout = Layout(layer_sizes=(1, width, width, 1), n_actions=2, **declared)
        return new_reach(layout).packs.slack.shape[0] > 0

    table = [
        np.ones((1, 2, 6), dtype=bool),
        np.ones((6, 2, 6), dtype=bool),
        np.ones((6, 2, 1), bool),
    ]
    table[1][0, 0, 0] = False
    widths = (LEAST_PACKED - 1, LEAST_PACKED, NARROW, NARROW + 1)
    assert [has_packs(width) for width in widths] == [False, True, True, False]
    assert not has_packs(6, successors=table)


def test_a_learner_divides_by_the_bounds_of_its_path() -> None:
    """What a learner says of its last update, against the bounds of all pairs with its set."""
    layout = Layout(layer_sizes=(1, 5, 6, 5, 1), n_actions=3)
    mdp = am.families.random_mdp(layout.layer_sizes, 3, seed=1)
    learner = am.UOBREPS(layout, n_episodes=1200, log_scale=0.01)
    losses = am.losses.Stochastic([np.full((n, 3), 0.5) for n in layout.layer_sizes[:-1]])
    am.play(mdp, losses, learner, n_episodes=1150, seed=3)
    policy, confidence = learner.policy(), learner.confidence_set()
    states, actions = [0, 4, 5, 2, 0], [0, 1, 2, 0]
    learner.update(am.Trajectory(states, actions, [0.5] * 4))
    expected = am.upper_occupancy(policy, confidence)
    on_path = [expected[k][states[k], actions[k]] for k in range(4)]
    assert learner.upper_occupancy_of_last == pytest.approx(np.array(on_path), rel=1e-12)
