"""The families against what is known about them: shapes, closed forms, drift, reproducibility."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from advmdp.errors import InvalidInput
from advmdp.layout import Table
from advmdp.world.families import (
    combination_lock,
    deep_sea,
    grid,
    random_mdp,
    river_swim,
    routing,
)
from advmdp.world.mdp import LayeredMDP
from advmdp.world.time_expand import time_expand
from tests.reference.brute_force import best_deterministic_loss
from tests.reference.tables import inner, occupancy, pair_sums

EVERY_FAMILY: dict[str, Callable[[], LayeredMDP]] = {
    "random": lambda: random_mdp((1, 5, 4, 1), 3, seed=1),
    "sparse": lambda: random_mdp((1, 9, 9, 1), 3, seed=1, n_successors=2),
    "grid": lambda: grid(4, 3, horizon=6),
    "river": lambda: river_swim(5, horizon=7),
    "sea": lambda: deep_sea(6),
    "lock": lambda: combination_lock(5, 3, seed=1, slip=0.1),
    "routing": lambda: routing(6, 3, seed=1, n_links=3),
    "expanded": lambda: time_expand([[[0.5, 0.5]], [[1.0, 0.0]]], horizon=4),
}


def natural_loss(mdp: LayeredMDP) -> Table:
    assert mdp.natural_loss is not None
    return mdp.natural_loss


def optimal_loss(mdp: LayeredMDP) -> float:
    """Backward induction on tables."""
    value = np.zeros(1)
    for kernel, loss in zip(mdp.transitions[::-1], natural_loss(mdp)[::-1], strict=True):
        value = (loss + kernel @ value).min(axis=1)
    return float(value[0])


def uniform_loss(mdp: LayeredMDP) -> float:
    policy = [np.full_like(layer, 1.0 / layer.shape[1]) for layer in natural_loss(mdp)]
    return inner(pair_sums(occupancy(mdp.transitions, policy)), natural_loss(mdp))


@pytest.mark.parametrize("build", EVERY_FAMILY.values(), ids=EVERY_FAMILY.keys())
def test_rows_are_distributions_every_state_is_reachable_and_a_build_repeats(
    build: Callable[[], LayeredMDP],
) -> None:
    mdp, again = build(), build()
    sums = np.add.reduceat(mdp.flat, mdp.layout.row_start[:-1])
    assert np.allclose(sums, 1.0, rtol=0, atol=1e-15)
    declared = mdp.layout.triples(np.ones(mdp.layout.n_entries))
    for step, support in zip(mdp.transitions, declared, strict=True):
        assert step.any(axis=(0, 1)).all()
        # every declared successor can be reached by some action of the state
        assert np.array_equal(step.any(axis=1), support.any(axis=1))
    assert mdp.layout == again.layout
    assert np.array_equal(mdp.flat, again.flat)


@pytest.mark.parametrize("name", ["grid", "river", "sea", "lock", "routing", "expanded"])
def test_the_declared_successors_do_not_give_the_actions_away(name: str) -> None:
    mdp = EVERY_FAMILY[name]()
    for support in mdp.layout.triples(np.ones(mdp.layout.n_entries)):
        assert np.array_equal(support, np.broadcast_to(support[:, :1], support.shape))


def test_backward_induction_agrees_with_enumeration() -> None:
    mdp = combination_lock(3, 2, seed=4, slip=0.2)
    assert optimal_loss(mdp) == pytest.approx(
        best_deterministic_loss(mdp.transitions, natural_loss(mdp)), abs=1e-14
    )


def test_random_rows_follow_the_concentration() -> None:
    """Entry variance of a symmetric Dirichlet(c) on n points is (n - 1) / (n^2 (n c + 1)).

    3000 rows; the empirical variance is within 20 % (about 8 standard errors) of it.
    """
    for concentration in (0.2, 1.0, 5.0):
        mdp = random_mdp((1, 30, 4, 1), 100, seed=2, concentration=concentration)
        variance = mdp.transitions[1].var()
        assert variance == pytest.approx(3 / (16 * (4 * concentration + 1)), rel=0.2)
    assert not np.array_equal(random_mdp((1, 3, 1), 2, 0).flat, random_mdp((1, 3, 1), 2, 1).flat)


def test_sparse_random_mdp_declares_what_was_asked_for() -> None:
    mdp = random_mdp((1, 20, 3, 1), 30, seed=0, n_successors=5)
    sizes = [set(mdp.layout.row_sizes()[mdp.layout.layer_rows(k)].tolist()) for k in range(3)]
    assert sizes == [{5}, {3}, {1}]


@pytest.mark.parametrize(("width", "height", "horizon"), [(3, 3, 9), (4, 2, 3), (1, 1, 2)])
def test_grid_without_slips_is_the_shortest_path(width: int, height: int, horizon: int) -> None:
    mdp = grid(width, height, horizon, slip=0.0)
    cells = [(x, y) for x in range(width) for y in range(height)]
    within = [sum(x + y <= k for x, y in cells) for k in range(horizon)]
    assert mdp.layout.layer_sizes == (*within, 1)
    assert optimal_loss(mdp) == min(width + height - 2, horizon)


def test_grid_moves_and_slips_as_described() -> None:
    mdp = grid(3, 3, horizon=6, slip=0.2)
    centre = 4  # cell (1, 1); its neighbours are 7 up, 5 right, 1 down, 3 left
    step = mdp.transitions[4]
    ahead, sides = [7, 5, 1, 3], [(3, 5), (7, 1), (5, 3), (1, 7)]
    for action in range(4):
        expected = np.zeros(9)
        expected[ahead[action]] = 0.8
        expected[list(sides[action])] = 0.1
        assert np.allclose(step[centre, action], expected, rtol=0, atol=1e-15)
    assert step[centre, 4, centre] == 1.0
    assert step[0, 2, 0] == pytest.approx(0.9)  # down into the wall, or left into the wall
    assert optimal_loss(mdp) > optimal_loss(grid(3, 3, horizon=6, slip=0.0))


def test_river_carries_to_the_left_and_rewards_the_right_bank() -> None:
    mdp = river_swim(6, horizon=12)
    step = mdp.transitions[-2]
    places = np.arange(6)
    drift = step @ places - places[:, None]
    assert np.array_equal(drift[:, 0], [0, -1, -1, -1, -1, -1])
    assert np.allclose(drift[:, 1], [0.6, 0.3, 0.3, 0.3, 0.3, -0.4])
    assert step[2, 1].tolist() == pytest.approx([0, 0.05, 0.6, 0.35, 0, 0])
    for loss in natural_loss(mdp)[6:]:
        assert loss[0].tolist() == [0.995, 1.0]
        assert loss[-1].tolist() == [1.0, 0.0]
    always_left = [np.tile([1.0, 0.0], (len(loss), 1)) for loss in natural_loss(mdp)]
    q = pair_sums(occupancy(mdp.transitions, always_left))
    assert inner(q, natural_loss(mdp)) == pytest.approx(12 * 0.995)
    assert optimal_loss(mdp) < 12 * 0.995


@pytest.mark.parametrize("depth", [1, 2, 5, 12])
def test_deep_sea_has_its_closed_forms(depth: int) -> None:
    mdp = deep_sea(depth)
    assert mdp.layout.layer_sizes == (*range(1, depth + 1), 1)
    assert optimal_loss(mdp) == pytest.approx(depth - 1, abs=1e-12)
    for level, step in enumerate(mdp.transitions[:-1]):
        assert step[:, 0].argmax(axis=1).tolist() == [max(c - 1, 0) for c in range(level + 1)]
        assert step[:, 1].argmax(axis=1).tolist() == [c + 1 for c in range(level + 1)]
    always_left = [np.tile([1.0, 0.0], (n, 1)) for n in mdp.layout.layer_sizes[:-1]]
    q = pair_sums(occupancy(mdp.transitions, always_left))
    assert inner(q, natural_loss(mdp)) == pytest.approx(depth - 0.01, abs=1e-12)
    random_walk = [np.full((n, 2), 0.5) for n in mdp.layout.layer_sizes[:-1]]
    treasure = pair_sums(occupancy(mdp.transitions, random_walk))[-1][-1, 1]
    assert treasure == pytest.approx(2.0**-depth, rel=1e-12)


@pytest.mark.parametrize("slip", [0.0, 0.25])
def test_lock_has_its_closed_forms(slip: float) -> None:
    length, n_actions = 5, 3
    mdp = combination_lock(length, n_actions, seed=7, slip=slip)
    held = (1.0 - slip) ** (length - 1)
    assert optimal_loss(mdp) == pytest.approx(length - held, abs=1e-12)
    assert uniform_loss(mdp) == pytest.approx(length - held / n_actions**length, abs=1e-12)
    assert all(step[1, :, 0].max() == 0.0 for step in mdp.transitions[1:-1])  # jammed for good


def test_locks_of_different_seeds_have_different_codes() -> None:
    codes = {tuple(combination_lock(6, 4, seed=s).flat.tolist()) for s in range(5)}
    assert len(codes) == 5
    assert combination_lock(1, 4, seed=0).layout.layer_sizes == (1, 1)


def test_routing_prefers_the_chosen_link_and_diverts_evenly() -> None:
    mdp = routing(width=8, depth=4, seed=3, n_links=3, failure=0.3)
    assert mdp.layout.n_layers == 5
    assert set(mdp.layout.row_sizes()[: mdp.layout.layer_rows(3).stop].tolist()) == {3}
    for step in mdp.transitions[:-1]:
        for router in step:
            linked = np.flatnonzero(router[0])
            chosen = router[:, linked]
            assert len(set(chosen.argmax(axis=1))) == 3  # every action has a link of its own
            others = np.sort(chosen, axis=1)[:, :2]
            assert np.allclose(others[:, 0], others[:, 1], rtol=0, atol=1e-15)
            assert others.max() <= 0.15
    assert min(layer.min() for layer in natural_loss(mdp)) >= 0.0


def test_routing_with_one_link_is_a_fixed_route() -> None:
    mdp = routing(width=4, depth=3, seed=0, n_links=1)
    assert mdp.layout.layer_sizes == (1, 1, 1, 1, 1)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: random_mdp((1, 2, 2), 2, 0), "layer_sizes: .* begin and end with 1"),
        (lambda: random_mdp((1, 2, 1), 2, 0, concentration=0.0), "concentration: 0.0 is not above"),
        (lambda: random_mdp((1, 2, 1), 2, 0, n_successors=0), "n_successors: 0 is not a whole"),
        (lambda: random_mdp((1, 2, 1), 2, -3), "seed: -3 is not a whole number"),
        (lambda: grid(0, 2, 3), "width: 0 is not a whole number"),
        (lambda: grid(2, 2, 3, slip=1.5), r"slip: 1.5 is outside \[0, 1\]"),
        (lambda: grid(2, 2, 0), "horizon: 0 is not a whole number"),
        (lambda: river_swim(1, 5), "length: 1 is not a whole number of at least 2"),
        (lambda: deep_sea(0), "depth: 0 is not a whole number"),
        (lambda: deep_sea(3, move_cost=float("nan")), "move_cost: nan is not a finite number"),
        (lambda: combination_lock(3, 2, 0, slip=1.0), r"slip: 1.0 is outside \[0, 1\)"),
        (lambda: routing(2, 2, 0, n_links=3), "n_links: 3 distinct links need a width"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(
    build: Callable[[], LayeredMDP], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        build()
    assert "\n" not in str(caught.value)
