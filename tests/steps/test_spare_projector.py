"""``am.project`` keeps a projector for its next call: nothing of one call is left in another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.steps import mirror_descent

SIZES = ((1, 4, 5, 1), (1, 14, 16, 1))


def instance(sizes: tuple[int, ...], seed: int) -> tuple[list[Any], am.BoxSet]:
    mdp = am.families.random_mdp(sizes, 2, seed=1)
    rng = np.random.default_rng(seed)
    visits = [rng.integers(0, 500, size=p.shape[:2]) for p in mdp.transitions]
    counts = [rng.multinomial(n, p) for n, p in zip(visits, mdp.transitions, strict=True)]
    box = am.BoxSet.from_counts(mdp.layout, visits, counts, 1.0)
    weights = [rng.random(p.shape) + 0.01 for p in mdp.transitions]
    return weights, box


def same_bits(one: Any, other: Any) -> bool:
    return all(map(np.array_equal, one.occupancy, other.occupancy)) and one[1:] == other[1:]


def test_calls_in_any_order_have_the_bits_of_a_new_projector() -> None:
    cases = [instance(sizes, seed) for sizes in SIZES for seed in (1, 2)]
    for i in (0, 0, 1, 2, 0, 3, 2, 2):
        weights, box = cases[i]
        expected = am.Projector(box.layout).project(weights, box)
        assert same_bits(am.project(weights, box), expected)


def test_a_projector_of_a_large_layout_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    weights, box = instance(SIZES[0], 3)
    am.project(weights, box)
    (kept,) = mirror_descent._SPARE._kept
    assert kept.layout is box.layout
    monkeypatch.setattr(mirror_descent, "MOST_SPARED", box.layout.n_entries - 1)
    am.project(weights, box)
    assert mirror_descent._SPARE._kept == []
