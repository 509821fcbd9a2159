"""Passes over a row in eight lanes: the promised order of additions, and nothing beyond the row."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numba.core.errors import TypingError

from advmdp.kernels.lanes import passes
from advmdp.kernels.sets.box import passes as box_passes

SIZES = [*range(1, 20), 24, 31, 32, 33, 100]
PADDING = 9  # entries around a row that no pass may read or write


def compiled(function: Any) -> Callable[..., Any]:
    """The machine code of one pass, callable from Python."""

    @njit  # type: ignore[untyped-decorator]
    def call(*arguments: Any) -> Any:
        return function(*arguments)

    return call  # type: ignore[no-any-return]


NAMES = {
    passes: ["inner", "total", "dot", "dot_and_add", "dot_and_low", "sum_and_low"],
    box_passes: ["crowded", "tightness", "clip_sum", "clip_bend"],
}
NAMES[passes] += ["group_sums", "scale", "tilt"]
PASSES = {name: compiled(getattr(room, name)) for room, names in NAMES.items() for name in names}


def hidden(values: Any) -> np.ndarray[Any, Any]:
    """The values with poison around them."""
    poison = 77 if values.dtype == np.uint8 else np.nan
    return np.concatenate(
        [np.full(PADDING, poison, values.dtype), values, np.full(PADDING, poison, values.dtype)]
    )


def in_lanes(terms: np.ndarray[Any, Any]) -> float:
    """Entry j to lane j mod 8, then neighbours first: one addition at a time, in plain Python."""
    lanes = [0.0] * 8
    for j, term in enumerate(terms.tolist()):
        lanes[j % 8] += term
    while len(lanes) > 1:
        lanes = [lanes[i] + lanes[i + 1] for i in range(0, len(lanes), 2)]
    return lanes[0]


def row(size: int, seed: int) -> dict[str, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    lower = rng.random(size) * 0.5
    return {
        "signed": rng.normal(size=size),
        "vector": rng.normal(size=size),
        "weight": rng.gamma(0.5, size=size) + 1e-3,
        "lower": lower,
        "upper": lower + rng.random(size),
        "group": rng.integers(0, 3, size).astype(np.uint8),
    }


def call(name: str, *arrays: Any, numbers: tuple[float, ...] = ()) -> Any:
    """A pass over rows that lie in the middle of larger arrays."""
    places = [part for array in arrays for part in (hidden(array), PADDING)]
    return PASSES[name](*places, len(arrays[0]), *numbers)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("seed", range(3))
def test_sums_are_added_in_the_promised_order(size: int, seed: int) -> None:
    data = row(size, seed)
    signed, vector, group = data["signed"], data["vector"], data["group"]
    positive = np.maximum(signed, 0.0)
    assert call("inner", signed, vector) == in_lanes(signed * vector)
    assert call("dot", signed, vector) == in_lanes(positive * vector)
    total, low = call("dot_and_low", signed, vector, numbers=(0.1,))
    assert (total, low) == (in_lanes(positive * vector), (positive * vector < 0.1).sum())
    assert call("total", signed) == in_lanes(signed)
    total, low = call("sum_and_low", signed, numbers=(0.2,))
    assert (total, low) == (in_lanes(signed), (signed < 0.2).sum())
    terms = signed * vector
    expected = tuple(
        in_lanes(np.where(part, terms, 0.0)) for part in (True, group == 1, group == 2)
    )
    assert call("group_sums", signed, vector, group) == expected


@pytest.mark.parametrize("size", SIZES)
def test_written_rows_end_where_they_end(size: int) -> None:
    data = row(size, 7)
    out = hidden(np.zeros(size))
    PASSES["scale"](hidden(data["signed"]), PADDING, out, PADDING, size, 0.3)
    np.testing.assert_array_equal(out, hidden(0.3 * np.maximum(data["signed"], 0.0)))
    place = hidden(data["weight"])
    PASSES["tilt"](place, PADDING, hidden(data["vector"]), PADDING, place, PADDING, size, 0.7)
    np.testing.assert_array_equal(place, hidden(data["weight"] * (0.7 * data["vector"])))


@pytest.mark.parametrize("size", SIZES)
def test_sums_that_are_also_added_up(size: int) -> None:
    data = row(size, 5)
    positive = np.maximum(data["signed"], 0.0)
    out = hidden(data["weight"])
    found = PASSES["dot_and_add"](
        hidden(data["signed"]), PADDING, hidden(data["vector"]), PADDING, size, 0.3, out
    )
    assert found == in_lanes(positive * data["vector"])
    np.testing.assert_array_equal(out, hidden(data["weight"] + 0.3 * positive))


@pytest.mark.parametrize("size", SIZES)
def test_how_far_a_row_may_move(size: int) -> None:
    data = row(size, 3)
    value, lower, upper = data["weight"], data["lower"], data["upper"]
    found = call("tightness", value, lower, upper)
    assert found == max(max(lower / value), max(value / upper))
    factor = 1.3
    times = (value < factor * lower).sum() + (factor * value > upper).sum()
    assert call("crowded", value, lower, upper, numbers=(factor,)) == times


def test_entries_that_only_a_logarithm_holds_are_never_tight_against_zero() -> None:
    value = np.array([-500.0, 0.5, 0.5])
    assert call("tightness", value, np.zeros(3), np.ones(3)) == 0.5
    assert call("tightness", value, np.full(3, 0.1), np.ones(3)) > 1e290


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(0, 100), st.floats(0.05, 5.0))
def test_clipped_rows(size: int, seed: int, c: float) -> None:
    data = row(size, seed)
    w, lower, upper = data["weight"], data["lower"], data["upper"]
    table, vector = w / 2.0, np.full(size, 2.0)
    wanted = c * (table * vector)
    clipped = np.clip(wanted, lower, upper)
    total, slope = call("clip_sum", table, vector, lower, upper, numbers=(c,))
    assert total == in_lanes(clipped)
    assert slope == in_lanes(np.where(clipped == wanted, w, 0.0))
    out = hidden(np.zeros(size))
    places = [part for array in (table, vector, lower, upper) for part in (hidden(array), PADDING)]
    marks = hidden(np.zeros(size, np.uint8))
    again, same, bend, far = PASSES["clip_bend"](*places, out, PADDING, marks, PADDING, size, c)
    assert (again, same) == (total, slope)
    np.testing.assert_array_equal(marks, hidden((clipped == wanted).astype(np.uint8)))
    np.testing.assert_array_equal(out, hidden(clipped))
    s = np.abs(wanted - clipped) / (wanted + clipped)
    assert far == (s * s > box_passes.NEAR * box_passes.NEAR).sum()
    if far == 0:
        pairs = zip(clipped, wanted, strict=True)
        exact = math.fsum(p * math.log(value / p) for p, value in pairs if p > 0)
        assert bend == pytest.approx(exact, rel=1e-12, abs=1e-15)


def test_rows_must_lie_side_by_side() -> None:
    with pytest.raises(TypingError, match="side by side"):
        PASSES["inner"](np.zeros(8)[::2], 0, np.zeros(8), 0, 4)
