"""The loss estimator: its exact conditional expectation by enumerating every trajectory."""

from __future__ import annotations

import numpy as np
import pytest

import advmdp as am
from tests.reference.brute_force import all_trajectories

SIZES, ACTIONS, GAMMA = (1, 2, 2, 1), 2, 0.07


def learner_after(n_episodes: int, mdp: am.LayeredMDP) -> am.UOBREPS:
    """Some way into a run, with sets that bite; deterministic."""
    learner = am.UOBREPS(mdp.layout, 10_000, gamma=GAMMA, eta=0.2, log_scale=0.02)
    rng = np.random.default_rng(1)
    mean = mdp.layout.pairs(rng.random(mdp.layout.n_rows))
    am.play(mdp, am.losses.Stochastic(mean), learner, n_episodes, seed=2)
    return learner


@pytest.mark.parametrize("n_episodes", [1, 5, 300])
def test_expectation_is_occupancy_over_bound_plus_gamma(n_episodes: int) -> None:
    # E_t[l^_t(x, a)] = q_t(x, a) l_t(x, a) / (u_t(x, a) + gamma)  (Section 3.3)
    mdp = am.families.random_mdp(SIZES, ACTIONS, seed=4)
    template = learner_after(n_episodes, mdp)
    policy = template.policy()
    bounds = am.upper_occupancy(policy, template.confidence_set())
    q = [t.sum(axis=2) for t in am.occupancy_measure(mdp.transitions, policy, mdp.layout)]
    losses = mdp.layout.pairs(np.random.default_rng(9).random(mdp.layout.n_rows))
    expectation = [np.zeros_like(table) for table in losses]
    for states, actions, chance in all_trajectories(mdp.transitions, policy):
        learner = learner_after(n_episodes, mdp)
        seen = [losses[k][states[k], a] for k, a in enumerate(actions)]
        learner.update(am.Trajectory(states, actions, seen))
        for k, (a, estimate) in enumerate(zip(actions, learner.estimate_of_last, strict=True)):
            assert 0.0 <= estimate <= 1.0 / GAMMA
            expectation[k][states[k], a] += chance * estimate
    for k, table in enumerate(expectation):
        exact = q[k] * losses[k] / (bounds[k] + GAMMA)
        assert np.allclose(table, exact, rtol=0, atol=1e-12)
        assert (table <= losses[k] + 1e-12).all()  # an underestimate while P is in the set
