"""The observer on layouts whose rows share counters, against sums from the counters in Python."""

from __future__ import annotations

import numpy as np
import pytest

import advmdp as am
from advmdp.claims.playing.observed_runs import observe_run
from advmdp.kernels.sets.interface import log_scale_to_contain


class ThroughTheProtocol:
    """A learner played through its public methods; notes the counters at every epoch's start."""

    def __init__(self, learner: am.UOBREPS) -> None:
        self.learner, self.layout, self.epoch = learner, learner.layout, 0
        self.counts: list[tuple[np.ndarray, np.ndarray]] = []
        self.visited: list[np.ndarray] = []
        self.policies: list[list[np.ndarray]] = []
        self.paths: list[np.ndarray] = []

    def policy(self) -> list[np.ndarray]:
        layout, learner = self.layout, self.learner
        if learner.epoch > self.epoch:
            self.epoch = learner.epoch
            seen = layout.flat_triples(learner.transitions_seen)
            self.counts.append((layout.flat_pairs(learner.visits), seen))
        self.visited.append(self.counts[-1][0])
        self.policies.append(learner.policy())
        return self.policies[-1]

    def update(self, trajectory: am.Trajectory) -> None:
        states = self.layout.layer_start[: self.layout.n_layers] + trajectory.states[:-1]
        self.paths.append(states * self.layout.n_actions + trajectory.actions)
        self.learner.update(trajectory)


@pytest.mark.parametrize("make", [am.UOBREPS, am.UOBREPSL1])
def test_shared_counters_are_read_through_their_rows(make: type[am.UOBREPS]) -> None:
    """On stationary dynamics rows of many layers share a counter, which has another number."""
    mdp = am.families.river_swim(length=3, horizon=5, pooled=True)
    layout, n_episodes = mdp.layout, 60
    losses = am.losses.Stochastic(layout.pairs(np.full(layout.n_rows, 0.5)))
    observed = observe_run(mdp, losses, make(layout, n_episodes), n_episodes, 4, bounds=False)
    seen, slow = observed.last, ThroughTheProtocol(make(layout, n_episodes))
    am.play(mdp, losses, slow, n_episodes, seed=4)
    slow.policy()  # the set of the epoch that the last episode may have opened
    inverse, root, seen_inverse, seen_root = np.zeros((4, layout.n_layers))
    for policy, visits, path in zip(slow.policies, slow.visited, slow.paths, strict=False):
        measure = am.occupancy_measure(mdp.transitions, policy, layout)
        q = np.concatenate([table.sum(axis=2).ravel() for table in measure])
        n = np.maximum(1.0, visits)
        inverse += np.bincount(layout.row_layer, weights=q / n)
        root += np.bincount(layout.row_layer, weights=q / np.sqrt(n))
        seen_inverse += 1.0 / n[path]
        seen_root += 1.0 / np.sqrt(n[path])
    assert np.allclose(seen.inverse, inverse)
    assert np.allclose(seen.root, root)
    assert np.allclose(seen.seen_inverse, seen_inverse)
    assert np.allclose(seen.seen_root, seen_root)
    factor = max(least_factor(make, layout, mdp.flat, *counts) for counts in slow.counts)
    assert seen.least_factor == pytest.approx(factor / slow.learner.log_term, rel=1e-9)


@pytest.mark.parametrize("make", [am.UOBREPS, am.UOBREPSL1])
def test_rows_that_share_a_counter_have_the_same_least_factor(make: type[am.UOBREPS]) -> None:
    mdp = am.families.river_swim(length=3, horizon=5, pooled=True)
    layout, truth = mdp.layout, np.array(mdp.flat)
    losses = am.losses.Stochastic(layout.pairs(np.full(layout.n_rows, 0.5)))
    learner = make(layout, 60)
    observe_run(mdp, losses, learner, 60, seed=4, bounds=False)
    state, graph = learner.compiled_loop().state[0], layout.graph()
    counters = (state.visits, state.settings.log_term, state.rows)
    counted = (layout.row_sizes() > 1) & (state.visits.pairs[state.visits.counter] > 0)
    factors = np.zeros(layout.n_rows)
    for r in np.flatnonzero(counted):
        factors[r] = log_scale_to_contain(graph, int(r), truth, *counters)
    pool = layout.counter_row
    assert pool is not None
    assert np.array_equal(factors, factors[pool])
    assert len(np.unique(pool[factors > 0.0])) > 1  # several counters, most of them shared
    assert (factors[pool != np.arange(layout.n_rows)] > 0.0).any()


def least_factor(
    make: type[am.UOBREPS],
    layout: am.Layout,
    truth: np.ndarray,
    visits: np.ndarray,
    seen: np.ndarray,
) -> float:
    """The least log term with which the sets of these counts hold the truth, by bisection."""
    n = visits[layout.entry_rows()]
    known = (n > 0) & (layout.row_sizes()[layout.entry_rows()] > 1)
    away = np.where(known, abs(truth - seen / np.maximum(1.0, n)), 0.0)
    if make is am.UOBREPSL1:  # the radius sqrt(2 |successors| log_term / N)
        distance = np.add.reduceat(away, layout.row_start[:-1])
        return float((distance**2 * visits / (2.0 * layout.row_sizes())).max())

    def held(log_term: float) -> bool:
        rate = log_term / np.maximum(1.0, n - 1.0)
        width = 2.0 * np.sqrt(seen / np.maximum(1.0, n) * rate) + 14.0 / 3.0 * rate
        return bool((away <= width).all())

    low, high = 0.0, 1e3
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if held(middle) else (middle, high)
    return high
