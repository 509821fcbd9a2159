"""Broad play: no measure has a larger entropy, and what uniform play would forget is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.learners.planners.broad_play import BroadPlay
from advmdp.steps.estimates import estimated_transition, known_transition
from tests.reference.contract import DENSE, GRID

RNG = np.random.default_rng(3)
HOURS, UNITS = 12, 3


def work() -> am.LayeredMDP:
    """Pause or run a unit, twelve hours, three units: who tosses coins is done after six."""
    step = np.zeros((UNITS + 1, 2, UNITS + 1))
    left = np.arange(UNITS + 1)
    step[left, 0, left] = step[left, 1, np.maximum(left - 1, 0)] = 1.0
    layout = am.Layout(
        [1, *[UNITS + 1] * (HOURS - 1), 1],
        n_actions=2,
        successors=[
            step[UNITS:] > 0.0,
            *[step > 0.0] * (HOURS - 2),
            np.ones((UNITS + 1, 2, 1), bool),
        ],
    )
    tables = [step[UNITS:], *[step] * (HOURS - 2), np.ones((UNITS + 1, 2, 1))]
    return am.LayeredMDP(layout, tables)


def entropy(world: am.LayeredMDP, policy: Any) -> float:
    """Of the measure over triples."""
    flows = world.layout.flat_triples(am.occupancy_measure(world.transitions, policy, world.layout))
    some = flows[flows > 0.0]
    return float(-(some * np.log(some)).sum())


@pytest.mark.parametrize("world", [DENSE, GRID, work()], ids=["dense", "declared support", "work"])
def test_no_policy_has_a_measure_of_larger_entropy(world: am.LayeredMDP) -> None:
    layout = world.layout
    play = BroadPlay(layout, known_transition(layout, world.transitions))
    broad = layout.pairs(play._policy)
    most = entropy(world, broad)
    assert most > entropy(world, am.Uniform(layout).policy()) - 1e-9
    for weight in (0.01, 0.1, 1.0):
        for _ in range(20):
            other = [RNG.dirichlet(np.ones(part.shape[1]), len(part)) for part in broad]
            mixed = [(1 - weight) * a + weight * b for a, b in zip(broad, other, strict=True)]
            assert entropy(world, mixed) <= most + 1e-9


def test_decisions_of_late_hours_are_visited() -> None:
    """Units are left in the last hour 44 times in a hundred, with coin tosses 3 times."""
    world = work()
    layout = world.layout

    def left_at_the_end(visits: Any) -> float:
        last = layout.pairs(visits)[-1].sum(axis=1)
        return float(last[1:].sum())

    broad = BroadPlay(layout, known_transition(layout, world.transitions))
    toss = am.occupancy_measure(world.transitions, am.Uniform(layout).policy(), layout)
    tossed = left_at_the_end(layout.flat_pairs([part.sum(axis=2) for part in toss]))
    assert left_at_the_end(broad.visits()) > 10.0 * tossed


def test_an_estimate_keeps_the_policy_and_moves_the_visits() -> None:
    layout = DENSE.layout
    transition = estimated_transition(layout, 1.0)
    play = BroadPlay(layout, transition)
    before = play.visits()
    transition.chance[:] = DENSE.flat
    after = play.visits()
    policy = layout.pairs(play._policy)
    measure = am.occupancy_measure(DENSE.transitions, policy, layout)
    np.testing.assert_allclose(after, layout.flat_pairs([q.sum(axis=2) for q in measure]))
    assert np.abs(after - before).max() > 0.01
