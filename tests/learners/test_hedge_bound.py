"""The mirror-descent lemma (Hedge): deterministic, so it must hold on every run.

For every r in all the sets used,
    eta sum <q^_t - r, l^_t> <= D(r || q^_1) - D(r || q^_{T+1}) + eta^2 / 2 sum q^_t l^_t^2
                              <= sum_k ln(|X_k||A||X_{k+1}|) + ...
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import advmdp as am
from advmdp.layout import Table
from tests.reference.tables import divergence


def flat(tables: Table) -> np.ndarray:
    return np.concatenate([table.ravel() for table in tables])


@pytest.mark.parametrize("log_scale", [1.0, 0.05])
@pytest.mark.parametrize("seed", range(4))
def test_the_inequality_holds_for_members_of_every_set(seed: int, log_scale: float) -> None:
    mdp = am.families.random_mdp((1, 3, 3, 1), 2, seed=seed)
    layout, n_episodes = mdp.layout, 400
    learner = am.UOBREPS(layout, n_episodes, eta_scale=4, log_scale=log_scale)
    rng = np.random.default_rng(seed)
    tables = [layout.pairs(rng.random(layout.n_rows).round()) for _ in range(2)]
    first = learner.occupancy()
    fed = np.zeros(layout.n_rows)  # sum of the estimates
    inner = square = 0.0
    low, high = np.zeros(layout.n_entries), np.ones(layout.n_entries)
    for t in range(n_episodes):
        q = flat([table.sum(axis=2) for table in learner.occupancy()])
        policy = learner.policy()
        states, actions = [0], []
        for k in range(layout.n_layers):
            actions.append(int(rng.choice(2, p=policy[k][states[-1]])))
            row = mdp.transitions[k][states[-1], actions[-1]]
            states.append(int(rng.choice(len(row), p=row)))
        table = tables[(t // 50) % 2]
        losses = [table[k][states[k], a] for k, a in enumerate(actions)]
        learner.update(am.Trajectory(states, actions, losses))
        estimate = np.zeros(layout.n_rows)
        for k, (a, value) in enumerate(zip(actions, learner.estimate_of_last, strict=True)):
            estimate[(layout.layer_start[k] + states[k]) * 2 + a] = value
        fed += estimate
        inner += q @ estimate
        square += q @ estimate**2
        box = learner.confidence_set()
        low = np.maximum(low, layout.flat_triples(box.lower))
        high = np.minimum(high, layout.flat_triples(box.upper))
    everywhere = am.BoxSet(layout, low, high)  # raises if no transition is in all sets
    for trial in range(6):
        weights = layout.triples(rng.random(layout.n_entries) ** 3 + 1e-6)
        r = am.project(weights, everywhere).occupancy
        left = learner.eta * (inner - flat([table.sum(axis=2) for table in r]) @ fed)
        start, end = divergence(r, first), divergence(r, learner.occupancy())
        assert left <= start - end + 0.5 * learner.eta**2 * square + 1e-7, trial
        sizes = layout.layer_sizes
        entropy = sum(np.log(2 * n * m) for n, m in itertools.pairwise(sizes))
        assert start <= entropy + 1e-9
