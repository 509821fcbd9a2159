"""With a set of one element every unknown-transition step is its known-transition twin.

Three kinds of singleton are used: a known transition, a box of width zero and a ball of radius
zero.  The mirror step, the upper occupancy bounds and the optimistic plan are all that the learners
make of a set, so their twins (UOB-REPS and O-REPS, UC-O-REPS and O-REPS, FPOP and FPL, UCRL2 and
backward induction) agree where these do; two whole learners are compared as well.
"""

from __future__ import annotations

import numpy as np
import pytest

import advmdp as am
from advmdp.kernels.learners.mirror.mirror_descent import FULL, OWN, UPPER
from advmdp.kernels.planning.optimism import optimistic_response
from advmdp.layout import Floats
from advmdp.learners.mirror.mirror_descent import MirrorDescent
from advmdp.steps.confidence import ConfidenceSet, KnownTransition
from advmdp.steps.workspace import new_reach
from tests.reference.brute_force import best_deterministic_loss
from tests.reference.tables import greatest_difference

SIZES, ACTIONS = (1, 3, 3, 1), 2


def singletons(mdp: am.LayeredMDP) -> dict[str, ConfidenceSet]:
    chance = np.array(mdp.flat)
    zero = mdp.layout.pairs(np.zeros(mdp.layout.n_rows))
    return {
        "known": am.KnownTransition(mdp.layout, chance),
        "box": am.BoxSet(mdp.layout, chance, chance),
        "ball": am.L1Set(mdp.layout, chance, zero),
    }


def random_policy(layout: am.Layout, rng: np.random.Generator) -> list[Floats]:
    return [rng.dirichlet(np.ones(ACTIONS), size=n) for n in layout.layer_sizes[:-1]]


@pytest.mark.parametrize("kind", ["known", "box", "ball"])
@pytest.mark.parametrize("seed", range(3))
def test_projection_bounds_and_plan_are_those_of_the_known_transition(kind: str, seed: int) -> None:
    mdp = am.families.random_mdp(SIZES, ACTIONS, seed=seed)
    layout, rng = mdp.layout, np.random.default_rng(seed)
    confidence, known = singletons(mdp)[kind], singletons(mdp)["known"]
    weights = rng.random(layout.n_entries) + 0.05
    ours, twin = am.project(weights, confidence), am.project(weights, known)
    assert greatest_difference(ours.occupancy, twin.occupancy) <= 1e-9
    policy = random_policy(layout, rng)
    q = [t.sum(axis=2) for t in am.occupancy_measure(mdp.transitions, policy, layout)]
    assert greatest_difference(am.upper_occupancy(policy, confidence), q) <= 1e-12
    costs = rng.random(layout.n_rows)
    plan = np.zeros(layout.n_rows)
    loss = optimistic_response(
        layout.graph(),
        confidence.rows,
        costs,
        new_reach(layout),
        np.zeros(layout.n_rows),
        np.zeros(layout.n_states),
        plan,
    )
    assert loss == pytest.approx(best_deterministic_loss(mdp.transitions, layout.pairs(costs)))


@pytest.mark.parametrize("estimator", [UPPER, OWN, FULL])
def test_whole_learners_on_a_set_of_one_element_are_o_reps(estimator: int) -> None:
    mdp = am.families.random_mdp(SIZES, ACTIONS, seed=6)
    mean = mdp.layout.pairs(np.random.default_rng(6).random(mdp.layout.n_rows))
    full = estimator == FULL

    class OnOneElement(MirrorDescent):
        feedback = "full" if full else "bandit"

    learner = OnOneElement(
        mdp.layout,
        500,
        eta=0.1,
        gamma=0.0 if full else 0.05,
        log_term=1.0,
        estimator=estimator,
        confidence=KnownTransition(mdp.layout, mdp.transitions),
    )
    twin: MirrorDescent = (
        am.OREPS(mdp.layout, mdp.transitions, 500, eta=0.1)
        if full
        else am.OREPSBandit(mdp.layout, mdp.transitions, 500, eta=0.1, gamma=0.05)
    )
    losses = am.losses.Stochastic(mean)
    ours = am.play(mdp, losses, learner, 500, seed=2).regret
    theirs = am.play(mdp, losses, twin, 500, seed=2).regret
    assert np.allclose(ours, theirs, rtol=0, atol=1e-6)
