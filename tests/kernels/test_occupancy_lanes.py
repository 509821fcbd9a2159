"""Bounds of a whole path at once, against COMP-UOB for one state and linear programs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

import advmdp as am
from advmdp.kernels.model.row_status import BOUND, FREE, KNOWN
from advmdp.kernels.planning.occupancy_lanes import DEEP, LONGEST, add_best, largest_on_path
from advmdp.kernels.planning.upper_occupancy import largest_state_occupancy
from advmdp.kernels.sets.box.rows import BoxRows
from advmdp.layout import Layout
from advmdp.steps.workspace import new_reach
from tests.reference.instances import modest
from tests.reference.linear_programs import best_row

N_LANES = 8
Array = np.ndarray[Any, Any]


@njit  # type: ignore[untyped-decorator]
def best_in_lanes(near: Array, lower: Array, room: Array, slack: float, out: Array) -> None:
    add_best(near, lower, room, slack, len(lower), 0.5, out, 3)


def random_rows(layout: Layout, rng: np.random.Generator) -> BoxRows:
    """Boxes around random rows, among them some that are free and some that are known."""
    status = rng.choice([FREE, BOUND, BOUND, KNOWN], size=layout.n_rows).astype(np.int8)
    sizes = layout.row_sizes()
    lower, upper, slack = [], [], []
    for r, size in enumerate(sizes):
        p = rng.dirichlet(np.full(size, 0.4))
        width = {FREE: 1.0, BOUND: rng.choice([0.0, 0.05, 0.5]), KNOWN: 0.0}[status[r]]
        lower.append(np.maximum(p - width * rng.random(size), 0.0) if status[r] != FREE else 0 * p)
        upper.append(np.minimum(p + width, 1.0) if status[r] != FREE else np.ones(size))
        slack.append(max(1.0 - lower[-1].sum(), 0.0))
    widths = np.array([(high - low).sum() for low, high in zip(lower, upper, strict=True)])
    return BoxRows(status, np.concatenate(lower), np.concatenate(upper), np.array(slack), widths)


def some_world(sizes: list[int], seed: int) -> tuple[Layout, BoxRows, Array]:
    """A declared support, rows, and a policy with actions that are never taken."""
    rng = np.random.default_rng(seed)
    all_sizes = (1, *sizes, 1)
    table = []
    for n, after in pairwise(all_sizes):
        allowed = rng.random((n, 2, after)) < 3.0 / after
        allowed[:, :, 0] |= ~allowed.any(axis=2)
        table.append(allowed)
    layout = Layout(layer_sizes=all_sizes, n_actions=2, successors=table)
    policy = rng.dirichlet(np.full(2, 0.3), size=layout.n_rows // 2).ravel()
    policy[policy < 0.1] = 0.0
    return layout, random_rows(layout, rng), policy


@modest
@given(st.integers(1, LONGEST), st.integers(0, 9999))
def test_the_best_of_a_row_in_every_lane(size: int, seed: int) -> None:
    """The least price at which nothing is left, against HiGHS."""
    rng = np.random.default_rng(seed)
    near = rng.choice([0.0, 0.3, 1.0], size=(size, N_LANES)) * rng.random((size, N_LANES)).round(1)
    p = rng.dirichlet(np.full(size, 0.5))
    width = rng.choice([0.0, 0.1, 1.0])
    lower, upper = np.maximum(p - width, 0.0), np.minimum(p + width, 1.0)
    out = np.full(N_LANES + 6, 7.0)
    best_in_lanes(near.ravel(), lower, upper - lower, 1.0 - lower.sum(), out)
    assert (out[:3] == 7.0).all()
    assert (out[-3:] == 7.0).all()
    expected = [best_row(near[:, lane], lower, upper) for lane in range(N_LANES)]
    assert out[3:-3] - 7.0 == pytest.approx(0.5 * np.array(expected), abs=1e-9)


@modest
@given(st.lists(st.integers(1, 6), min_size=DEEP - 1, max_size=2 * DEEP + 3), st.integers(0, 9999))
def test_a_whole_path_is_bounded_as_its_states_are_one_by_one(sizes: list[int], seed: int) -> None:
    layout, rows, policy = some_world(sizes, seed)
    reach = new_reach(layout)
    begins = np.cumsum([0, *layout.layer_sizes])
    rng = np.random.default_rng(seed + 1)
    picks = [rng.integers(n) for n in layout.layer_sizes[:-1]]
    states = (begins[:-2] + picks).astype(np.int64)
    together = np.full(layout.n_layers, np.nan)
    largest_on_path(layout.graph(), states, policy, rows, reach.lanes, together)
    one_by_one = [
        largest_state_occupancy(layout.graph(), int(x), k, policy, rows, reach, False)
        for k, x in enumerate(states)
    ]
    assert together == pytest.approx(np.array(one_by_one), rel=1e-12, abs=1e-15)


def test_layouts_that_are_shallow_or_have_long_rows_have_no_lanes() -> None:
    shallow = Layout(layer_sizes=(1, *[3] * (DEEP - 2), 1), n_actions=2)
    long = Layout(layer_sizes=(1, *[LONGEST + 1] * DEEP, 1), n_actions=2)
    deep = Layout(layer_sizes=(1, *[LONGEST] * (DEEP - 1), 1), n_actions=2)
    filled = [new_reach(layout).lanes.value.shape[0] > 0 for layout in (shallow, long, deep)]
    assert filled == [False, False, True]


def test_a_learner_divides_by_the_bounds_of_its_path() -> None:
    """What a learner says of its last update, against the bounds of all pairs with its set."""
    layout = Layout(layer_sizes=(1, *[3] * DEEP, 1), n_actions=2)
    mdp = am.families.random_mdp(layout.layer_sizes, 2, seed=1)
    learner = am.UOBREPS(layout, n_episodes=300, log_scale=0.01)
    losses = am.losses.Stochastic([np.full((n, 2), 0.5) for n in layout.layer_sizes[:-1]])
    am.play(mdp, losses, learner, n_episodes=250, seed=3)
    policy, confidence = learner.policy(), learner.confidence_set()
    states = [0, *[k % 3 for k in range(DEEP)], 0]
    actions = [k % 2 for k in range(DEEP + 1)]
    learner.update(am.Trajectory(states, actions, [0.5] * (DEEP + 1)))
    expected = am.upper_occupancy(policy, confidence)
    on_path = [expected[k][states[k], actions[k]] for k in range(DEEP + 1)]
    assert learner.upper_occupancy_of_last == pytest.approx(np.array(on_path), rel=1e-12)
