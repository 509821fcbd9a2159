"""An episode that cannot be certified is taken back: the learner is what it was before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.kernels.learners import interface
from advmdp.kernels.model.visits import Visits

LAYOUT = am.Layout(layer_sizes=(1, 3, 2, 3, 1), n_actions=2)
# All states of a layer share their counts, and two layers do: an episode meets a counter twice.
POOLED = am.Layout(
    layer_sizes=(1, 3, 3, 3, 1),
    n_actions=2,
    shared_rows=[np.full((n, 2), name) for n, name in ((1, 0), (3, 1), (3, 1), (3, 2))],
)
N_EPISODES = 400


def episodes(seed: int, layout: am.Layout = LAYOUT) -> list[am.Trajectory]:
    mdp = am.families.random_mdp(layout.layer_sizes, layout.n_actions, seed=seed)
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(N_EPISODES):
        states, actions = [0], []
        for k in range(layout.n_layers):
            actions.append(int(rng.integers(layout.n_actions)))
            row = mdp.transitions[k][states[-1], actions[-1]]
            states.append(int(rng.choice(len(row), p=row)))
        drawn.append(am.Trajectory(states, actions, rng.random(layout.n_layers)))
    return drawn


def new_learner(layout: am.Layout = LAYOUT) -> am.UOBREPS:
    return am.UOBREPS(layout, N_EPISODES, log_scale=0.001, eta_scale=8)


def visible_state(learner: am.UOBREPS) -> list[np.ndarray[Any, Any]]:
    """Everything that a later episode can depend on (the ``old_`` copies are scratch)."""
    state = learner._state
    counters = [a for n, a in zip(Visits._fields, state.visits, strict=True) if n[:4] != "old_"]
    listed = int(state.visits.clock[1])
    counters[3] = counters[3][:listed]  # beyond the list there is only history
    clock = counters[5].copy()
    clock[[2, 3, 5]] = 0  # notes of the last episode
    counters[5] = clock
    return [np.array(a) for a in (*state.step.measure, *state.rows, *counters)]


@pytest.mark.parametrize("layout", [LAYOUT, POOLED], ids=["own counters", "shared counters"])
@pytest.mark.parametrize("fail_at", [0, 1, 2, 5, 17, 60, 61, 62, 200])
def test_a_failed_projection_leaves_no_trace(
    fail_at: int, layout: am.Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = episodes(3, layout)
    learner, twin = new_learner(layout), new_learner(layout)
    for trajectory in drawn[:fail_at]:
        learner.update(trajectory)
        twin.update(trajectory)
    before = visible_state(learner)

    def begin_only(graph: Any, state: Any, *steps: Any) -> bool:
        interface.begin_update(graph, state, *steps)
        return False

    with monkeypatch.context() as patch:
        patch.setattr(learner, "_update_program", begin_only)
        patch.setattr(interface, "finish_safely", lambda *arguments: False)
        with pytest.raises(am.UncertifiedStep, match=f"episode {fail_at + 1}: no certified"):
            learner.update(drawn[fail_at])
    for ours, theirs in zip(visible_state(learner), before, strict=True):
        assert np.array_equal(ours, theirs)
    for trajectory in drawn[fail_at:]:
        learner.update(trajectory)
        twin.update(trajectory)
    for ours, theirs in zip(learner.policy(), twin.policy(), strict=True):
        assert np.array_equal(ours, theirs)
    assert learner.epoch == twin.epoch
    assert np.array_equal(learner.epoch_starts, twin.epoch_starts)


def test_the_safe_path_gives_the_same_iterates(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = episodes(seed=4)[:150]
    fast, safe = new_learner(), new_learner()

    def only_safe(graph: Any, state: Any, *steps: Any) -> bool:
        if interface.begin_update(graph, state, *steps):
            return False
        interface.settle_update(graph, state)
        return True

    for trajectory in drawn:
        fast.update(trajectory)
    monkeypatch.setattr(safe, "_update_program", only_safe)
    for trajectory in drawn:
        safe.update(trajectory)
    assert safe.epoch == fast.epoch
    for ours, theirs in zip(safe.policy(), fast.policy(), strict=True):
        assert np.allclose(ours, theirs, rtol=0, atol=1e-9)
