"""The projection where doubles run out: weights from 1e-200 to 1e200, and long horizons."""

from __future__ import annotations

import numpy as np
import pytest

import advmdp as am
from tests.reference.instances import random_instance
from tests.reference.reduced_dual import project_reduced
from tests.reference.tables import box_error, flow_error, greatest_difference
from tests.steps.sets import layout_of, set_of


@pytest.mark.parametrize("log_term", [0.05, 1.0, 1e6])
@pytest.mark.parametrize("layer", [0, 1, 2])
def test_weights_spread_over_four_hundred_orders_of_magnitude(layer: int, log_term: float) -> None:
    case = random_instance(layer, sizes=(1, 3, 3, 1), most_visits=5000, log_term=log_term)
    rng = case.rng()
    weights = [w.copy() for w in case.weights]
    weights[layer] = 10.0 ** rng.uniform(-200, 200, size=weights[layer].shape)
    lower, upper = case.box()
    result = am.project(weights, am.BoxSet(layout_of(case), lower, upper))
    assert result.converged
    assert result.flow_residual <= 1e-10
    assert -1e-9 <= result.duality_gap <= 1e-7
    q = result.occupancy
    assert flow_error(q) <= 1e-12
    assert box_error(q, lower, upper) <= 1e-14


@pytest.mark.parametrize("log_term", [0.05, 1.0, 1e6])
def test_the_right_answer_behind_weights_of_any_size(log_term: float) -> None:
    # Potentials of up to 230 = ln 1e100 per state leave the projection alone (see the properties)
    # but put the weights of every layer between 1e-200 and 1e200.
    case = random_instance(9, sizes=(1, 3, 3, 1), most_visits=5000, log_term=log_term, tilt=2.0)
    lower, upper = case.box()
    expected = project_reduced(case.weights, lower, upper)
    rng = case.rng()
    potential = [rng.choice([-230.0, 0.0, 230.0], size=n) for n in case.sizes]
    weights = [
        w * np.exp(potential[k + 1]) * np.exp(-potential[k])[:, None, None]
        for k, w in enumerate(case.weights)
    ]
    assert min(w.min() for w in weights) < 1e-190
    assert max(w.max() for w in weights) > 1e190
    result = am.project(weights, am.BoxSet(layout_of(case), lower, upper))
    assert result.converged
    assert greatest_difference(result.occupancy, expected) <= 1e-8


@pytest.mark.parametrize("kind", ["l1", "known"])
def test_extreme_weights_in_the_other_sets(kind: str) -> None:
    case = random_instance(2, sizes=(1, 3, 3, 1), most_visits=5000, log_term=0.2)
    weights = [w.copy() for w in case.weights]
    weights[1] = 10.0 ** case.rng().uniform(-200, 200, size=weights[1].shape)
    target = set_of(case, kind)
    result = am.project(weights, target.build(layout_of(case)))
    assert result.converged
    assert result.flow_residual <= 1e-10
    assert -1e-9 <= result.duality_gap <= 1e-7
    assert flow_error(result.occupancy) <= 1e-12
    assert target.error(result.occupancy) <= 1e-12


def test_long_chain_of_layers() -> None:
    sizes = (1, *([2] * 60), 1)
    case = random_instance(1, sizes=sizes, most_visits=5000, log_term=0.05, tilt=1.0)
    target = set_of(case, "box")
    result = am.project(case.weights, target.build(layout_of(case)))
    assert result.converged
    assert flow_error(result.occupancy) <= 1e-10
    assert target.error(result.occupancy) <= 1e-14
    assert abs(result.divergence - result.dual_value) <= 1e-8


def test_states_with_next_to_no_flow_on_a_sparse_support() -> None:
    """Full information makes some states a millionth as likely as others; all must balance."""
    mdp = am.families.random_mdp((1, 20, 20, 1), 3, seed=1, n_successors=3)
    losses = am.losses.Stochastic(np.random.default_rng(0).random(mdp.layout.n_rows))
    learner = am.LEARNERS["uc-o-reps"].make(mdp.layout, n_episodes=3000, log_scale=0.01)
    run = am.play(mdp, losses, learner, 2100, seed=3)
    assert run.solver is not None
    assert run.solver.safe_paths == 0
    assert run.solver.worst_residual <= 1e-10
