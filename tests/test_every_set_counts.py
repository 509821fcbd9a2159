"""Every set as it follows the counters: bounds by their formula, and the way back, bit by bit."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import advmdp as am
from advmdp.kernels.model.row_status import KNOWN
from advmdp.kernels.model.visits import CHANGED, EPISODES, EPOCH, Visits, record, settle
from advmdp.kernels.sets.ball import BallRows
from advmdp.kernels.sets.box.rows import BoxRows
from advmdp.kernels.sets.confidence import open_epoch, undo_counts
from advmdp.kernels.sets.interface import learns_from_counts
from advmdp.steps.first_sets import copy_of, no_visits
from tests.reference import set_kernels as ask
from tests.reference.instances import box_from_counts, l1_from_counts, modest
from tests.reference.row_sets import EVERY_SET, MAKERS, Case, every_set, random_rows
from tests.reference.tables import Array, Table

LAYOUT = am.Layout((1, 3, 4, 2, 1), 2)
LEARNING = [
    kind
    for kind in EVERY_SET
    if learns_from_counts(MAKERS[kind](LAYOUT, np.random.default_rng())[0])
]
every_learning_set = pytest.mark.parametrize("kind", LEARNING, ids=lambda kind: kind.__name__)
seeds = st.integers(0, 2**32 - 1)


class Path(NamedTuple):
    """One trajectory, as flat states and rows."""

    states: Any
    rows: Any

    @staticmethod
    def drawn(transition: Array, rng: np.random.Generator) -> Path:
        states, rows = [0], []
        for _ in range(LAYOUT.n_layers):
            rows.append(int(states[-1] * LAYOUT.n_actions + rng.integers(LAYOUT.n_actions)))
            begin, end = LAYOUT.row_start[rows[-1] : rows[-1] + 2]
            entry = begin + rng.choice(end - begin, p=transition[begin:end])
            states.append(int(LAYOUT.entry_successors()[entry]))
        return Path(np.array(states), np.array(rows))


def bits(rows: Any, visits: Visits) -> list[Any]:
    """All that the future depends on."""
    clock = visits.clock
    listed = visits.changed[: clock[CHANGED]]
    counts = [visits.pairs, visits.opened, visits.triples, visits.marked, visits.starts, listed]
    arrays = [part for part in rows if isinstance(part, np.ndarray)]
    return [part.tobytes() for part in (*arrays, *counts, clock[[EPOCH, CHANGED, EPISODES]])]


@every_set
@given(seed=seeds, n_before=st.integers(0, 40), log_term=st.sampled_from([0.01, 0.5, 8.0]))
@modest
def test_an_epoch_that_is_taken_back_leaves_the_same_bits(
    kind: type, seed: int, n_before: int, log_term: float
) -> None:
    case = Case.drawn(kind, LAYOUT, seed)
    graph, rows, visits = LAYOUT.graph(), case.rows, no_visits(LAYOUT, 1000)
    old, transition = copy_of(rows), random_rows(LAYOUT, case.rng)

    def learn(path: Path) -> bool:
        opens = record(graph, visits, rows.status, *path)
        if opens:
            open_epoch(graph, visits, rows, old, log_term)
        return bool(opens)

    for _ in range(n_before):
        learn(Path.drawn(transition, case.rng))
        settle(visits)
    for _ in range(20):
        before, path = bits(rows, visits), Path.drawn(transition, case.rng)
        opened = learn(path)
        assert bits(rows, visits) != before
        undo_counts(graph, visits, rows, old, *path)
        assert bits(rows, visits) == before
        assert opened == learn(path)
        settle(visits)


# ---------------------------------------------------------------------- bounds


def formula(kind: type, visits: Table, seen: Table, log_term: float) -> dict[str, Table]:
    """The arrays of a set by the papers' formulas, on whole tables."""
    if kind is BallRows:
        centre, width = l1_from_counts(visits, seen, log_term)
        return {"centre": centre, "width": width}
    lower, upper = box_from_counts(visits, seen, log_term)
    return {"lower": lower, "upper": upper} if kind is BoxRows else {"lower": lower}


@every_learning_set
@given(seed=seeds, log_term=st.sampled_from([0.01, 0.5, 8.0]))
@modest
def test_bounds_are_the_formula_on_the_counts_and_known_rows_stay(
    kind: type, seed: int, log_term: float
) -> None:
    """A ball with a floor is that of the formula, shifted."""
    case = Case.drawn(kind, LAYOUT, seed)
    graph, rows, rng = LAYOUT.graph(), case.rows, case.rng
    before, old, visits = copy_of(rows), copy_of(rows), no_visits(LAYOUT, 10_000)
    transition = random_rows(LAYOUT, rng)
    for _ in range(int(rng.choice([1, 10, 200]))):
        path = Path.drawn(transition, rng)
        record(graph, visits, rows.status, *path)
    open_epoch(graph, visits, rows, old, log_term)
    pairs, triples = (part.astype(np.float64) for part in (visits.pairs, visits.triples))
    expected = formula(kind, LAYOUT.pairs(pairs), LAYOUT.triples(triples), log_term)
    learnt = (pairs > 0) & (before.status != KNOWN)
    assert np.array_equal(rows.status[~learnt], before.status[~learnt])
    floor, sizes = getattr(rows, "floor", 0.0), LAYOUT.row_sizes()
    for name, table in expected.items():
        flat = np.concatenate([layer.ravel() for layer in table])
        of_rows = len(flat) == LAYOUT.n_rows
        size, known = (a if of_rows else np.repeat(a, sizes) for a in (sizes, ~learnt))
        flat = (1.0 - floor * size) * flat + (0.0 if of_rows else floor)
        found, unchanged = getattr(rows, name), getattr(before, name)
        assert np.allclose(found[~known], flat[~known], rtol=0, atol=1e-14), name
        assert np.array_equal(found[known], unchanged[known]), name


@every_learning_set
@given(seed=seeds)
@modest
def test_the_scale_that_just_contains_a_row(kind: type, seed: int) -> None:
    rng, graph, log_term = np.random.default_rng(seed), LAYOUT.graph(), 0.3
    rows, _ = MAKERS[kind](LAYOUT, rng)
    if getattr(rows, "floor", 0.0) > 0.0:  # shifted sets need not hold P at any scale
        rows = rows._replace(floor=0.0)
    uniform = np.repeat(1.0 / LAYOUT.row_sizes(), LAYOUT.row_sizes())
    visits, transition = no_visits(LAYOUT, 1000), 0.9 * random_rows(LAYOUT, rng) + 0.1 * uniform
    for _ in range(60):
        record(graph, visits, rows.status, *Path.drawn(transition, rng))
    for r in np.flatnonzero((visits.pairs > 0) & (LAYOUT.row_sizes() > 1)):
        scale = ask.log_scale_to_contain(graph, r, transition, visits, log_term, rows)
        for factor, inside in ((1.0 + 1e-6, True), (1.0 - 1e-6, False)):
            ask.rebuild_row(graph, r, visits, factor * scale * log_term, rows)
            assert ask.contains_row(graph, r, transition, rows, 1e-13) == inside
