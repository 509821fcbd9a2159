"""LayeredMDP: what it accepts, what it stores, and how it refuses."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from advmdp.errors import InvalidInput
from advmdp.layout import Layout, Table
from advmdp.seeds import seed_words
from advmdp.steps.confidence import KnownTransition
from advmdp.world.mdp import LayeredMDP
from advmdp.world.time_expand import time_expand

LAYOUT = Layout(layer_sizes=(1, 2, 2, 1), n_actions=2)


def transitions() -> Table:
    return [np.full((1, 2, 2), 0.5), np.full((2, 2, 2), [0.25, 0.75]), np.ones((2, 2, 1))]


def test_keeps_the_transition_and_cannot_be_changed() -> None:
    given = transitions()
    mdp = LayeredMDP(LAYOUT, given)
    given[1][0, 0] = 0.0
    assert all(np.array_equal(a, b) for a, b in zip(mdp.transitions, transitions(), strict=True))
    with pytest.raises(ValueError, match="read-only"):
        mdp.flat[0] = 0.3


def test_small_errors_of_a_row_sum_are_divided_out() -> None:
    table = transitions()
    table[1] *= 1.0 + 5e-10
    mdp = LayeredMDP(LAYOUT, table)
    sums = np.add.reduceat(mdp.flat, LAYOUT.row_start[:-1])
    assert np.abs(sums - 1.0).max() <= np.finfo(float).eps
    assert mdp.transitions[1][0, 0] == pytest.approx([0.25, 0.75], abs=1e-15)


def test_a_stored_transition_read_back_gives_the_same_bits() -> None:
    rng = np.random.default_rng(0)
    layout = Layout((1, 40, 40, 1), 3)
    rows = rng.random(layout.n_entries)
    rows /= np.repeat(np.add.reduceat(rows, layout.row_start[:-1]), layout.row_sizes())
    once = LayeredMDP(layout, rows * (1.0 + 1e-10))
    assert np.array_equal(LayeredMDP(layout, once.transitions).flat, once.flat)
    assert np.array_equal(LayeredMDP(layout, once.flat).flat, once.flat)


def test_respects_a_declared_support() -> None:
    layout = Layout((1, 3, 1), 1, successors=[[[[0, 2]]], [[[0]]] * 3])
    mdp = LayeredMDP(layout, [[[[0.5, 0.0, 0.5]]], np.ones((3, 1, 1))])
    assert mdp.layout.layer_sizes == (1, 2, 1)
    assert mdp.flat.tolist() == [0.5, 0.5, 1.0, 1.0]


def test_natural_loss_is_optional_and_checked() -> None:
    assert LayeredMDP(LAYOUT, transitions()).natural_loss is None
    mdp = LayeredMDP(LAYOUT, transitions(), natural_loss=np.full(LAYOUT.n_rows, 0.5))
    assert mdp.natural_loss is not None
    assert [layer.shape for layer in mdp.natural_loss] == [(1, 2), (2, 2), (2, 2)]
    assert repr(mdp).endswith("with a natural loss)")


def spoiled(layer: int, place: tuple[int, ...], value: float) -> Table:
    table = transitions()
    table[layer][place] = value
    return table


BAD_TRANSITIONS: list[tuple[Any, str]] = [
    (
        spoiled(1, (1, 0, 1), 0.7),
        "transitions: probabilities sum to 0.95 at layer 1, state 1, action 0; "
        "divide the row by its sum, in float64",
    ),
    (
        spoiled(1, (0, 1, 0), -0.25),
        "transitions: negative probability -0.25 at layer 1, state 0, action 1; "
        "use values of at least zero",
    ),
    (
        spoiled(0, (0, 1, 1), np.nan),
        "transitions: nan at layer 0, state 0, action 1; use finite values",
    ),
    (transitions()[:2], "transitions: give a list of 3 arrays, one per layer but the last"),
    ([*transitions()[:2], np.ones((2, 1, 1))], "transitions: layer 2 has shape (2, 1, 1)"),
    (None, "transitions: give a list of 3 arrays"),
]


@pytest.mark.parametrize(("table", "message"), BAD_TRANSITIONS)
def test_a_bad_transition_is_refused_in_one_line_with_its_place(table: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match="^" + re.escape(message)) as caught:
        LayeredMDP(LAYOUT, table)
    assert "\n" not in str(caught.value)


def test_rows_of_short_floats_are_refused_with_a_remedy_that_helps() -> None:
    """Rows that sum to one in float32 miss it by more than is divided out."""
    layout = Layout((1, 7, 1), 2)
    short = np.random.default_rng(0).dirichlet(np.ones(7), (1, 2)).astype(np.float32)
    short /= short.sum(axis=-1, keepdims=True)
    end = np.ones((7, 2, 1))
    with pytest.raises(InvalidInput, match=r"divide the row by its sum, in float64$"):
        LayeredMDP(layout, [short, end])
    with pytest.raises(InvalidInput, match=r"sum to one, in float64$"):
        KnownTransition(layout, [short, end])
    with pytest.raises(InvalidInput, match=r"start: .* divide by the sum, in float64$"):
        time_expand(np.full((7, 2, 7), 1 / 7), 3, start=short[0, 0])
    long = short.astype(np.float64)
    long /= long.sum(axis=-1, keepdims=True)
    LayeredMDP(layout, [long, end])
    KnownTransition(layout, [long, end])
    time_expand(np.full((7, 2, 7), 1 / 7), 3, start=long[0, 0])


def test_mass_outside_the_support_and_other_bad_arguments_are_refused() -> None:
    layout = Layout((1, 3, 1), 1, successors=[[[[0, 1]]], [[[0]]] * 3])
    with pytest.raises(InvalidInput, match="layer 0 has shape"):
        LayeredMDP(layout, [[[[0.5, 0.25, 0.25, 0.0]]], np.ones((3, 1, 1))])
    wide = Layout((1, 2, 2, 1), 1, successors=[[[[0, 1]]], [[[0, -1]], [[0, 1]]], [[[0]]] * 2])
    outside = [[[[0.5, 0.5]]], [[[0.5, 0.5]], [[0.5, 0.5]]], np.ones((2, 1, 1))]
    with pytest.raises(InvalidInput, match="outside the declared successors at layer 1, state 0"):
        LayeredMDP(wide, outside)
    with pytest.raises(InvalidInput, match="layout: give an advmdp Layout, not tuple"):
        LayeredMDP((1, 2, 1), transitions())  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"natural_loss: 2.0 at layer 0, state 0, action 0"):
        LayeredMDP(LAYOUT, transitions(), natural_loss=np.full(LAYOUT.n_rows, 2.0))


def test_seed_words_are_those_of_numpy() -> None:
    assert seed_words(12) == tuple(np.random.SeedSequence(12).generate_state(2))
    first, second = np.random.SeedSequence(12).spawn(2)
    assert len({seed_words(12), seed_words(13), seed_words(first), seed_words(second)}) == 4


@pytest.mark.parametrize("seed", [-1, 0.5, None, True, "0"])
def test_a_bad_seed_is_refused(seed: Any) -> None:
    with pytest.raises(InvalidInput, match=r"seed: .* is not a whole number of at least 0"):
        seed_words(seed)
