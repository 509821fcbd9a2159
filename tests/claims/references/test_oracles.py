"""The reference solvers against those of the tests, and against the package."""

from __future__ import annotations

import numpy as np

import advmdp as am
from advmdp.claims.lemmas.projection_dual import problem_from_run
from advmdp.claims.lemmas.upper_occupancy import PROGRAMME_TOLERANCE, random_box, random_policy
from advmdp.claims.references import oracles
from advmdp.layout import Layout
from tests.reference.conic import project_conic
from tests.reference.linear_programs import upper_occupancy_lp
from tests.reference.seed_dual import project_seed_dual


def test_the_two_linear_programmes_agree() -> None:
    layout, generator = Layout((1, 2, 3, 1), 2), np.random.default_rng(0)
    box, policy = random_box(layout, generator), random_policy(layout, generator)
    mine = oracles.upper_occupancy(layout, layout.flat_pairs(policy), box)
    assert np.allclose(mine, layout.flat_pairs(upper_occupancy_lp(policy, box.lower, box.upper)))


def test_the_programmes_are_as_accurate_as_the_claim_says() -> None:
    """A set on which HiGHS overstates the maximum by 3e-8 unless asked for more than by default."""
    layout, generator = Layout((1, 2, 4, 3, 1), 2), np.random.default_rng(240)
    box, policy = random_box(layout, generator), random_policy(layout, generator)
    programme = oracles.upper_occupancy(layout, layout.flat_pairs(policy), box)
    ours = layout.flat_pairs(am.upper_occupancy(policy, box))
    assert abs(programme - ours).max() <= PROGRAMME_TOLERANCE


def test_the_models_agree_with_those_of_the_tests() -> None:
    layout = am.Layout((1, 3, 2, 1), 2)
    _, flat, box, centre, width = problem_from_run(layout, np.random.default_rng(1))
    weights, sides = layout.triples(flat), (box.lower, box.upper)
    conic = layout.flat_triples(project_conic(weights, *sides))
    mine = oracles.conic_projection(layout, flat, box)
    assert mine is not None
    assert np.allclose(mine, conic, atol=1e-4)
    assert abs(oracles.divergence(mine, flat) - oracles.divergence(conic, flat)) < 1e-7
    dual = oracles.paper_dual(layout, flat, centre, width, free_beta=True)
    assert abs(dual.value - project_seed_dual(weights, *sides).value) < 1e-8
