"""Unrolled MDPs against backward induction over time on the places themselves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import advmdp as am
from advmdp.evaluation.comparator import best_fixed_policy

Floats = NDArray[np.float64]
N_PLACES, N_ACTIONS, HORIZON = 5, 3, 4


def random_places(seed: int, *, changing: bool = False) -> tuple[Floats, Floats]:
    """A sparse random transition and losses, the same at every step or changing."""
    rng = np.random.default_rng(seed)
    steps, times = (HORIZON - 1, HORIZON) if changing else (1, 1)
    transition = rng.dirichlet(np.ones(N_PLACES), (steps, N_PLACES, N_ACTIONS))
    transition[rng.random(transition.shape) < 0.6] = 0.0
    transition[..., 0] += transition.sum(axis=-1) == 0.0
    transition /= transition.sum(axis=-1, keepdims=True)
    loss = rng.random((times, N_PLACES, N_ACTIONS))
    return (transition, loss) if changing else (transition[0], loss[0])


def least_losses(transition: Floats, loss: Floats) -> Floats:
    """The least expected loss from every place, backwards over time."""
    at = [*np.broadcast_to(transition, (HORIZON - 1, N_PLACES, N_ACTIONS, N_PLACES))]
    costs = np.broadcast_to(loss, (HORIZON, N_PLACES, N_ACTIONS))
    value = costs[-1].min(axis=1)
    for step, cost in zip(at[::-1], costs[-2::-1], strict=True):
        value = (cost + step @ value).min(axis=1)
    return np.asarray(value)


def best_loss(mdp: am.LayeredMDP) -> float:
    assert mdp.natural_loss is not None
    return best_fixed_policy(mdp, mdp.natural_loss).loss


@pytest.mark.parametrize("changing", [False, True])
@pytest.mark.parametrize("per_action", [False, True])
def test_values_are_those_of_the_places(changing: bool, per_action: bool) -> None:
    for seed in range(5):
        transition, loss = random_places(seed, changing=changing)
        value = least_losses(transition, loss)
        for place in range(N_PLACES):
            mdp = am.time_expand(transition, HORIZON, place, loss, per_action=per_action)
            assert mdp.layout.n_layers == HORIZON
            assert best_loss(mdp) == pytest.approx(value[place], abs=1e-12)
        start = np.random.default_rng(seed).dirichlet(np.ones(N_PLACES))
        mdp = am.time_expand(transition, HORIZON, start, loss, per_action=per_action)
        assert mdp.layout.n_layers == HORIZON + 1
        assert best_loss(mdp) == pytest.approx(start @ value, abs=1e-12)


def test_the_opening_layer_draws_the_start_whatever_is_done() -> None:
    transition, loss = random_places(0)
    start = np.array([0.0, 0.25, 0.0, 0.75, 0.0])
    mdp = am.time_expand(transition, HORIZON, start, loss)
    assert mdp.layout.original_state[1].tolist() == [1, 3]
    assert np.array_equal(mdp.transitions[0], [[[0.25, 0.75]] * N_ACTIONS])
    assert mdp.natural_loss is not None
    assert not mdp.natural_loss[0].any()


def test_what_the_learner_is_told() -> None:
    transition, _ = random_places(2)
    told = am.time_expand(transition, HORIZON, per_action=True)
    untold = am.time_expand(transition, HORIZON)
    assert np.count_nonzero(told.flat) == told.layout.n_entries  # nothing but what can happen
    for support in untold.layout.triples(np.ones(untold.layout.n_entries)):
        assert np.array_equal(support, np.broadcast_to(support[:, :1], support.shape))
    assert told.layout.n_entries < untold.layout.n_entries


def test_a_certain_start_needs_no_opening_layer() -> None:
    step = np.eye(4)[:, None, :]  # one action that never moves
    loss = [[0.0], [0.0], [1.0], [0.0]]
    for start in (2, [0.0, 0.0, 1.0, 0.0]):
        mdp = am.time_expand(step, horizon=3, start=start, loss=loss)
        assert mdp.layout.layer_sizes == (1, 1, 1, 1)
        assert [kept.tolist() for kept in mdp.layout.original_state] == [[0], [2], [2], [0]]
        assert best_loss(mdp) == 3.0


def test_one_step() -> None:
    transition, loss = random_places(1)
    mdp = am.time_expand(transition, 1, 3, loss)
    assert mdp.layout.layer_sizes == (1, 1)
    assert best_loss(mdp) == loss[3].min()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: am.time_expand(np.ones((2, 3)), 2), r"transition: shape \(2, 3\) is not of the"),
        (lambda: am.time_expand(np.ones((2, 1, 3)), 2), r"\(2, 1, 3\) does not end in \(S, A, S\)"),
        (lambda: am.time_expand(np.ones((2, 1, 1, 1)), 2), "with 1 steps before it"),
        (lambda: am.time_expand([["a"]], 2), "transition: give an array of real numbers"),
        (lambda: am.time_expand(np.ones((1, 1, 1)), 0), "horizon: 0 is not a whole number"),
        (lambda: am.time_expand(np.ones((1, 1, 1)), 2, start=1), "start: 1 is not one of"),
        (lambda: am.time_expand(np.ones((1, 1, 1)), 2, start=[0.5]), "start: .* sum to 0.5"),
        (lambda: am.time_expand(np.ones((1, 1, 1)), 2, start=[1.0, 0.0]), "one probability for"),
        (lambda: am.time_expand([[[0.5, 0.5]]] * 2, 2, start=[1.5, -0.5]), "one probability for"),
        (lambda: am.time_expand([[[0.5, 0.5]]] * 2, 2, start=[np.nan, 1]), "one probability for"),
        (lambda: am.time_expand([[[-0.5, 1.5]]] * 2, 2), "negative probability -0.5 at"),
        (lambda: am.time_expand(np.ones((1, 1, 1)), 2, loss=[[1.0, 2.0]]), "loss: shape"),
        (lambda: am.time_expand(np.ones((1, 1, 1)), 2, loss=[1.0]), "loss: shape"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(
    build: Callable[[], am.LayeredMDP], message: str
) -> None:
    with pytest.raises(am.InvalidInput, match=message) as caught:
        build()
    assert "\n" not in str(caught.value)
