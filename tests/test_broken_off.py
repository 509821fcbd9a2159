"""Episodes that break off: completed by a state that waits for the end, in an ordinary MDP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import advmdp as am
from tests.reference.contract import assert_same_state

PLAIN = am.Layout((1, 2, 2, 1), 2, state_names=[["a"], ["b", "c"], ["d", "e"]])
LAYOUT = am.with_break_off(PLAIN, rest_loss=0.75)
GONE = 2  # the state broken off of layers 1 and 2


def breaking(chance: float) -> am.LayeredMDP:
    """A world in which every step breaks off with the same chance."""
    rng = np.random.default_rng(0)
    tables = [np.zeros((n, 2, m)) for n, m in ((1, 3), (3, 3), (3, 1))]
    for table in tables[:2]:
        table[:, :, :2] = (1.0 - chance) * rng.dirichlet(np.ones(2), table.shape[:2])
        table[:, :, 2] = chance
    tables[1][2] = [0.0, 0.0, 1.0]
    tables[2][:] = 1.0
    return am.LayeredMDP(LAYOUT, tables)


def cut(trajectory: am.Trajectory) -> am.Trajectory:
    """What the caller has of an episode: nothing after it broke off."""
    states = list(trajectory.states)[:-1]
    acted = next((k for k, x in enumerate(states) if k > 0 and x == GONE), len(states))
    if acted == len(states):
        return trajectory
    return am.Trajectory(states[:acted], trajectory.actions[:acted], trajectory.losses[:acted])


class Cutting:
    """A learner that is handed what is left of every episode."""

    feedback = "bandit"

    def __init__(self, learner: Any) -> None:
        self.learner, self.lengths = learner, set[int]()

    def policy(self) -> Any:
        return self.learner.policy()

    def update(self, trajectory: am.Trajectory) -> None:
        left = cut(trajectory)
        self.lengths.add(len(left.losses))
        self.learner.update(left)


@pytest.mark.parametrize("make", [am.UOBREPS, am.UCBVICH])
def test_prefixes_teach_what_whole_episodes_of_the_larger_mdp_do(make: Any) -> None:
    mdp = breaking(0.3)
    table: Any = [np.full((n, 2), [0.2, 0.9]) for n in (1, 3, 3)]
    table[1][GONE] = table[2][GONE] = 0.75
    losses = am.losses.Switching([table], 1)
    whole, part = make(LAYOUT, 60), Cutting(make(LAYOUT, 60))
    runs = [am.play(mdp, losses, learner, 60, seed=1, compiled=False) for learner in (whole, part)]
    assert part.lengths == {1, 2, 3}
    assert_same_state(whole, part.learner)
    assert np.array_equal(runs[0].regret, runs[1].regret)


def test_the_layout_knows_the_way_to_the_end_and_nothing_else() -> None:
    assert LAYOUT.layer_sizes == (1, 3, 3, 1)
    assert LAYOUT.state_name(1, GONE) == "broken off"
    assert LAYOUT.known is not None
    marked = LAYOUT.pairs(LAYOUT.known[0].astype(float))
    assert [part.sum() for part in marked[:2]] == [0.0, 2.0]
    assert LAYOUT.triples(np.ones(LAYOUT.n_entries))[1][GONE].tolist() == [[0, 0, 1], [0, 0, 1]]


def test_declared_supports_pools_and_counts_are_kept() -> None:
    places = np.array([[[0.5, 0.5, 0], [1, 0, 0]], [[0, 1, 0], [0, 0, 1]], [[0, 0, 1], [0, 0, 1]]])
    pooled = am.time_expand(places, horizon=4, pooled=True).layout
    larger = am.with_break_off(pooled)
    assert larger.layer_sizes == (1, *(n + 1 for n in pooled.layer_sizes[1:-1]), 1)
    assert larger.counter_row is not None
    assert len(np.unique(larger.counter_row)) == len(np.unique(pooled.counter_row)) + 3
    uneven = am.with_break_off(am.Layout((1, 2, 1), [[3], [1, 2]], action_names=["x", "y", "z"]))
    assert [counts.tolist() for counts in uneven.action_counts] == [[3], [1, 2, 1]]
    assert am.with_break_off(am.Layout((1, 1), 2)).layer_sizes == (1, 1)


def test_files_and_services_take_prefixes(tmp_path: Path) -> None:
    service = am.Service(am.UOBREPS(LAYOUT, 10), tmp_path / "service.am")
    service.finish(service.begin(), am.Trajectory([0], [1], [0.5]))
    service.close()
    again = am.Service.load(tmp_path / "service.am")
    assert again.learner.layout.rest_loss == 0.75
    again.finish(again.begin(), am.Trajectory([0, 1], [1, 0], [0.5, 0.0]))
    assert again.finished == 2
    assert again.learner.visits[2][GONE, 0] == 2


def test_prefixes_elsewhere_and_other_lengths_are_refused() -> None:
    plain, learner = am.UOBREPS(PLAIN, 10), am.UOBREPS(LAYOUT, 10)
    with pytest.raises(am.InvalidInput, match=r"3 losses needed, got 2; .*with_break_off, or aba"):
        plain.update(am.Trajectory([0, 1], [0, 0], [0.5, 0.5]))
    with pytest.raises(
        am.InvalidInput,
        match=r"states .of an episode that broke off after 2, with a state and an .* needs 2",
    ):
        learner.update(am.Trajectory([0, 1, 1], [0, 0], [0.5, 0.5]))
    with pytest.raises(am.InvalidInput, match="3 losses needed"):
        learner.update(am.Trajectory([], [], []))
    assert learner.episodes == 0
