"""Packs of eight rows: where they come from and go, their row problems, what they leave alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

import advmdp as am
from advmdp.kernels.kl.linear.packed_curvature import pull_pack, spread_pulls
from advmdp.kernels.lanes.packs import add_packs, gather_pack, scatter_pack
from advmdp.kernels.sets.box.pack_guess import guess_pack, mean_of_pack
from advmdp.kernels.sets.box.packs import solve_pack
from advmdp.kernels.sets.packed import PackedRows, spread_pack
from advmdp.steps import workspace

Array = np.ndarray[Any, Any]
SIZES = [1, 2, 3, 4, 5, 7, 8, 10, 13, 16, 19]
PADDING = 5


def compiled(function: Any) -> Any:
    @njit  # type: ignore[untyped-decorator]
    def call(*arguments: Any) -> Any:
        return function(*arguments)

    return call


GATHER, SCATTER, ADD, SOLVE, SPREAD, MEAN, GUESS, PULL, PULLS = map(
    compiled,
    (
        gather_pack,
        scatter_pack,
        add_packs,
        solve_pack,
        spread_pack,
        mean_of_pack,
        guess_pack,
        pull_pack,
        spread_pulls,
    ),
)


def as_pack(rows: Array) -> Array:
    """Eight rows as a pack, with poison around it."""
    return np.concatenate([np.full(PADDING, np.nan), rows.T.ravel(), np.full(PADDING, np.nan)])


def as_rows(pack: Array) -> Array:
    """And back; what lies around a pack is untouched."""
    assert np.isnan(pack[:PADDING]).all()
    assert np.isnan(pack[-PADDING:]).all()
    return pack[PADDING:-PADDING].reshape(-1, 8).T.copy()


@pytest.mark.parametrize("size", SIZES)
def test_a_pack_is_gathered_and_scattered(size: int) -> None:
    rng = np.random.default_rng(size)
    table = rng.normal(size=12 * size + 7)
    starts = 3 + size * np.array([4, 0, 9, 2, 7, 1, 3, 3])  # the last row fills a spare slot too
    pack = as_pack(np.zeros((8, size)))
    GATHER(table, np.concatenate([[-1], starts]), 1, pack, PADDING, size)
    rows = np.array([table[start : start + size] for start in starts])
    assert (as_rows(pack) == np.maximum(rows, 0.0)).all()
    pack[PADDING:-PADDING].reshape(-1, 8)[:, 7] = -7.0  # what a spare slot says does not count
    back = np.full(len(table), np.nan)
    SCATTER(pack, PADDING, np.concatenate([[-1], starts]), 1, back, size)
    for start in set(starts.tolist()):
        part = slice(start, start + size)
        assert (back[part] == np.maximum(table[part], 0.0)).all()
        back[part] = np.nan
    assert np.isnan(back).all()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("n_packs", [1, 2, 5])
def test_flows_of_packs_are_added(size: int, n_packs: int) -> None:
    rng = np.random.default_rng(size)
    rows, flow = rng.random((n_packs, 8, size)), rng.random(8 * n_packs)
    tables = np.concatenate([rows[i].T.ravel() for i in range(n_packs)])
    out = np.concatenate([[np.nan], np.ones(size), [np.nan]])
    ADD(tables, 0, n_packs, size, flow, 0, out, 1)
    expected = 1.0 + flow @ rows.reshape(-1, size)
    assert out[1:-1] == pytest.approx(expected, rel=1e-14)
    assert np.isnan(out[[0, -1]]).all()


def made(size: int, seed: int, spread: float) -> tuple[Array, Array, Array, Array]:
    """Rows p~, bounds around them, of which some hold, and a tilt."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(size), size=8)
    width = rng.random((8, 1)) * 0.3
    lower, upper = np.maximum(p - width * rng.random(p.shape), 0.0), p + width * rng.random(p.shape)
    on_bound = rng.random(p.shape)
    lower, upper = np.where(on_bound < 0.2, p, lower), np.where(on_bound > 0.8, p, upper)
    return p, lower, np.minimum(upper, 1.0), np.exp(-spread * rng.random(size))


def solved(p: Array, lower: Array, upper: Array, tilt: Array) -> dict[str, Array]:
    """All that a pack says of its rows."""
    numbers = ("scale", "growth", "mass", "marks", "odd", "flow", "mean")
    found = {name: np.ones(8) for name in numbers}
    tables = {"weight": p, "lower": lower, "upper": upper}
    tables |= dict.fromkeys(("low", "high", "chance", "free"), p * 0)
    found |= {name: as_pack(table) for name, table in tables.items()}
    nothing = np.zeros(1, dtype=np.int64)
    rest = {name: nothing for name in PackedRows._fields if name not in found}
    vector = np.concatenate([[np.nan], tilt, [np.nan]])
    packed = PackedRows(**{**rest, **found})  # type: ignore[arg-type]
    SOLVE(packed, PADDING, vector, np.log(vector), 1, 0, p.shape[1])
    found["distant"] = packed.distant
    return {**found, **{name: as_rows(found[name]) for name in tables}}


