"""Drawn walks against the exact occupancy measure, and the edges of the inverse-CDF scan."""

from __future__ import annotations

import numpy as np
import pytest

from advmdp.kernels.model.trajectory import draw_trajectory, pick
from advmdp.layout import Floats, Layout
from tests.reference.instances import random_kernel, random_policy
from tests.reference.tables import occupancy

SPARSE = [[[[0, 2], [2, -1]]], [[[0, 1], [2, 0]]] * 3, [[[0], [0]]] * 3]


def walks(
    layout: Layout, policy: Floats, transitions: Floats, n: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """The states and rows of episodes 0 .. n - 1."""
    states = np.zeros((n, layout.n_layers + 1), dtype=np.int64)
    rows = np.zeros((n, layout.n_layers), dtype=np.int64)
    graph = layout.graph()
    for t in range(n):
        draw_trajectory(graph, policy, transitions, seed, 1, t, states[t], rows[t])
    return states, rows


@pytest.mark.parametrize("successors", [None, SPARSE], ids=["dense", "sparse"])
def test_frequencies_match_the_exact_occupancy(successors: list[object] | None) -> None:
    """Every triple within 6 standard deviations; a false alarm has probability below 1e-7."""
    sizes, n_actions, n = (1, 3, 3, 1), 2, 20_000
    rng = np.random.default_rng(3)
    layout = Layout(sizes, n_actions, successors)
    transitions = random_kernel(rng, sizes, n_actions)
    if successors is not None:
        ones = layout.triples(np.ones(layout.n_entries))
        kept = [
            t[s][:, :, u]
            for t, s, u in zip(
                transitions, layout.original_state, layout.original_state[1:], strict=False
            )
        ]
        transitions = [k * o for k, o in zip(kept, ones, strict=True)]
        transitions = [t / t.sum(axis=2, keepdims=True) for t in transitions]
    policy = random_policy(rng, layout.layer_sizes, n_actions)
    exact = occupancy(transitions, policy)

    states, rows = walks(layout, layout.flat_pairs(policy), layout.flat_triples(transitions), n)

    assert np.array_equal(rows // n_actions, states[:, :-1])
    for k, q in enumerate(exact):
        counts = np.zeros(q.shape)
        here = states[:, k] - layout.layer_start[k]
        there = states[:, k + 1] - layout.layer_start[k + 1]
        np.add.at(counts, (here, rows[:, k] % n_actions, there), 1.0)
        assert np.all(np.abs(counts - n * q) <= 6.0 * np.sqrt(n * q * (1.0 - q)) + 1e-9)


def test_a_walk_depends_on_its_place_only() -> None:
    layout = Layout((1, 4, 4, 4, 1), 3)
    policy = np.full(layout.n_rows, 1 / 3)
    transitions = 1.0 / np.repeat(layout.row_sizes(), layout.row_sizes())
    states, rows = walks(layout, policy, transitions, 50)
    again = np.zeros(5, dtype=np.int64), np.zeros(4, dtype=np.int64)
    draw_trajectory(layout.graph(), policy, transitions, 0, 1, 33, *again)
    assert np.array_equal(again[0], states[33])
    assert np.array_equal(again[1], rows[33])
    assert not np.array_equal(walks(layout, policy, transitions, 50, seed=9)[1], rows)


def test_pick_is_the_inverse_of_the_distribution_function() -> None:
    values = np.array([9.0, 0.0, 0.25, 0.0, 0.5, 0.25, 0.0, 9.0])
    chosen = [pick(values, 1, 6, u) for u in (0.0, 0.249, 0.25, 0.749, 0.75, 1 - 2.0**-53)]
    assert chosen == [1, 1, 3, 3, 4, 4]


@pytest.mark.parametrize("ending", [[0.0], [-500.0], [0.0, 0.0]])
def test_pick_never_takes_an_impossible_entry_when_rounding_leaves_a_gap(
    ending: list[float],
) -> None:
    tenths = [0.1] * 10  # sums to 1 - 2**-53, so the largest u is not below the sum
    assert sum(tenths) < 1.0
    values = np.array(tenths + ending)
    assert pick(values, 0, len(values), 1.0 - 2.0**-53) == 9
    # a negative number stands for the logarithm of a vanishing probability
    assert pick(np.array([-460.0, 1.0]), 0, 2, 0.0) == 1
