"""Lemma 2: made-up coverage, narrow sets, and the least factor against sets built from counts."""

from __future__ import annotations

import numpy as np
import pytest

import advmdp as am
from advmdp.claims.lemmas.confidence_sets import CLAIM, Effort, Measurement, judge, measure
from advmdp.claims.playing.observed_runs import observe_run
from tests.claims.broken import NarrowSets
from tests.claims.made_up import LemmaLab

TINY = Effort(3, 30, 2)


def coverage(failures: int, tight_rows: int = 500) -> Measurement:
    """A thousand runs, of which so many lost P; the others need a twentieth of the log term."""
    least = [2.0] * failures + [0.05] * (1000 - failures)
    missed = [1] * failures + [0] * (1000 - failures)
    return Measurement(
        Effort(1000, 3000, 2), least, missed, [1, 0], epochs=9000, rows=1000, tight_rows=tight_rows
    )


MADE_UP = {
    "holds": lambda: coverage(0),
    "fails": lambda: coverage(100),
    "vacuous": lambda: coverage(0, tight_rows=0),
}


@pytest.mark.parametrize(("failures", "verdict"), [(40, "holds"), (60, "holds"), (63, "fails")])
def test_failures_are_counted_by_an_exact_test(failures: int, verdict: str) -> None:
    # P(Binomial(1000, 0.04) >= 62) = 0.0006, >= 60: 0.0014
    assert judge(coverage(failures)).verdict == verdict


def test_figures_of_a_made_up_measurement() -> None:
    finding = CLAIM.conclude(coverage(10))
    assert finding.data["chance_to_lose_P"][0] == 0.01  # with the printed log term
    assert finding.data["factor_at_4_delta"] == 0.05
    assert finding.data["shrunk"] == {"factor": 0.01, "lost": 1}
    assert "10 of 1000 runs lost P once or more" in finding.measured
    assert "with the log term x 0.01, 1 of 2" in finding.measured
    assert "is 20 times what these worlds need" in finding.margin
    assert "9000 epochs, 50% of their rows" in finding.instances


def test_holds_and_shows_where_it_would_break() -> None:
    finding = CLAIM.conclude(measure(LemmaLab(), Effort(12, 600, 6)))
    assert finding.verdict == "holds"
    assert 0.01 < finding.data["factor_at_4_delta"] < 0.3
    assert finding.data["shrunk"]["lost"] == 6
    assert finding.data["chance_to_lose_P"] == sorted(finding.data["chance_to_lose_P"])


def test_narrow_sets_fail() -> None:
    judgement = judge(measure(LemmaLab(), Effort(12, 400, 1), NarrowSets))
    assert judgement.verdict == "fails"
    assert judgement.data["failures"] == 12


def test_sets_that_say_nothing_are_vacuous() -> None:
    assert judge(measure(LemmaLab(), Effort(3, 20, 1))).verdict == "vacuous"


def test_the_least_factor_is_where_the_learners_own_sets_begin_to_hold() -> None:
    # The observer solves the width for the factor; sets built with a little more contain P in every
    # epoch, sets built with a little less lose it.  The policies are not the same after that, so
    # the counts are replayed: epoch by epoch from the trajectories of one run.
    mdp = am.families.random_mdp((1, 3, 3, 1), 2, seed=5)
    layout, n_episodes = mdp.layout, 400
    losses = am.losses.Stochastic(layout.pairs(np.full(layout.n_rows, 0.5)))
    learner = am.UOBREPS(layout, n_episodes)
    seen = observe_run(mdp, losses, learner, n_episodes, 1, bounds=False).last
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
    assert len(sets) in (seen.epochs, seen.epochs - 1)

    def held(scale: float) -> bool:
        for visits, triples in sets:
            box = am.BoxSet.from_counts(layout, visits, triples, scale * learner.log_term)
            low, high = layout.flat_triples(box.lower), layout.flat_triples(box.upper)
            if (mdp.flat < low - 1e-12).any() or (mdp.flat > high + 1e-12).any():
                return False
        return True

    assert held(1.001 * seen.least_factor)
    assert not held(0.999 * seen.least_factor)
