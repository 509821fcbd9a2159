"""Learning rates far beyond theory: steps that only the last part of the safe path can certify.

Every case was refused once, at the episode that is named.  What the step was given is looked at
before and after: the answer must be a measure of the set, and no other one may see an improvement
(``tests.reference.first_order``; a linear programme where a floor lies under states).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks.extreme_settings import EPISODES, case_of, learner_of, processes, worlds
from scipy.optimize import linprog

import advmdp as am
from tests.reference.first_order import (
    cheapest_in_box,
    cheapest_in_l1,
    improvement,
    log_measure,
    logarithms,
)
from tests.reference.tables import Array, Table, flow_error

WORLDS = worlds()
REFUSED = {  # number of the case: the episode
    72: 20,  # o-reps, grid
    131: 4,  # uc-o-reps-box, two successors: masses of states underflow
    153: 7,  # o-reps-bandit, grid
    212: 5,  # uob-reps, river
    243: 1,  # bandit-uc-o-reps, two successors
}
REFUSED_WITH_FLOOR = {39: 1, 211: 9}  # bandit-uc-o-reps-floor, two successors


class Watched:
    """A learner of a case that keeps what every step of the safe path starts and ends with."""

    def __init__(self, number: int) -> None:
        case = case_of(number, list(WORLDS))
        self.mdp = WORLDS[case.world]
        self.losses = processes(self.mdp, number)[case.losses]
        self.learner = learner_of(case, self.mdp, EPISODES)
        self.seed = number
        self.steps: list[tuple[Table, Table]] = []
        finish = self.learner._finish

        def watched(states: Any, path: Any) -> None:
            weights = self.measure()
            finish(states, path)
            self.steps.append((weights, self.measure()))

        self.learner._finish = watched

    def measure(self) -> Table:
        return log_measure(self.learner.layout, self.learner.kernel_state.step.measure)

    def play(self, n_episodes: int) -> None:
        am.play(self.mdp, self.losses, self.learner, n_episodes, seed=self.seed)
        assert self.learner.episodes == n_episodes

    @property
    def rows(self) -> Any:
        return self.learner.kernel_state.rows

    def assert_is_in_the_set(self) -> None:
        layout, rows = self.learner.layout, self.rows
        chance = np.exp(logarithms(self.learner.kernel_state.step.measure.chance))
        if hasattr(rows, "centre"):
            apart = np.add.reduceat(np.abs(chance - rows.centre), layout.row_start[:-1])
            assert (apart <= rows.width + 1e-12).all()
        elif hasattr(rows, "lower"):
            assert (rows.lower - 1e-12 <= chance).all()
            assert (chance <= rows.upper + 1e-12).all()
        else:
            assert np.abs(chance - rows.transition).max() <= 1e-15
        assert flow_error(self.learner.occupancy()) <= 1e-12


def best_row_of(layout: am.Layout, rows: Any) -> Any:
    """For rows of the last step's set, on tables."""
    if hasattr(rows, "centre"):
        first, width = layout.triples(rows.centre), layout.pairs(rows.width)
        reached = layout.triples(np.ones(layout.n_entries))

        def in_ball(k: int, x: int, a: int, cost: Array) -> float:
            there = reached[k][x, a] > 0.0
            return cheapest_in_l1(cost[there], first[k][x, a][there], width[k][x, a])

        return in_ball
    known = not hasattr(rows, "lower")
    lower = layout.triples(rows.transition if known else rows.lower)
    upper = layout.triples(rows.transition if known else rows.upper)
    return lambda k, x, a, cost: cheapest_in_box(cost, lower[k][x, a], upper[k][x, a])


@pytest.mark.parametrize("number", REFUSED)
def test_what_was_refused_is_certified_and_optimal(number: int) -> None:
    run = Watched(number)
    run.play(REFUSED[number])
    assert run.steps, "this case does not take the safe path any more"
    run.assert_is_in_the_set()
    weights, found = run.steps[-1]
    best_row = best_row_of(run.learner.layout, run.rows)
    assert improvement(found, weights, best_row) <= 1e-5


def test_masses_of_states_underflow_and_come_back() -> None:
    """A mass of e^-4000 that had become zero left the next step without a solution."""
    run = Watched(188)
    run.play(6)
    run.assert_is_in_the_set()
    mass = run.learner.kernel_state.step.measure.mass
    assert mass.min() < -1000.0
    assert (mass != 0.0).all()


@pytest.mark.parametrize("number", REFUSED_WITH_FLOOR)
def test_floors_under_states(number: int) -> None:
    run = Watched(number)
    run.play(REFUSED_WITH_FLOOR[number])
    assert run.steps
    run.assert_is_in_the_set()
    weights, found = run.steps[-1]
    gradient = [np.where(np.isfinite(w), q - w, 0.0) for q, w in zip(found, weights, strict=True)]
    here = sum(float((np.exp(q) * g).sum()) for q, g in zip(found, gradient, strict=True))
    assert here - cheapest_with_floor(run.learner.layout, run.rows, gradient) <= 1e-5
    mass = run.learner.kernel_state.step.measure.mass
    assert mass.min() >= run.rows.least_occupancy - 1e-11


def cheapest_with_floor(layout: am.Layout, rows: Any, gradient: Table) -> float:
    """min <gradient, u> over measures with rows in balls and a floor under every state."""
    owner = layout.entry_rows() // layout.n_actions
    successor = layout.entry_successors()
    n, inner = layout.n_entries, range(1, layout.n_states - 1)
    out = np.array([(owner == x).astype(float) for x in inner])
    balance = out - np.array([(successor == x).astype(float) for x in inner])
    same_row = layout.entry_rows()[:, None] == layout.entry_rows()[None, :]
    apart = np.eye(n) - same_row * rows.centre[:, None]  # u(x, a, x') - centre u(x, a)
    of_row = np.array([(layout.entry_rows() == r).astype(float) for r in range(layout.n_rows)])
    answer = linprog(
        np.concatenate([layout.flat_triples(gradient), np.zeros(n)]),
        A_eq=np.block([[(owner == 0)[None], np.zeros((1, n))], [balance, np.zeros_like(balance)]]),
        b_eq=np.eye(1 + len(inner))[0],
        A_ub=np.block(
            [
                [apart, -np.eye(n)],
                [-apart, -np.eye(n)],
                [-of_row * rows.width[:, None], of_row],
                [-out, np.zeros_like(out)],
            ]
        ),
        b_ub=np.concatenate(
            [np.zeros(2 * n + layout.n_rows), np.full(len(inner), -rows.least_occupancy)]
        ),
        bounds=(0, None),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert answer.status == 0, answer.message
    return float(answer.fun)
