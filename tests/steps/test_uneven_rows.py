"""Layers in which rows of different lengths alternate: a block is made of its own rows."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import advmdp as am
from advmdp.learners.compiled import forget_scratch
from tests.reference.contract import assert_same_state, follow
from tests.reference.instances import modest
from tests.reference.tables import flow_error

WIDTH, N_ACTIONS = 5, 4


def uneven_world(seed: int, shortest: int = 1) -> am.LayeredMDP:
    """Every second row or so leads to all states of the next layer, the others to few of them."""
    rng = np.random.default_rng(seed)
    sizes = (1, WIDTH, WIDTH, WIDTH, 1)
    support, tables = [], []
    for n, after in pairwise(sizes):
        allowed = np.ones((n, N_ACTIONS, after), dtype=bool)
        for x, a in np.argwhere(rng.random((n, N_ACTIONS)) < 0.5):
            kept = min(shortest, after)
            allowed[x, a] = False
            allowed[x, a, rng.choice(after, kept, replace=False)] = True
        allowed[0, 0] = True  # so that every state can be reached
        weights = rng.gamma(2.0, size=allowed.shape) * allowed
        support.append(allowed)
        tables.append(weights / weights.sum(axis=2, keepdims=True))
    return am.LayeredMDP(am.Layout(sizes, N_ACTIONS, successors=support), tables)


def instance(seed: int, shortest: int) -> tuple[Any, am.BoxSet]:
    """Weights far from a box around the transition that binds in all long rows."""
    world = uneven_world(seed, shortest)
    layout, rng = world.layout, np.random.default_rng(seed + 1)
    p = layout.flat_triples(world.transitions)
    alone = np.repeat(layout.row_sizes() == 1, layout.row_sizes())
    low, high = np.where(alone, 1.0, 0.8 * p), np.where(alone, 1.0, np.minimum(1.2 * p, 1.0))
    box = am.BoxSet(layout, layout.triples(low), layout.triples(high))
    return layout.triples(p * np.exp(rng.normal(size=layout.n_entries))), box


@modest
@given(st.integers(0, 9999), st.integers(1, 2))
def test_a_projection_reads_nothing_that_another_has_left(seed: int, shortest: int) -> None:
    """Whatever the work space holds, the bits are the same, and no Newton step is wasted."""
    weights, box = instance(seed, shortest)
    projector = am.Projector(box.layout)
    first = projector.project(weights, box)
    forget_scratch(projector._solver)
    again = projector.project(weights, box)
    assert all(map(np.array_equal, first.occupancy, again.occupancy))
    assert first[1:] == again[1:]
    assert not first.safe_path
    assert first.iterations <= 12
    assert flow_error(first.occupancy) <= 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_a_learner_that_is_restored_goes_on_with_the_same_bits(seed: int) -> None:
    world = uneven_world(seed)
    one, two = (
        am.UOBREPS(world.layout, n_episodes=100, eta_scale=3.0, log_scale=0.001) for _ in range(2)
    )
    for t in range(40):
        two.restore(two.state())
        for each in (one, two):
            follow(each, world, t, t + 1)
    assert_same_state(one, two)
