"""What the scenarios share: the diary's occupancies, and the planner's averages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.evaluation.comparator import best_fixed_policy
from tests.examples.scripts import script

shared = script("shared")
EPISODES = 60


class Recorder:
    """Plays at random, so that every pair is seen, and keeps the trajectories."""

    def __init__(self, layout: am.Layout) -> None:
        self.policy = am.Uniform(layout).policy
        self.seen = list[am.Trajectory]()

    def update(self, trajectory: am.Trajectory) -> None:
        self.seen.append(trajectory)


def test_the_diarys_occupancies_and_losses() -> None:
    mdp = am.families.routing(width=4, depth=3, seed=1)
    losses = am.losses.Stochastic(mdp.natural_loss)
    diary = shared.Diary(am.UOBREPS(mdp.layout, EPISODES, eta=0.3))
    run = am.play(mdp, losses, diary, EPISODES, seed=2)
    occupancy = diary.occupancy(mdp)
    for episode in (0, 17, EPISODES - 1):
        policy = mdp.layout.pairs(diary.policies[episode])
        triples = am.occupancy_measure(mdp.transitions, policy, mdp.layout)
        pairs = np.concatenate([step.sum(axis=2).ravel() for step in triples])
        np.testing.assert_allclose(occupancy[episode], pairs, atol=1e-15)
    assert np.sum(diary.losses) == pytest.approx(run.realised_loss[-1])
    plain = am.play(mdp, losses, am.UOBREPS(mdp.layout, EPISODES, eta=0.3), EPISODES, seed=2)
    assert run.expected_loss[-1] == plain.expected_loss[-1]  # looking on changes nothing


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("memory", [1.0, 0.9])
def test_the_planner_plans_on_what_it_saw(memory: float, seed: int) -> None:
    """Its last plan again, from all trajectories at once and with dense tables."""
    mdp = am.families.random_mdp((1, 4, 4, 1), 3, seed=seed, n_successors=2)
    layout = mdp.layout
    believed = [np.full((n, 3), 0.4) for n in layout.layer_sizes[:-1]]
    recorder = Recorder(layout)
    mean = np.random.default_rng(seed).random(layout.n_rows)
    am.play(mdp, am.losses.Stochastic(mean), recorder, EPISODES, seed)
    even = am.LayeredMDP(layout, 1.0 / np.repeat(layout.row_sizes(), layout.row_sizes()))
    planner = shared.Replanner(even, believed, memory=memory, every=EPISODES)
    before = planner.policy()
    for seen in recorder.seen:
        planner.update(seen)
    moves = even.transitions
    visits = [np.ones_like(table) for table in believed]
    sums = [table.copy() for table in believed]
    for age, seen in enumerate(reversed(recorder.seen)):
        steps = zip(seen.states[:-1], seen.actions, seen.losses, strict=True)
        for k, (x, a, loss) in enumerate(steps):
            moves[k][x, a, seen.states[k + 1]] += 1.0
            visits[k][x, a] += memory**age
            sums[k][x, a] += loss * memory**age
    estimate = am.LayeredMDP(layout, [m / m.sum(axis=2, keepdims=True) for m in moves])
    averages = [s / v for s, v in zip(sums, visits, strict=True)]
    plan = best_fixed_policy(estimate, averages).policy
    assert all(np.array_equal(one, own) for one, own in zip(plan, planner.policy(), strict=True))
    assert any(not np.array_equal(one, old) for one, old in zip(plan, before, strict=True))


class Always:
    """One action, and how often it was told of an episode."""

    def __init__(self, layout: am.Layout, action: int) -> None:
        self.layout, self.told = layout, 0
        self._table = layout.pairs(np.eye(2)[[action]].ravel())

    def policy(self) -> Any:
        return self._table

    def update(self, trajectory: am.Trajectory) -> None:
        self.told += 1


@pytest.mark.parametrize("unit", [1.0, 1e-3])
def test_the_better_planner_is_drawn_and_all_are_told(unit: float) -> None:
    """One action costs a tenth less, on days that cost more or less for both: in any unit."""
    layout = am.Layout((1, 1), 2)
    planners = [Always(layout, action) for action in (0, 1)]
    drawn, rng = shared.Drawn(planners, seed=0), np.random.default_rng(1)
    for _ in range(600):
        action = int(drawn.policy()[0][0].argmax())
        loss = unit * (0.3 + 0.1 * action + 0.05 * rng.random())
        drawn.update(am.Trajectory(states=[0, 0], actions=[action], losses=[loss]))
    assert drawn.chances[0] > 0.9
    assert drawn.chances.sum() == pytest.approx(1.0)
    assert [each.told for each in planners] == [600, 600]
