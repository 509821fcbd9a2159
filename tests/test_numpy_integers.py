"""NumPy's integers as horizons and sizes give what Python's give: they are converted at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.kernels.runtime.storage import leaves
from tests.reference.contract import COMPILED

LONGEST = {np.int8: 120, np.int16: 30_000, np.int32: 100_000_000, np.int64: 100_000_000}
"""A horizon that the type holds, while its products with the sizes below do not (up to int32)."""
SIZES = (1, 5, 5, 5, 1)
MDP = am.families.random_mdp(SIZES, 3, seed=0)
LOSSES = am.losses.Stochastic([np.full((n, 3), [0.2, 0.5, 0.8]) for n in SIZES[:-1]])


def made(name: str, layout: am.Layout, **numbers: Any) -> Any:
    maker = am.LEARNERS[name]
    arguments = dict(numbers) if maker.has_horizon else {}
    if maker.knows_transition:
        arguments["transitions"] = MDP.transitions
    return maker.make(layout=layout, **arguments)


def numbers_of(learner: Any) -> dict[str, Any]:
    """Every number and array of a learner: its own attributes and the state of its kernels."""
    own = {k: v for k, v in vars(learner).items() if isinstance(v, int | float | np.number)}
    return own | {name: value for name, value, _ in leaves(learner._state)}


@pytest.mark.parametrize("kind", LONGEST)
@pytest.mark.parametrize("name", COMPILED)
def test_learners_are_tuned_alike(name: str, kind: Any) -> None:
    expected = numbers_of(made(name, MDP.layout, n_episodes=LONGEST[kind]))
    layout = am.Layout([kind(n) for n in SIZES], kind(3))
    found = numbers_of(made(name, layout, n_episodes=kind(LONGEST[kind])))
    assert found.keys() == expected.keys()
    for part, value in expected.items():
        assert type(found[part]) is type(value), part
        np.testing.assert_array_equal(found[part], value, err_msg=part)


@pytest.mark.parametrize("kind", LONGEST)
@pytest.mark.parametrize("name", am.LEARNERS)
def test_runs_are_equal(name: str, kind: Any) -> None:
    expected = am.play(MDP, LOSSES, made(name, MDP.layout, n_episodes=120), 100)
    learner = made(name, MDP.layout, n_episodes=kind(120))
    found = am.play(MDP, LOSSES, learner, kind(100), checkpoints=None)
    assert np.array_equal(found.regret, expected.regret)
    assert np.array_equal(found.episodes, expected.episodes)
    if am.LEARNERS[name].has_horizon:
        with pytest.raises(am.InvalidInput, match="n_episodes=120"):
            am.play(MDP, LOSSES, learner, kind(100))


@pytest.mark.parametrize("kind", LONGEST)
def test_other_numbers_of_learners(kind: Any) -> None:
    layout, table = MDP.layout, MDP.transitions
    pairs = [
        (am.FPL(layout, table, 50, phase=n), am.FPL(layout, table, 50, phase=kind(n)))
        for n in (1, 100)
    ]
    pairs.append((am.SlidingWindowUCRL2(layout, 100), am.SlidingWindowUCRL2(layout, kind(100))))
    for expected, found in pairs:
        one, other = numbers_of(expected), numbers_of(found)
        assert all(np.array_equal(one[part], other[part]) for part in one)
    doubling = am.Doubling(am.UOBREPS, layout, first=kind(100))
    assert [doubling._horizon(i) for i in (1, 2, 9)] == [100, 200, 25_600]


FAMILIES: dict[str, Any] = {
    "grid": lambda n: am.families.grid(n(12), n(12), n(3)),
    "river_swim": lambda n: am.families.river_swim(n(20), n(12)),
    "deep_sea": lambda n: am.families.deep_sea(n(12)),
    "combination_lock": lambda n: am.families.combination_lock(n(12), n(12), n(3)),
    "routing": lambda n: am.families.routing(n(12), n(12), n(3), n(2)),
    "random_mdp": lambda n: am.families.random_mdp(
        (n(1), n(12), n(12), n(1)), n(12), n(3), n_successors=n(3)
    ),
}


@pytest.mark.parametrize("kind", LONGEST)
@pytest.mark.parametrize("family", FAMILIES)
def test_families_are_equal(family: str, kind: Any) -> None:
    expected, found = FAMILIES[family](int), FAMILIES[family](kind)
    assert found.layout == expected.layout
    assert np.array_equal(found.flat, expected.flat)
    assert all(type(n) is int for n in (*found.layout.layer_sizes, found.layout.n_actions))


PROCESSES: dict[str, Any] = {
    "Switching": lambda n, a, b: am.losses.Switching([a, b], period=n(7)),
    "Majority": lambda n, a, b: am.losses.Majority(a, b, period=n(100), adverse_share=0.3),
    "Drifting": lambda n, a, b: am.losses.Drifting(a, b, period=n(100)),
    "Corrupted": lambda n, a, b: am.losses.Corrupted(a, b, n(3), n(50), n(2)),
}


@pytest.mark.parametrize("kind", LONGEST)
@pytest.mark.parametrize("process", PROCESSES)
def test_loss_processes_are_equal(process: str, kind: Any) -> None:
    tables = [np.full(MDP.layout.n_rows, value) for value in (0.25, 0.75)]
    streams = [PROCESSES[process](n, *tables).begin(MDP.layout, n(5)) for n in (int, kind)]
    for episode in (0, 1, 7, 49, 99, 150, 1000):
        assert np.array_equal(*(stream.table(episode) for stream in streams))
