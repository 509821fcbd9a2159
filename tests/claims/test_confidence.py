"""Coverage: counted over all epochs, broken by narrow sets, vacuous for a handful of episodes."""

from __future__ import annotations

import numpy as np

import advmdp as am
from advmdp.claims import confidence
from advmdp.claims.witness import watch
from advmdp.kernels.accounting import witness as kernel
from tests.claims.broken import NarrowSets, rng


def test_holds_and_tells_where_it_would_break() -> None:
    finding = confidence.examine(confidence.Size(12, 600, 6), rng())
    assert finding.verdict == "holds"
    assert 0.01 < finding.data["factor_at_4_delta"] < 0.3
    assert finding.data["shrunk"]["lost"] == 6
    assert finding.data["chance_to_lose_P"] == sorted(finding.data["chance_to_lose_P"])


def test_narrow_sets_fail() -> None:
    finding = confidence.examine(confidence.Size(12, 400, 1), rng(), NarrowSets)
    assert finding.verdict == "fails"
    assert finding.data["failures"] == 12


def test_sets_that_say_nothing_are_vacuous() -> None:
    assert confidence.examine(confidence.Size(3, 20, 1), rng()).verdict == "vacuous"


def test_the_least_factor_is_where_the_learners_own_sets_begin_to_hold() -> None:
    # The witness solves the width for the factor; sets built with a little more hold P in every
    # epoch, sets built with a little less lose it.  The policies are not the same after that, so
    # the counts are replayed: epoch by epoch from the trajectories of one run.
    mdp = am.families.random_mdp((1, 3, 3, 1), 2, seed=5)
    layout, n_episodes = mdp.layout, 400
    losses = am.losses.Stochastic(layout.pairs(np.full(layout.n_rows, 0.5)))
    watched = watch(mdp, losses, am.UOBREPS(layout, n_episodes), n_episodes, 1, bounds=False)
    factor = watched.last.worst[kernel.LEAST_SCALE]
    learner = am.UOBREPS(layout, n_episodes)
    sets: list[tuple[object, object]] = []

    class Spy:
        """Collects the counters at the start of every epoch."""

        def __init__(self) -> None:
            self.layout, self.epoch = layout, 0

        def policy(self) -> object:
            if learner.epoch > self.epoch:
                self.epoch = learner.epoch
                sets.append((learner.visits, learner.transitions_seen))
            return learner.policy()

        def update(self, trajectory: am.Trajectory) -> None:
            learner.update(trajectory)

    am.play(mdp, losses, Spy(), n_episodes, seed=1)
    assert len(sets) in (watched.last.counts[kernel.LOOKED], watched.last.counts[kernel.LOOKED] - 1)

    def held(scale: float) -> bool:
        for visits, triples in sets:
            box = am.BoxSet.from_counts(layout, visits, triples, scale * learner.log_term)
            low, high = layout.flat_triples(box.lower), layout.flat_triples(box.upper)
            if (mdp.flat < low - 1e-12).any() or (mdp.flat > high + 1e-12).any():
                return False
        return True

    assert held(1.001 * factor)
    assert not held(0.999 * factor)
