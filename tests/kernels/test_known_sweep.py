"""The dual over a known transition: its value, its gradient and its Hessian."""

from __future__ import annotations

import math

import numpy as np
import pytest

import advmdp as am
from advmdp.kernels.kl.known.sweep import evaluate_known, forward_known
from advmdp.kernels.kl.linear.known_blocks import assemble_known
from advmdp.kernels.kl.projection import Solver
from advmdp.kernels.model.measure import Measure
from advmdp.kernels.sets.confidence import make_rows_known
from advmdp.kernels.sets.interface import Matrices
from advmdp.steps.workspace import matrices_of, new_measure, new_solver

SIZES, N_ACTIONS = (1, 3, 9, 2, 1), 3


def instance(seed: int, *, declared: bool) -> tuple[am.Layout, Measure, Solver]:
    """Weights that no measure has, over rows with two successors."""
    mdp = am.families.random_mdp(SIZES, N_ACTIONS, seed, n_successors=2)
    layout = mdp.layout if declared else am.Layout(SIZES, N_ACTIONS)
    rng = np.random.default_rng(seed)
    measure = new_measure(layout)
    measure.chance[:] = layout.flat_triples(mdp.transitions, "transitions")
    measure.policy[:] = rng.random(layout.n_rows) + 0.1
    measure.mass[:] = rng.random(layout.n_states) + 0.1
    return layout, measure, new_solver(layout)


def value_at(layout: am.Layout, measure: Measure, beta: np.ndarray) -> float:
    """G, from its definition."""
    graph, total, r = layout.graph(), 0.0, 0
    for k in range(layout.n_layers):
        z = 0.0
        for x in range(int(layout.layer_start[k]), int(layout.layer_start[k + 1])):
            for _ in range(N_ACTIONS):
                entries = range(int(graph.row_start[r]), int(graph.row_start[r + 1]))
                gain = sum(
                    measure.chance[e]
                    * beta[graph.successor[e] if graph.scattered[r] else graph.first[r] + j]
                    for j, e in enumerate(entries)
                )
                z += measure.mass[x] * math.exp(-beta[x]) * measure.policy[r] * math.exp(gain)
                r += 1
        total += math.log(z)
    return total


def matrices(layout: am.Layout, measure: Measure, *, held: bool = True) -> Matrices:
    """The transition as matrices, or none."""
    return Matrices(*matrices_of(layout, measure.chance) if held else (np.zeros(0), np.zeros(0)))


def gradient_at(
    layout: am.Layout, measure: Measure, solver: Solver, beta: np.ndarray, *, held: bool
) -> np.ndarray:
    """inflow - outflow as the sweep finds them."""
    solver.dual.beta[:] = beta
    solver.dual.tilt[:] = np.exp(beta)
    known = matrices(layout, measure, held=held)
    value = evaluate_known(layout.graph(), measure, known, solver.dual)
    assert value == pytest.approx(value_at(layout, measure, beta), abs=1e-12)
    found = solver.dual.flows.inflow - solver.dual.flows.outflow
    found[[0, -1]] = 0.0
    return np.array(found)


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("spread", [0.2, 3.0])  # exponentials by their series, and of any size
def test_value_gradient_and_hessian(spread: float, declared: bool, held: bool) -> None:
    layout, measure, solver = instance(4, declared=declared)
    rng = np.random.default_rng(8)
    inner = np.arange(1, layout.n_states - 1)
    beta = np.zeros(layout.n_states)
    beta[inner] = -spread * rng.random(len(inner))
    gradient = gradient_at(layout, measure, solver, beta, held=held)
    assemble_known(layout.graph(), measure, solver.dual, solver.blocks)
    hessian, blocks = np.zeros((layout.n_states, layout.n_states)), solver.blocks
    for e, (x, y) in enumerate(zip(blocks.slot_row, blocks.slot_column, strict=True)):
        if y <= x or layout.graph().layer[x] < layout.graph().layer[y]:
            hessian[x, y] = hessian[y, x] = blocks.entries[e]
    step = 1e-5
    for x in inner:
        moved = np.eye(layout.n_states)[x] * step
        sides = [value_at(layout, measure, beta + sign * moved) for sign in (1.0, -1.0)]
        assert gradient[x] == pytest.approx((sides[0] - sides[1]) / (2 * step), abs=1e-9)
        flows = [
            gradient_at(layout, measure, solver, beta + s * moved, held=held) for s in (1.0, -1.0)
        ]
        assert hessian[x] == pytest.approx((flows[0] - flows[1]) / (2 * step), abs=1e-9)


def test_a_weight_that_floats_cannot_hold_is_left_to_the_safe_path() -> None:
    layout, measure, solver = instance(2, declared=True)
    measure.mass[2] = 0.0
    measure.policy[3 * N_ACTIONS : 4 * N_ACTIONS] = 0.0  # no weight at all in one state
    solver.dual.tilt[:] = 1.0
    known = matrices(layout, measure)
    assert math.isnan(evaluate_known(layout.graph(), measure, known, solver.dual))


@pytest.mark.parametrize("declared", [True, False])
def test_the_occupancy_of_a_policy(declared: bool) -> None:
    layout, measure, _ = instance(7, declared=declared)
    policy = [table / table.sum(axis=1, keepdims=True) for table in layout.pairs(measure.policy)]
    measure.policy[:] = layout.flat_pairs(policy)
    flow = np.zeros(layout.n_rows)
    forward_known(layout.graph(), measure, matrices(layout, measure), flow)
    expected = [np.ones(1)]
    for choice, chance in zip(policy, layout.triples(measure.chance), strict=True):
        expected.append(np.einsum("x,xa,xay->y", expected[-1], choice, chance))
    assert measure.mass == pytest.approx(np.concatenate(expected), rel=1e-13)


@pytest.mark.parametrize("declared", [True, False])
def test_a_row_that_becomes_known_is_in_the_matrices(declared: bool) -> None:
    layout, measure, _ = instance(3, declared=declared)
    made = am.KnownTransition(layout, layout.triples(measure.chance))
    rng = np.random.default_rng(1)
    other = rng.random(layout.n_entries)
    other /= np.repeat(np.add.reduceat(other, layout.row_start[:-1]), layout.row_sizes())
    make_rows_known(layout.graph(), np.ones(layout.n_rows, dtype=np.bool_), other, made.rows)
    expected = matrices_of(layout, other)
    assert (made.rows.along == expected[0]).all()
    assert (made.rows.across == expected[1]).all()


def test_wide_layers_have_no_matrices() -> None:
    layout = am.Layout((1, 13, 1), 2)
    chance = [np.full((1, 2, 13), 1 / 13), np.ones((13, 2, 1))]
    assert am.KnownTransition(layout, chance).rows.along.size == 0
