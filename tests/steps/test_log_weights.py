"""Projections of weights that no float holds: given by their logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.kernels.kl.logs.geometric_mean import copy_measure, pull_towards
from advmdp.kernels.kl.step import KLStep
from advmdp.kernels.steps.interface import add_losses, solve_step
from advmdp.steps.workspace import new_kl_step, new_measure
from tests.reference.first_order import (
    cheapest_in_box,
    cheapest_in_l1,
    improvement,
    log_measure,
)
from tests.reference.instances import Instance, random_instance
from tests.reference.reduced_dual import project_reduced, project_reduced_l1
from tests.reference.tables import Table, flow_error, greatest_difference
from tests.steps.sets import KINDS, SetOf, layout_of, set_of

every_kind = pytest.mark.parametrize("kind", KINDS)


def best_row_of(target: SetOf) -> Any:
    def best(k: int, x: int, a: int, cost: Any) -> float:
        first, second = target.first[k][x, a], target.second[k][x, a]
        return (cheapest_in_l1 if target.kind == "l1" else cheapest_in_box)(cost, first, second)

    return best


def oracle(case: Instance, target: SetOf) -> Table:
    project = project_reduced_l1 if target.kind == "l1" else project_reduced
    return project(case.weights, target.first, target.second)


@every_kind
def test_potentials_and_constants_change_nothing(kind: str) -> None:
    case = random_instance(4, sizes=(1, 3, 3, 1), most_visits=5000, log_term=0.5, tilt=2.0)
    target, rng = set_of(case, kind), case.rng()
    potential = [np.zeros(1), *(rng.uniform(-1e4, 1e4, size=n) for n in case.sizes[1:])]
    logs = [
        np.log(w) + potential[k + 1] - potential[k][:, None, None] + rng.uniform(-1e4, 1e4)
        for k, w in enumerate(case.weights)
    ]
    result = am.project(log_weights=logs, confidence=target.build(layout_of(case)))
    assert greatest_difference(result.occupancy, oracle(case, target)) <= 1e-8


@every_kind
@pytest.mark.parametrize("span", [100.0, 3e3, 1e5])
def test_no_measure_of_the_set_sees_an_improvement(kind: str, span: float) -> None:
    case = random_instance(3, sizes=(1, 4, 4, 1), most_visits=5000, log_term=0.5)
    target = set_of(case, kind)
    logs = [case.rng().uniform(-span, 0.0, size=w.shape) for w in case.weights]
    projector = am.Projector(layout_of(case))
    result = projector.project(log_weights=logs, confidence=target.build(projector.layout))
    assert flow_error(result.occupancy) <= 1e-12
    assert target.error(result.occupancy) <= 1e-12
    assert abs(result.duality_gap) <= 1e-12
    log_q = log_measure(projector.layout, projector._measure)
    assert improvement(log_q, logs, best_row_of(target)) <= 1e-5 * len(logs)


@every_kind
def test_the_oracle_sees_what_is_not_optimal(kind: str) -> None:
    case = random_instance(3, sizes=(1, 4, 4, 1), most_visits=5000, log_term=0.5)
    target = set_of(case, kind)
    logs = [np.log(w) for w in case.weights]
    projector = am.Projector(layout_of(case))
    projector.project(log_weights=logs, confidence=target.build(projector.layout))
    log_q = log_measure(projector.layout, projector._measure)
    assert improvement(log_q, logs, best_row_of(target)) <= 1e-6
    logs[1][0, 0] += 1e-3
    assert improvement(log_q, logs, best_row_of(target)) > 1e-6


@every_kind
def test_logarithms_and_weights_give_one_answer(kind: str) -> None:
    case = random_instance(6, sizes=(1, 3, 3, 1), most_visits=500, log_term=0.5)
    target = set_of(case, kind).build(layout_of(case))
    plain = am.project(case.weights, target)
    logs = am.project(log_weights=[np.log(w) for w in case.weights], confidence=target)
    assert greatest_difference(plain.occupancy, logs.occupancy) <= 1e-13
    assert logs.divergence == pytest.approx(plain.divergence, abs=1e-12)
    assert logs.dual_value == pytest.approx(plain.dual_value, abs=1e-12)


def test_what_is_refused() -> None:
    layout = am.Layout(layer_sizes=(1, 2, 1), n_actions=1)
    anything = am.AnyTransition(layout)
    table = [np.zeros((1, 1, 2)), np.zeros((2, 1, 1))]
    with pytest.raises(am.InvalidInput, match="give either weights or log_weights"):
        am.project(table, anything, log_weights=table)
    with pytest.raises(am.InvalidInput, match="give either weights or log_weights"):
        am.project(confidence=anything)
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(am.InvalidInput, match=r"log_weights: .*layer 1, state 0"):
            am.project(log_weights=[table[0], np.full((2, 1, 1), bad)], confidence=anything)


# ---------------------------------------------------------------------- steps


def step_of(layout: am.Layout, rows: Any, seed: int) -> KLStep:
    """A step whose iterate is some measure of the set."""
    step = new_kl_step(layout, new_measure(layout))
    measure, rng = step.measure, np.random.default_rng(seed)
    uniform = np.concatenate([np.full(n, 1.0 / n) for n in layout.row_sizes()])
    measure.chance[:] = getattr(rows, "transition", uniform)
    measure.policy[:] = 1.0 / layout.n_actions
    measure.mass[:] = np.concatenate([np.full(n, 1.0 / n) for n in layout.layer_sizes])
    add_losses(layout.graph(), step, rng.random(layout.n_rows), 3.0)
    assert solve_step(layout.graph(), step, rows, None)
    return step


@pytest.mark.parametrize("kind", ["box"])  # each kind is two more programs to compile
@pytest.mark.parametrize(("share", "eta"), [(0.3, 1.0), (0.9, 5e3), (1.0, 2.0), (0.0, 1.0)])
def test_a_step_from_between_two_measures(kind: str, share: float, eta: float) -> None:
    case = random_instance(5, sizes=(1, 3, 3, 1), most_visits=500, log_term=0.5)
    layout, target = layout_of(case), set_of(case, kind)
    confidence = target.build(layout)
    step, first = step_of(layout, confidence.rows, 1), step_of(layout, confidence.rows, 2).measure
    losses = np.random.default_rng(0).random(layout.n_rows)
    one, other = log_measure(layout, step.measure), log_measure(layout, first)
    loss = layout.triples(np.repeat(losses, layout.row_sizes()))
    logs = [
        share * a + (1.0 - share) * b - eta * c for a, b, c in zip(one, other, loss, strict=True)
    ]
    graph, before = layout.graph(), new_measure(layout)
    kept = [part.copy() for part in step.measure]
    pull_towards(graph, step, confidence.rows, first, share, before)
    add_losses(graph, step, losses, eta)
    assert any(solve_step(graph, step, confidence.rows, in_logs) for in_logs in (None, True))
    found = log_measure(layout, step.measure)
    expected = am.project(log_weights=logs, confidence=confidence).occupancy
    assert greatest_difference([np.exp(part) for part in found], expected) <= 1e-9
    assert improvement(found, logs, best_row_of(target)) <= 1e-5
    copy_measure(before, step.measure)
    assert all(np.array_equal(a, b) for a, b in zip(kept, step.measure, strict=True))
