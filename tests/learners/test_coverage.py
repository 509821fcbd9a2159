"""Lemma 2: the true transition stays in every confidence set; and the test that could notice."""

from __future__ import annotations

import numpy as np

import advmdp as am


def covered(log_scale: float, seed: int) -> bool:
    """Whether P was in the set of every epoch of a run that follows the learner."""
    mdp = am.families.random_mdp((1, 3, 3, 1), 2, seed=seed)
    learner = am.UOBREPS(mdp.layout, 600, delta=0.1, log_scale=log_scale)
    rng = np.random.default_rng(seed)
    truth = np.array(mdp.flat)
    for _ in range(600):
        policy = learner.policy()
        states, actions = [0], []
        for k in range(mdp.layout.n_layers):
            actions.append(int(rng.choice(2, p=policy[k][states[-1]])))
            row = mdp.transitions[k][states[-1], actions[-1]]
            states.append(int(rng.choice(len(row), p=row)))
        before = learner.epoch
        learner.update(am.Trajectory(states, actions, rng.random(len(actions))))
        if learner.epoch > before:
            box = learner.confidence_set()
            low = mdp.layout.flat_triples(box.lower)
            high = mdp.layout.flat_triples(box.upper)
            if (truth < low - 1e-12).any() or (truth > high + 1e-12).any():
                return False
    return True


def test_coverage_with_the_printed_constants() -> None:
    # Of 10,000 such runs with other seeds none lost P: the chance that one of these 12 does is
    # below 12 x 0.07% = 0.8% (99.9% confidence).
    assert all(covered(1.0, seed) for seed in range(12))


def test_coverage_breaks_when_the_log_term_is_shrunk() -> None:
    # A set a thousandth as cautious lost P in 2,000 of 2,000 runs: the check has power, and fails
    # by chance in less than 0.1% of all choices of seeds.
    assert sum(covered(0.001, seed) for seed in range(6)) <= 1
