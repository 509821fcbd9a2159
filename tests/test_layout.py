"""Layouts: flat orders, declared supports, pruning, and what they refuse."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import advmdp as am


@st.composite
def supports(draw: Any) -> tuple[tuple[int, ...], int, list[np.ndarray[Any, Any]]]:
    """Layer sizes, a number of actions and boolean successors, each row with at least one."""
    sizes = (1, *draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)), 1)
    n_actions = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    masks = []
    for n, m in itertools.pairwise(sizes):
        mask = rng.random((n, n_actions, m)) < 0.4
        mask[np.arange(n)[:, None], np.arange(n_actions), rng.integers(m, size=(n, n_actions))] = 1
        masks.append(mask)
    return sizes, n_actions, masks


@settings(deadline=None, derandomize=True, max_examples=60)
@given(supports())
def test_a_declared_support_keeps_exactly_the_reachable_triples(case: Any) -> None:
    sizes, n_actions, masks = case
    layout = am.Layout(sizes, n_actions, masks)
    reached = {0}
    for k, mask in enumerate(masks):
        kept = sorted(reached)
        assert layout.original_state[k].tolist() == kept
        triples = {
            (x, a, y) for x in kept for a in range(n_actions) for y in np.flatnonzero(mask[x, a])
        }
        entries = layout.layer_entries(k)
        rows = layout.entry_rows()[entries] - layout.layer_rows(k).start
        found = {
            (
                int(layout.original_state[k][row // n_actions]),
                int(row % n_actions),
                int(layout.original_state[k + 1][y - layout.layer_start[k + 1]]),
            )
            for row, y in zip(rows, layout.entry_successors()[entries], strict=True)
        }
        assert found == triples
        reached = {y for _, _, y in triples}


@settings(deadline=None, derandomize=True, max_examples=60)
@given(supports())
def test_tables_survive_the_way_through_flat_vectors(case: Any) -> None:
    sizes, n_actions, masks = case
    layout = am.Layout(sizes, n_actions, masks)
    rng = np.random.default_rng(0)
    flat = rng.random(layout.n_entries)
    assert np.array_equal(layout.flat_triples(layout.triples(flat)), flat)
    pairs = rng.random(layout.n_rows)
    assert np.array_equal(layout.flat_pairs(layout.pairs(pairs)), pairs)
    # tables of the declared, unpruned shape are understood as well
    declared = [rng.random(mask.shape) * mask for mask in masks]
    again = layout.triples(layout.flat_triples(declared))
    for k, table in enumerate(declared):
        kept = table[layout.original_state[k]][:, :, layout.original_state[k + 1]]
        assert np.array_equal(again[k], kept)


def test_state_numbers_and_booleans_declare_the_same() -> None:
    numbers = [np.array([[[0, 2]]]), np.array([[[0, -1]], [[0, 0]], [[0, -1]]])]
    masks = [np.array([[[True, False, True]]]), np.ones((3, 1, 1), dtype=bool)]
    assert am.Layout((1, 3, 1), 1, numbers) == am.Layout((1, 3, 1), 1, masks)
    assert am.Layout((1, 3, 1), 1, numbers) != am.Layout((1, 3, 1), 1)


def test_a_full_support_is_the_default_layout() -> None:
    sizes = (1, 4, 3, 1)
    masks = [np.ones((n, 2, m), dtype=bool) for n, m in itertools.pairwise(sizes)]
    dense, declared = am.Layout(sizes, 2), am.Layout(sizes, 2, masks)
    assert dense == declared
    assert not declared.graph().scattered.any()  # consecutive successors need no index table


def test_learning_on_a_full_declared_support_is_learning_without_one() -> None:
    sizes = (1, 3, 3, 1)
    masks = [np.ones((n, 2, m), dtype=bool) for n, m in itertools.pairwise(sizes)]
    runs = []
    for layout in (am.Layout(sizes, 2), am.Layout(sizes, 2, masks)):
        rng = np.random.default_rng(0)
        chance = rng.dirichlet(np.ones(3), size=8)
        rows = [chance[:2], chance[2:].reshape(6, 3), np.ones((6, 1))]
        tables = [r.reshape(n, 2, -1) for r, n in zip(rows, sizes, strict=False)]
        mdp = am.LayeredMDP(layout, tables)
        mean = layout.pairs(rng.random(layout.n_rows))
        learner = am.UOBREPS(layout, 500, log_scale=0.01)
        runs.append(am.play(mdp, am.losses.Stochastic(mean), learner, 500).regret)
    assert np.array_equal(*runs)


BAD_LAYOUTS = [
    (((2, 3, 1), 2), "begin and end with 1"),
    (((1, 3, 2), 2), "begin and end with 1"),
    (((1,), 2), "at least two layers"),
    (((1, 0, 1), 2), r"layer_sizes\[1\]"),
    (((1, 2.5, 1), 2), r"layer_sizes\[1\]"),
    (((1, 2, 1), 0), "n_actions"),
    (((1, 100_000, 100_000, 1), 10), "too many"),
    (((1, 2, 1), 1, [np.zeros((1, 1, 2), dtype=bool)]), "give 2 arrays"),
    (((1, 2, 1), 1, [np.ones((1, 1, 3), dtype=bool), np.ones((2, 1, 1), dtype=bool)]), "layer 0"),
    (((1, 2, 1), 1, [np.array([[[5]]]), np.array([[[0]], [[0]]])]), "layer 0 names a state"),
    (((1, 2, 1), 1, [np.array([[[-1]]]), np.array([[[0]], [[0]]])]), "state 0, action 0 has no"),
    (((1, 2, 1), 1, [np.array([[[0.5]]]), np.array([[[0]], [[0]]])]), "layer 0 must hold"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_LAYOUTS)
def test_a_bad_layout_is_refused_in_one_line(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(am.InvalidInput, match=message) as caught:
        am.Layout(*arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([np.ones((1, 2))], "list of 2 arrays"),
        ([np.ones((1, 2)), np.ones((3, 2))], "layer 1 has shape"),
        ([np.ones((1, 2)), np.full((2, 2), np.nan)], "layer 1, state 0, action 0"),
        (np.ones(5), "needs 6 values"),
        ([np.ones((1, 2)), "words"], "layer 1: give an array of real numbers"),
        (7, "list of 2 arrays"),
    ],
)
def test_a_bad_pair_table_is_refused_in_one_line(table: Any, message: str) -> None:
    with pytest.raises(am.InvalidInput, match=message) as caught:
        am.Layout((1, 2, 1), 2).flat_pairs(table, "losses")
    assert str(caught.value).startswith("losses: ")
    assert "\n" not in str(caught.value)


def test_a_value_outside_the_support_is_refused() -> None:
    layout = am.Layout((1, 2, 1), 1, [np.array([[[0, -1]]]), np.array([[[0]], [[0]]])])
    with pytest.raises(am.InvalidInput, match="outside the declared successors"):
        am.Layout(
            (1, 2, 2, 1),
            1,
            [np.array([[[0, 1]]]), np.array([[[0]], [[1]]]), np.array([[[0]], [[0]]])],
        ).flat_triples([np.ones((1, 1, 2)), np.ones((2, 1, 2)), np.ones((2, 1, 1))])
    assert layout.layer_sizes == (1, 1, 1)
