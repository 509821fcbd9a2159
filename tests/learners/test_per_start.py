"""Learners of several start states: one set of counts for all, and episodes taken back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.kernels.learners.interface import solve_pending
from advmdp.layout import Table
from advmdp.learners import per_start
from tests.reference.contract import flat
from tests.reference.instances import box_from_counts
from tests.reference.start_worlds import WORLDS, eager, starts_of


@pytest.mark.parametrize("world", WORLDS)
def test_counts_epochs_and_sets_are_shared(world: str) -> None:
    """A plain copy of the counters in the whole layout, and the box formula on them."""
    mdp = WORLDS[world]
    layout = mdp.layout
    pool = np.arange(layout.n_rows) if layout.counter_row is None else layout.counter_row
    learners = am.PerStart(layout, eager)
    pairs, triples = np.zeros(layout.n_rows), np.zeros(layout.n_entries)
    opened, epoch = pairs.copy(), 1
    rng = np.random.default_rng(5)
    for start in starts_of(mdp):
        view = learners.views[start]
        states, actions, doubled = [0], [], False
        for k in range(view.layout.n_layers):
            actions.append(int(rng.choice(2, p=learners[start].policy()[k][states[-1]])))
            row = int(view.layout.layer_start[k] + states[-1]) * 2 + actions[-1]
            begin, end = view.layout.row_start[row : row + 2]
            x = int(rng.choice(end - begin, p=mdp.flat[view.entries[begin:end]]))
            flat_state = view.layout.entry_successors()[begin + x]
            states.append(int(flat_state - view.layout.layer_start[k + 1]))
            counter = pool[view.rows[row]]
            pairs[counter] += 1
            triples[layout.row_start[counter] + x] += 1
            doubled |= bool(pairs[counter] >= max(1, 2 * opened[counter]))
        learners[start].update(am.Trajectory(states, actions, rng.random(len(actions))))
        if doubled:
            epoch += 1
            opened = pairs.copy()
        members = np.concatenate(
            [np.arange(layout.row_start[r], layout.row_start[r + 1]) for r in pool]
        )
        visits, seen = layout.pairs(pairs[pool]), layout.triples(triples[members])
        for view, learner in zip(learners.views, learners, strict=True):
            assert learner.epoch == epoch
            assert np.array_equal(flat(learner.visits), flat(visits)[view.rows])
            if doubled:
                lower, upper = box_from_counts(visits, seen, learner.log_term)
                rows = learner.confidence_set().rows
                inside = layout.flat_triples(lower)[view.entries]
                assert np.allclose(rows.lower, inside, rtol=0, atol=1e-14)
                # the formula gives 1 outside the support of rows never visited
                high = np.concatenate([u[s != 0] for u, s in zip(upper, support(mdp), strict=True)])
                assert np.allclose(rows.upper, high[view.entries], rtol=0, atol=1e-14)
                assert in_the_set(learner)
    assert epoch > 10


def support(mdp: am.LayeredMDP) -> Table:
    return mdp.layout.triples(np.ones(mdp.layout.n_entries))


def in_the_set(learner: Any) -> bool:
    """Whether the learner's own measure has its transition in its confidence set."""
    rows, measure = learner.confidence_set().rows, learner.kernel_state.step.measure
    chance = np.where(measure.chance < 0.0, 0.0, measure.chance)  # negative: a tiny one's logarithm
    return bool((chance >= rows.lower - 1e-9).all() and (chance <= rows.upper + 1e-9).all())


def test_the_others_are_projected_and_nothing_else() -> None:
    """q^{s'} after an epoch opened elsewhere is the projection of q^{s'} before."""
    mdp = WORLDS["dense"]
    learners = am.PerStart(mdp.layout, eager)
    rng, moved = np.random.default_rng(3), 0
    for t in range(60):
        before = [learner.occupancy() for learner in learners]
        epoch, active = learners[0].epoch, t % 2
        states = [0, int(rng.integers(2)), int(rng.integers(2)), 0]
        actions = rng.integers(2, size=3).tolist()
        learners[active].update(am.Trajectory(states, actions, rng.random(3)))
        for s, learner in enumerate(learners):
            if s == active:
                continue
            if learner.epoch == epoch:
                assert np.array_equal(flat(learner.occupancy()), flat(before[s]))
            else:
                answer = am.project(before[s], learner.confidence_set())
                assert np.allclose(
                    flat(learner.occupancy()), flat(answer.occupancy), rtol=0, atol=1e-9
                )
                moved += bool(abs(flat(learner.occupancy()) - flat(before[s])).max() > 1e-4)
    assert moved > 5


@pytest.mark.parametrize("fails", [0, 1, 2])
def test_an_episode_is_taken_back_for_all(fails: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The projection of learner ``fails`` fails in an episode of learner 1 that opens an epoch."""
    mdp = WORLDS["dense"]
    learners, twins = (am.PerStart(mdp.layout, eager) for _ in range(2))
    rng = np.random.default_rng(7)

    def drawn() -> am.Trajectory:
        states = [0, int(rng.integers(2)), int(rng.integers(2)), 0]
        return am.Trajectory(states, rng.integers(2, size=3).tolist(), rng.random(3).tolist())

    for t in range(40):
        trajectory = drawn()
        for group in (learners, twins):
            group[t % 3].update(trajectory)
    while True:  # until an episode opens an epoch
        trajectory = drawn()
        before = twins[1].epoch
        twins[1].update(trajectory)
        if twins[1].epoch > before:
            break
        learners[1].update(trajectory)
    broken = learners[fails]._state.step.measure.chance

    def failing(graph: Any, state: Any, in_logs: Any) -> bool:
        return state.step.measure.chance is not broken and solve_pending(graph, state, in_logs)

    held = [learner.state() for learner in learners]
    with monkeypatch.context() as patch:
        patch.setattr(per_start, "solve_pending", failing)
        with pytest.raises(am.UncertifiedStep, match="the episode was taken back"):
            learners[1].update(trajectory)
    for learner, old in zip(learners, held, strict=True):
        now = learner.state()
        for name in now:
            if name.startswith(("step.measure.", "rows.")) or name in (
                *("visits.pairs", "visits.opened", "visits.triples", "visits.marked"),
                "visits.starts",
            ):
                assert np.array_equal(now[name], old[name]), name
        assert learner.epoch == before
    learners[1].update(trajectory)
    for one, other in zip(learners, twins, strict=True):
        assert np.allclose(flat(one.policy()), flat(other.policy()), rtol=0, atol=1e-9)
        assert one.epoch == other.epoch