def clipped_by_halving(w: Array, lower: Array, upper: Array) -> Array:
    """clip(c w) with the c for which it sums to one, by bisection on ln c."""
    low, high = -60.0, 60.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if np.clip(np.exp(middle) * w, lower, upper).sum() < 1.0:
            low = middle
        else:
            high = middle
    return np.clip(np.exp(0.5 * (low + high)) * w, lower, upper)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 14), st.integers(0, 10**6), st.floats(0.0, 0.3))
def test_rows_are_clipped_as_by_bisection(size: int, seed: int, spread: float) -> None:
    p, lower, upper, tilt = made(size, seed, spread)
    found = solved(p, lower, upper, tilt)
    for i in np.flatnonzero(found["odd"] == 0.0):
        w = p[i] * tilt
        expected = clipped_by_halving(w, lower[i], upper[i])
        q = found["chance"][i]
        assert q == pytest.approx(expected, abs=1e-13)
        assert (q >= lower[i]).all()
        assert (q <= upper[i]).all()
        inside = (lower[i] < q) & (q < upper[i])
        free = found["free"][i]
        assert (free[inside] == q[inside]).all()
        assert ((free == q) | (free == -1.0)).all()
        assert found["mass"][i] == pytest.approx(free[free > 0.0].sum(), abs=1e-13)
        assert (found["marks"][i] > 0.0) == (free == -1.0).any()
        gain = np.sum(q[q > 0.0] * np.log(w[q > 0.0] / q[q > 0.0]))
        assert found["growth"][i] == pytest.approx(np.exp(gain), rel=1e-13)


def far_away(size: int, seed: int) -> tuple[Array, Array, Array, Array]:
    """Rows whose entries lie up to e^6 from the bounds of another row."""
    rng = np.random.default_rng(seed)
    p, lower, upper, tilt = made(size, seed, 1.0)
    weights = p * np.exp(rng.normal(0.0, 2.0, size=p.shape))
    return weights / weights.sum(axis=1, keepdims=True), lower, upper, tilt


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 40), st.integers(0, 10**6))
def test_rows_far_from_their_bounds_are_clipped_as_by_bisection(size: int, seed: int) -> None:
    p, lower, upper, tilt = far_away(size, seed)
    found = solved(p, lower, upper, tilt)
    for i in np.flatnonzero(found["odd"] == 0.0):
        w = p[i] * tilt
        q = found["chance"][i]
        assert q == pytest.approx(clipped_by_halving(w, lower[i], upper[i]), abs=1e-13)
        assert found["mass"][i] == pytest.approx(q[found["free"][i] >= 0.0].sum(), abs=1e-13)
        gain = math.fsum(b * (math.log(a) - math.log(b)) for a, b in zip(w, q, strict=True) if b)
        assert found["growth"][i] == pytest.approx(math.exp(gain), rel=3e-14)


def test_most_rows_far_from_their_bounds_are_not_odd() -> None:
    found = [solved(*far_away(30, seed)) for seed in range(50)]
    assert np.mean([each["odd"].mean() for each in found]) < 0.3
    assert np.mean([each["distant"][0] > 0 for each in found]) > 0.9


def test_a_row_with_an_entry_that_is_a_logarithm_is_left_to_others() -> None:
    p, lower, upper, tilt = far_away(12, 5)
    p[3, np.argmax(lower[3])] = 0.0
    assert lower[3].max() > 0.0
    odd = solved(p, lower, upper, tilt)["odd"]
    assert odd[3] == 1.0
    assert not odd.all()


@pytest.mark.parametrize("size", [8, 13, 30])
@pytest.mark.parametrize("n_packs", [1, 3])
def test_products_with_the_hessian_are_those_of_its_definition(size: int, n_packs: int) -> None:
    rng = np.random.default_rng(size + n_packs)
    n_rows = 8 * n_packs
    rows = rng.dirichlet(np.ones(size), size=n_rows)
    clipped = rng.random(rows.shape) < 0.4
    clipped[2] = True
    free = np.where(clipped, 0.0, rows)
    mass, m, here = free.sum(axis=1), rng.random(n_rows), rng.normal(size=n_rows)
    v, out = rng.normal(size=(2, size))
    expected = out.copy()
    for p, f, part, flow, own in zip(rows, free, mass, m, here, strict=True):
        curvature = np.diag(f) - (np.outer(f, f) / part if part > 0.0 else 0.0)
        expected += flow * (p * (p @ v - own) + curvature @ v)
    tables = [
        np.concatenate([part[8 * i : 8 * i + 8].T.ravel() for i in range(n_packs)])
        for part in (rows, np.where(clipped, -1.0, rows))
    ]
    along, across = here.copy(), np.zeros(n_rows)
    for i in range(n_packs):
        PULL(*tables, 8 * size * i, v, 0, along, across, m, mass, 8 * i, size)
    assert along == pytest.approx(m * (rows @ v - here), abs=1e-14)
    PULLS(*tables, 0, n_packs, size, along, across, m, 0, v, out, 0)
    assert out == pytest.approx(expected, abs=1e-13)


