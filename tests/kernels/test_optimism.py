"""Optimistic planning against linear programs: boxes, balls, known rows, mixed supports."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import advmdp as am
from advmdp.kernels.planning.optimism import optimistic_response
from advmdp.layout import Table
from advmdp.steps.confidence import ConfidenceSet
from advmdp.steps.workspace import new_reach
from tests.reference.optimism_lp import (
    optimistic_loss_lp,
    optimistic_loss_lp_l1,
    optimistic_values,
    optimistic_values_l1,
)
from tests.reference.shadow import assert_greedy, optimal_values
from tests.reference.tables import greatest_difference

SIZES, ACTIONS = (1, 3, 4, 2, 1), 2


def plan(rows: ConfidenceSet, costs: Table) -> tuple[float, Table, Table]:
    """V(x_0), Q and the policy."""
    layout = rows.layout
    q, policy = np.zeros(layout.n_rows), np.zeros(layout.n_rows)
    loss = optimistic_response(
        layout.graph(),
        rows.rows,
        layout.flat_pairs(costs),
        new_reach(layout),
        q,
        np.zeros(layout.n_states),
        policy,
    )
    return float(loss), layout.pairs(q), layout.pairs(policy)


def case(seed: int, *, sparse: bool) -> tuple[am.Layout, Table, Table, np.random.Generator]:
    """A layout, a transition on it and costs of both signs; sparse rows have several widths."""
    rng = np.random.default_rng(seed)
    masks = None
    if sparse:
        masks = [rng.random((n, ACTIONS, m)) < 0.6 for n, m in pairwise(SIZES)]
        for mask in masks:
            mask[:, 0, :] |= rng.random((len(mask), 1)) < 0.5  # some rows keep every successor
            mask[..., 0] |= ~mask.any(axis=2)
            mask[0, 0, :] = True
    layout = am.Layout(SIZES, ACTIONS, masks)
    weights = rng.exponential(size=layout.n_entries)
    total = np.add.reduceat(weights, layout.row_start[:-1])
    transitions = layout.triples(weights / np.repeat(total, layout.row_sizes()))
    costs = layout.pairs(rng.normal(size=layout.n_rows))
    return layout, transitions, costs, rng


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_box_equals_the_linear_programs(seed: int, sparse: bool) -> None:
    layout, transitions, costs, rng = case(seed, sparse=sparse)
    spread = rng.uniform(0.0, 0.4)
    lower = [np.maximum(0.0, p - spread * (p > 0)) for p in transitions]
    upper = [np.minimum(1.0, p + spread * (p > 0)) for p in transitions]
    loss, q, policy = plan(am.BoxSet(layout, lower, upper), costs)
    assert loss == pytest.approx(optimistic_loss_lp(costs, lower, upper), abs=1e-8)
    expected = optimistic_values(costs, lower, upper)
    assert greatest_difference(q, expected) <= 1e-8
    assert_greedy(policy, expected, tolerance=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_ball_equals_the_linear_programs(seed: int) -> None:
    layout, transitions, costs, rng = case(seed, sparse=False)
    width = layout.pairs(rng.uniform(0.0, 2.2, size=layout.n_rows))
    loss, q, policy = plan(am.L1Set(layout, transitions, width), costs)
    assert loss == pytest.approx(optimistic_loss_lp_l1(costs, transitions, width), abs=1e-8)
    expected = optimistic_values_l1(costs, transitions, width)
    assert greatest_difference(q, expected) <= 1e-8
    assert_greedy(policy, expected, tolerance=1e-7)


@pytest.mark.parametrize("sparse", [False, True])
def test_known_and_unknown_transitions_are_the_two_ends(sparse: bool) -> None:
    layout, transitions, costs, _ = case(9, sparse=sparse)
    mdp = am.LayeredMDP(layout, transitions)
    loss, q, _ = plan(am.KnownTransition(layout, transitions), costs)
    assert greatest_difference(q, optimal_values(mdp, costs)) <= 1e-12
    free, q, _ = plan(am.AnyTransition(layout), costs)
    everything = [(p > 0).astype(float) for p in transitions]
    nothing = [np.zeros_like(p) for p in transitions]
    assert greatest_difference(q, optimistic_values(costs, nothing, everything)) <= 1e-9
    assert free < loss


def test_ties_go_to_the_first_action() -> None:
    layout = am.Layout(SIZES, 3)
    _, _, policy = plan(am.AnyTransition(layout), layout.pairs(np.ones(layout.n_rows)))
    assert all((layer[:, 0] == 1.0).all() for layer in policy)
