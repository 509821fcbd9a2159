"""Rows declared known: what a layout accepts and refuses, and what an MDP makes of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import advmdp as am
from advmdp.layout import Table
from advmdp.layout.known_rows import known_row_tables

DENSE = am.Layout((1, 2, 3, 1), 2)
SPARSE = am.Layout(
    (1, 3, 2, 1),
    2,
    successors=[
        [[[2, 0], [2, -1]]],  # state 1 of layer 1 is never reached
        [[[0, 1], [0, -1]], [[1, -1], [1, -1]], [[1, 0], [1, -1]]],
        [[[0], [0]], [[0], [0]]],
    ],
)
STATIONARY = am.time_expand(
    np.random.default_rng(0).dirichlet(np.ones(3), (3, 2)), horizon=4, pooled=True
)


def unknown(layout: am.Layout) -> Table:
    """A table that declares nothing, in the sizes that were declared."""
    n = layout.declared_sizes
    return [np.full((n[k], layout.n_actions, n[k + 1]), np.nan) for k in range(layout.n_layers)]


def declared(k: int, x: int, a: int, row: object, layout: am.Layout = DENSE) -> Table:
    table = unknown(layout)
    table[k][x, a] = row
    return table


def replaced(k: int, layer: object) -> list[object]:
    return [layer if i == k else table for i, table in enumerate(unknown(DENSE))]


# ---------------------------------------------------------------------- refusals

PLACE = "layer 1, state 1, action 0"
BAD: dict[str, tuple[str, Callable[[], object]]] = {
    "sums to less than one": (PLACE, lambda: declared(1, 1, 0, [0.5, 0.3, 0.1])),
    "negative": (PLACE, lambda: declared(1, 1, 0, [0.5, 0.6, -0.1])),
    "infinite": (PLACE, lambda: declared(1, 1, 0, [np.inf, 0.0, 0.0])),
    "NaN beside numbers": (PLACE, lambda: declared(1, 1, 0, [np.nan, 0.5, 0.5])),
    "another number of states": ("layer 1", lambda: replaced(1, np.ones((2, 2, 2)) / 2)),
    "no third axis": ("layer 0", lambda: replaced(0, np.ones((1, 2)))),
    "no numbers": ("layer 0", lambda: replaced(0, [[["often", "rarely"]] * 2])),
    "a layer is missing": ("3 arrays", lambda: unknown(DENSE)[:2]),
    "a flat vector": ("3 arrays", lambda: np.zeros(DENSE.n_entries)),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_known_is_refused_in_one_line(name: str) -> None:
    place, make = BAD[name]
    table = make()
    for attempt in (
        lambda: am.Layout((1, 2, 3, 1), 2, known_rows=table),
        lambda: DENSE.knowing(table),
    ):
        with pytest.raises(am.InvalidInput, match=r"^known_rows: ") as caught:
            attempt()
        assert place in str(caught.value)
        assert "\n" not in str(caught.value)
    assert DENSE.known is None


def test_a_successor_that_is_not_declared_is_refused() -> None:
    with pytest.raises(am.InvalidInput, match="layer 0, state 0, action 1") as caught:
        SPARSE.knowing(declared(0, 0, 1, [0.5, 0.0, 0.5], SPARSE))
    assert "outside the declared successors" in str(caught.value)


def test_what_is_declared_known_must_be_true() -> None:
    mdp = am.families.random_mdp((1, 2, 3, 1), 2, seed=0)
    table = unknown(DENSE)
    table[1][1, 0] = mdp.transitions[1][1, 0][::-1]
    with pytest.raises(am.InvalidInput, match=PLACE) as caught:
        am.LayeredMDP(DENSE.knowing(table), mdp.transitions)
    assert "\n" not in str(caught.value)


def test_rows_that_share_their_counts_must_agree() -> None:
    layout = STATIONARY.layout
    one = STATIONARY.transitions[1][0, 0]
    table = unknown(layout)
    table[1][0, 0], table[2][0, 0] = one, one + np.array([1e-6, -1e-6, 0.0])
    with pytest.raises(am.InvalidInput, match="layer 2, state 0, action 0") as caught:
        layout.knowing(table)
    assert "layer 1, state 0, action 0 share" in str(caught.value)


# ---------------------------------------------------------------------- what is kept


def test_known_rows_and_no_others() -> None:
    layout = DENSE.knowing(declared(1, 1, 0, [0.25, 0.75, 0.0]))
    assert layout.known is not None
    known, transition = layout.known
    row = 2 * DENSE.n_actions  # state 2 is state 1 of layer 1
    assert np.flatnonzero(known).tolist() == [row]
    assert transition[DENSE.row_start[row] :][:3].tolist() == [0.25, 0.75, 0.0]
    assert transition.sum() == 1.0
    assert layout == DENSE
    assert DENSE.known is None
    assert DENSE.knowing(unknown(DENSE)).known is None
    assert layout.knowing(None).known is None


def test_row_sums_are_divided_out_where_they_miss_one() -> None:
    off = np.array([0.25, 0.5, 0.25]) * (1.0 + 5e-10)
    known = DENSE.knowing(declared(1, 1, 0, off)).known
    assert known is not None
    assert abs(known[1].sum() - 1.0) <= 1e-15
    exact = np.array([0.1, 0.2, 0.7])  # sums to one up to rounding: the same bits
    known = DENSE.knowing(declared(1, 1, 0, exact)).known
    assert known is not None
    assert np.array_equal(known[1][known[1] > 0.0], exact)


@pytest.mark.parametrize("of_set", [am.KnownTransition, "l1"])
def test_every_set_divides_row_sums_out(of_set: object) -> None:
    """The flow is conserved to 1e-10 or not certified, so a row sum must not miss one by more."""
    table = [np.array(t) for t in am.families.random_mdp((1, 2, 3, 1), 2, seed=0).transitions]
    table[1] *= 1.0 + 9e-10
    zero = [np.zeros((n, 2)) for n in (1, 2, 3)]
    point = am.L1Set(DENSE, table, zero) if of_set == "l1" else am.KnownTransition(DENSE, table)
    assert am.project(np.ones(DENSE.n_entries), point).flow_residual <= 1e-10


@pytest.mark.parametrize(
    "layout", [DENSE, SPARSE, STATIONARY.layout], ids=["dense", "sparse", "shared"]
)
def test_known_rows_can_be_declared_again(layout: am.Layout) -> None:
    rng = np.random.default_rng(2)
    sizes = layout.row_sizes()
    flat = np.concatenate([rng.dirichlet(np.ones(n)) for n in sizes])
    pool = layout.counter_row if layout.counter_row is not None else np.arange(layout.n_rows)
    entries = np.concatenate(
        [layout.row_start[p] + np.arange(n) for p, n in zip(pool, sizes, strict=True)]
    )
    mdp = am.LayeredMDP(layout, flat[entries])
    mask = rng.random(layout.n_rows) < 0.3
    told = mdp.with_known_rows(layout.pairs(mask.astype(float))).layout
    again = layout.knowing(known_row_tables(told))
    assert told.known is not None
    assert again.known is not None
    for ours, theirs in zip(told.known, again.known, strict=True):
        assert np.array_equal(ours, theirs)
    assert known_row_tables(layout) is None


def test_declared_supports_and_pruned_states() -> None:
    """A table in the declared sizes; what it says of a state that cannot be reached is dropped."""
    table = declared(1, 2, 0, [0.5, 0.5], SPARSE)
    table[1][1, :] = [0.0, 1.0]  # of the pruned state
    table[0][0, 1] = [0.0, 0.0, 1.0]
    known, transition = SPARSE.knowing(table).known or (None, None)
    assert known is not None
    assert transition is not None
    names = [SPARSE.name_of_row(r) for r in np.flatnonzero(known)]
    assert names == ["layer 0, state 0, action 1", "layer 1, state 2, action 0"]
    assert np.array_equal(transition[transition > 0.0], [1.0, 0.5, 0.5])


def test_knowledge_spreads_over_shared_rows() -> None:
    """One step of a stationary MDP known is all steps known, and nothing else."""
    layout = STATIONARY.layout
    mask = layout.pairs(np.zeros(layout.n_rows))
    mask[1][:] = 1.0
    told = STATIONARY.with_known_rows(mask)
    known, transition = told.layout.known or (None, None)
    assert known is not None
    assert transition is not None
    steps = [slice(*layout.layer_start[k : k + 2] * 2) for k in range(layout.n_layers)]
    assert [bool(known[step].all()) for step in steps] == [True, True, True, False]
    assert not known[steps[3]].any()
    entries = np.repeat(known, layout.row_sizes())
    assert np.array_equal(transition[entries], STATIONARY.flat[entries])


# ---------------------------------------------------------------------- what an MDP offers


def test_deterministic_rows_are_those_with_one_possible_successor() -> None:
    """River swim: drifting left is certain, swimming is not; the last move leads to the end."""
    mdp = am.families.river_swim(length=4, horizon=5)
    for k, table in enumerate(mdp.deterministic_rows):
        last = k == mdp.layout.n_layers - 1
        assert np.array_equal(table[:, 0], np.ones(len(table)))
        assert np.array_equal(table[:, 1], np.full(len(table), float(last)))


def test_the_same_mdp_knows_more() -> None:
    mdp = am.families.grid(2, 2, horizon=3)
    told = mdp.with_known_rows(mdp.deterministic_rows)
    assert np.array_equal(told.flat, mdp.flat)
    assert told.natural_loss is not None
    assert told.layout == mdp.layout
    known, _ = told.layout.known or (None, None)
    assert known is not None
    expected = np.concatenate([table.ravel() for table in mdp.deterministic_rows])
    assert np.array_equal(known, expected != 0.0)
    assert mdp.with_known_rows(np.zeros(mdp.layout.n_rows)).layout.known is None


def test_an_opening_is_known_by_its_layer() -> None:
    mdp = am.time_expand(np.full((3, 2, 3), 1.0 / 3.0), 3, start=[0.2, 0.3, 0.5])
    mask = mdp.layout.pairs(np.zeros(mdp.layout.n_rows))
    mask[0][:] = 1.0
    told = mdp.with_known_rows(mask)
    assert told.opening == 1
    point = am.BoxSet.from_counts(
        told.layout,
        told.layout.pairs(np.zeros(told.layout.n_rows)),
        told.layout.triples(np.zeros(told.layout.n_entries)),
        log_term=1.0,
    )
    assert np.array_equal(point.lower[0], np.tile([0.2, 0.3, 0.5], (1, 2, 1)))
    assert np.array_equal(point.upper[0], point.lower[0])
    assert all((table == 1.0).all() for table in point.upper[1:])
