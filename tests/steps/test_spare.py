"""``am.project`` and ``am.minimise`` keep work space: nothing of one call is left in another."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.steps import minimise, mirror_descent, spare

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


def leaders() -> list[Callable[[], am.Minimum]]:
    """Minima on two layouts, with and without states that nothing leads to, and constraints."""
    cases: list[Callable[[], am.Minimum]] = []
    for sizes in SIZES:
        mdp = am.families.random_mdp(sizes, 2, seed=1)
        known = am.KnownTransition(mdp.layout, mdp.transitions)
        rest = [0.7 * np.array(p) for p in mdp.transitions]
        rest[0][:, :, 1] = 0.0  # nothing leads to this state
        ending = am.PartialTransition(mdp.layout, rest)
        rng = np.random.default_rng(len(cases))
        cost, table = (rng.normal(size=mdp.layout.n_rows) for _ in range(2))
        limited = [(np.abs(table), 0.9 * float(np.abs(table).sum()))]
        for regulariser in (am.Tsallis(0.3, log_barrier=0.1), am.LogBarrier(0.2), am.Entropy(2.0)):
            cases += [
                partial(am.minimise, cost, known, regulariser),
                partial(am.minimise, 5.0 * cost, ending, regulariser),
                partial(am.minimise, cost, known, regulariser, limited),
            ]
    return cases


def test_minima_in_any_order_have_the_bits_of_new_work_space() -> None:
    cases = leaders()
    expected = []
    for case in cases:
        minimise._SPARE._kept.clear()
        expected.append(case())
    for i in [*range(len(cases)), *np.random.default_rng(0).integers(0, len(cases), 60)]:
        assert same_bits(cases[i](), expected[i])
    ((owner, _),) = minimise._SPARE._kept
    assert owner.layer_sizes in SIZES


def test_a_minimum_that_fails_leaves_nothing_behind() -> None:
    cost, known = [np.zeros((1, 2))], am.KnownTransition(am.Layout((1, 1), 2), [np.ones((1, 2, 1))])
    unmet = [([np.ones((1, 2))], 0.5)]  # every policy spends 1
    with pytest.raises(am.UncertifiedStep):
        am.minimise(cost, known, am.Tsallis(1.0), unmet)
    assert minimise._SPARE._kept == []
    assert am.minimise(cost, known, am.Tsallis(1.0)).occupancy[0].ravel().tolist() == [0.5, 0.5]


def test_a_projector_of_a_large_layout_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    weights, box = instance(SIZES[0], 3)
    am.project(weights, box)
    ((owner, kept),) = mirror_descent._SPARE._kept
    assert owner is kept.layout is box.layout
    monkeypatch.setattr(spare, "MOST_SPARED", box.layout.n_entries - 1)
    am.project(weights, box)
    assert mirror_descent._SPARE._kept == []
