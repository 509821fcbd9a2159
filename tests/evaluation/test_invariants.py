"""``play(check=True)``: passes on the real learner, notices broken ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import advmdp as am
from advmdp.evaluation.invariants import InvariantChecker, InvariantViolation
from advmdp.layout import Floats, Table
from advmdp.steps.confidence import BoxSet

LAYOUT = am.Layout(layer_sizes=(1, 3, 3, 1), n_actions=2)


def play_checked(learner: am.UOBREPS, n_episodes: int = 60) -> am.Run:
    mdp = am.families.random_mdp(LAYOUT.layer_sizes, LAYOUT.n_actions, seed=2)
    mean = LAYOUT.pairs(np.random.default_rng(2).random(LAYOUT.n_rows))
    return am.play(mdp, am.losses.Stochastic(mean), learner, n_episodes, check=True)


@pytest.mark.parametrize("log_scale", [1.0, 0.01, 0.0001])
def test_every_invariant_holds_in_every_episode(log_scale: float) -> None:
    run = play_checked(am.UOBREPS(LAYOUT, 200, log_scale=log_scale, eta_scale=8), 200)
    assert run.episodes[-1] == 200


def test_a_declared_support_keeps_them_too() -> None:
    mdp = am.families.grid(3, 3, horizon=5)
    learner = am.UOBREPS(mdp.layout, 100, log_scale=0.01, eta_scale=8)
    losses = am.losses.Stochastic(mdp.natural_loss)
    assert am.play(mdp, losses, learner, 100, check=True).episodes[-1] == 100


class TooSmallBounds(am.UOBREPS):
    """Hands out a confidence set that is too narrow for its own iterate."""

    def confidence_set(self) -> BoxSet:
        box = super().confidence_set()
        centre = self.layout.flat_triples(box.lower) + self.layout.flat_triples(box.upper)
        row_sum = np.add.reduceat(centre, self.layout.row_start[:-1])
        centre = centre / row_sum[self.layout.entry_rows()]
        return BoxSet(self.layout, np.maximum(centre - 1e-3, 0), np.minimum(centre + 1e-3, 1))


class LeakyFlow(am.UOBREPS):
    def occupancy(self) -> Table:
        tables = super().occupancy()
        tables[1] = tables[1][::-1].copy()
        return tables


class WrongEstimate(am.UOBREPS):
    @property
    def estimate_of_last(self) -> Floats:
        return 1.1 * super().estimate_of_last


class WrongBound(am.UOBREPS):
    @property
    def upper_occupancy_of_last(self) -> Floats:
        return 0.9 * super().upper_occupancy_of_last


class LostVisit(am.UOBREPS):
    @property
    def visits(self) -> Table:
        return [np.minimum(n, 3.0) for n in super().visits]


class SkippedEpoch(am.UOBREPS):
    @property
    def epoch(self) -> int:
        return 2 * super().epoch


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (TooSmallBounds, "left the confidence set|exceeds u_t|u_t was not"),
        (LeakyFlow, "flow is lost"),
        (WrongEstimate, "l_t / "),
        (WrongBound, "u_t was not of set"),
        (LostVisit, "visit"),
        (SkippedEpoch, "epoch"),
    ],
)
def test_a_broken_learner_is_caught(broken: Callable[..., am.UOBREPS], message: str) -> None:
    learner = broken(LAYOUT, 60, log_scale=0.0001, eta_scale=8)
    with pytest.raises(InvariantViolation, match=message):
        play_checked(learner)


def test_the_checker_needs_no_run() -> None:
    learner = am.UOBREPS(LAYOUT, 5)
    checker = InvariantChecker(learner)
    checker.before()
    learner.update(am.Trajectory([0, 1, 2, 0], [0, 1, 0], [0.5, 0.5, 0.5]))
    rows = np.array([0, 2 * 2 + 1, 6 * 2])
    checker.after(rows, np.array([0.5, 0.5, 0.5]))
    with pytest.raises(InvariantViolation):
        checker.after(rows + 1, np.array([0.5, 0.5, 0.5]))
