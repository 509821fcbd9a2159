"""Occupancy measures and Lemma 1: measure -> (P, pi) -> measure, random and boundary cases."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import advmdp as am
from advmdp.layout import Table
from tests.reference.brute_force import occupancy_by_trajectories

SIZES = (1, 3, 2, 1)
LAYOUT = am.Layout(SIZES, 2)


def random_pair(seed: int, zeros: bool) -> tuple[Table, Table]:
    rng = np.random.default_rng(seed)
    policy = [rng.dirichlet(np.ones(2), size=n) for n in SIZES[:-1]]
    chance = [rng.dirichlet(np.ones(m), size=(n, 2)) for n, m in itertools.pairwise(SIZES)]
    if zeros:  # deterministic here and there: states and actions that are never used
        policy[1][0] = [1.0, 0.0]
        chance[0][:] = np.eye(3)[0]
    return chance, policy


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.integers(0, 10**6), st.booleans())
def test_measure_against_enumeration_and_back(seed: int, zeros: bool) -> None:
    chance, policy = random_pair(seed, zeros)
    q = am.occupancy_measure(chance, policy, LAYOUT)
    for ours, theirs in zip(q, occupancy_by_trajectories(chance, policy), strict=True):
        assert np.allclose(ours, theirs, rtol=0, atol=1e-14)
    again = am.occupancy_measure(am.transition_of(q, LAYOUT), am.policy_of(q, LAYOUT), LAYOUT)
    for ours, theirs in zip(again, q, strict=True):
        assert np.allclose(ours, theirs, rtol=0, atol=1e-14)


def test_unreached_places_get_the_uniform_choice() -> None:
    chance, policy = random_pair(0, zeros=True)
    q = am.occupancy_measure(chance, policy, LAYOUT)
    assert np.array_equal(am.policy_of(q, LAYOUT)[1][1], [0.5, 0.5])
    assert np.array_equal(am.transition_of(q, LAYOUT)[1][0, 1], [0.5, 0.5])


def test_negative_measures_and_bad_policies_are_refused() -> None:
    chance, policy = random_pair(0, zeros=False)
    q = am.occupancy_measure(chance, policy, LAYOUT)
    q[1][2, 1, 0] = -0.1
    with pytest.raises(am.InvalidInput, match="layer 1, state 2, action 1"):
        am.policy_of(q, LAYOUT)
    policy[2][1] = [0.7, 0.7]
    with pytest.raises(am.InvalidInput, match="layer 2, state 1"):
        am.occupancy_measure(chance, policy, LAYOUT)