def test_most_rows_that_move_a_little_are_not_odd() -> None:
    odd = [solved(*made(10, seed, 0.05))["odd"].mean() for seed in range(50)]
    assert np.mean(odd) < 0.05  # those with slopes of zero on the way


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 12), st.integers(0, 10**6))
def test_a_row_does_not_depend_on_its_neighbours(size: int, seed: int) -> None:
    p, lower, upper, tilt = made(size, seed, 0.3)
    order = np.random.default_rng(seed).permutation(8)
    order[0] = order[1]  # a spare slot
    one, other = solved(p, lower, upper, tilt), solved(p[order], lower[order], upper[order], tilt)
    both = (one["odd"][order] == 0.0) & (other["odd"] == 0.0)
    same_passes = one["distant"][0] == other["distant"][0]
    if same_passes:
        assert (one["odd"][order] == other["odd"]).all()
    for name in ("scale", "growth", "mass", "marks", "chance", "free"):
        found, expected = one[name][order][both], other[name][both]
        assert (found == expected).all() or (
            not same_passes and found == pytest.approx(expected, rel=1e-13, abs=1e-15)
        )


def test_rows_far_beyond_their_bounds_take_the_pass_with_logarithms() -> None:
    p, lower, upper, tilt = made(6, 0, 0.0)
    assert solved(p, lower, upper, tilt)["distant"][0] == 0
    upper[3], lower[3] = p[3] + 1e-9, p[3] - 1e-9
    tilt[2] = 0.5
    found = solved(p, lower, upper, tilt)
    assert found["distant"][0] > 0
    assert found["odd"][3] == 0.0


def test_rows_without_a_solution_are_odd() -> None:
    p, lower, upper, tilt = made(6, 0, 0.1)
    upper[5] = 0.1  # six entries of at most a tenth
    lower[5] = 0.0
    found = solved(p, lower, upper, tilt)
    assert found["odd"][5] == 1.0
    assert (found["chance"] <= upper).all()  # no number is lost: spare slots count as nothing


@pytest.mark.parametrize("size", SIZES)
def test_free_entries_are_spread(size: int) -> None:
    rng = np.random.default_rng(size)
    free = np.where(rng.random((8, size)) < 0.3, -1.0, rng.random((8, size)))
    mass = np.maximum(free, 0.0).sum(axis=1)
    pack = as_pack(free)
    SPREAD(pack, PADDING, np.ones(size), 0, mass, 0, size)
    root = np.sqrt(np.where(mass > 0.0, mass, 1.0))
    assert as_rows(pack) == pytest.approx(np.maximum(free, 0.0) / root[:, None], rel=1e-15)


@pytest.mark.parametrize("size", SIZES)
def test_bounds_that_will_hold_are_guessed(size: int) -> None:
    p, lower, upper, _ = made(size, size, 0.0)
    push = np.random.default_rng(size).normal(size=size)
    mean, mass, free = np.zeros(8), np.zeros(8), as_pack(p * np.nan)
    MEAN(as_pack(p), PADDING, push, 0, mean, 0, size)
    packs = [as_pack(table) for table in (p, lower, upper)]
    GUESS(*packs, free, PADDING, push, 0, mean, mass, 0, size)
    assert mean == pytest.approx(p @ push, abs=1e-14)
    way = push - mean[:, None]
    held = ((p >= upper) & (way > 0.0)) | ((p <= lower) & (way < 0.0))
    assert (as_rows(free) == np.where(held, -1.0, p)).all()
    assert mass == pytest.approx(np.where(held, 0.0, p).sum(axis=1), abs=1e-15)


@pytest.mark.parametrize("sizes", [(1, 9, 9, 2, 1), (1, 17, 30, 13, 1)])  # blocks, and products
@pytest.mark.parametrize("deviation", [0.02, 0.5, 2.0])
def test_a_projection_is_the_same_without_packs(
    deviation: float, sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    mdp = am.families.random_mdp(sizes, 3, seed=1)
    rng = np.random.default_rng(2)
    visits = [rng.integers(0, 500, size=p.shape[:2]) for p in mdp.transitions]
    counts = [rng.multinomial(n, p) for n, p in zip(visits, mdp.transitions, strict=True)]
    box = am.BoxSet.from_counts(mdp.layout, visits, counts, 0.5)
    uniform = [np.full(p.shape[:2], 1 / 3) for p in mdp.transitions]
    q = am.occupancy_measure(mdp.transitions, uniform, mdp.layout)
    weights = [part * np.exp(rng.normal(0.0, deviation, size=part.shape)) for part in q]
    projector = am.Projector(mdp.layout)
    in_packs = projector.project(weights, box)
    assert not in_packs.safe_path
    packed = projector._solver.dual.packed
    assert packed.n_packs.sum() > 0
    if deviation == 2.0:
        assert packed.marks.max() > 0.0
    monkeypatch.setattr(workspace, "LEAST_PACKED", 100)
    alone = am.Projector(mdp.layout)
    assert alone._solver.dual.packed.slot.size == 0
    one_by_one = alone.project(weights, box)
    assert in_packs.iterations == one_by_one.iterations
    for part, other in zip(in_packs.occupancy, one_by_one.occupancy, strict=True):
        assert part == pytest.approx(other, abs=1e-11)
