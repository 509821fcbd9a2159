"""Mirror descent in contexts: visits of all of them, an iterate for each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.learners.mirror import common_counts
from advmdp.learners.mirror.mirror_descent import MirrorDescent
from tests.reference.contract import DENSE, assert_same_state, flat, losses_of

N = 400
CONTEXTS = np.resize([0, 0, 1, 0, 0, 0, 1, 1], N)
LOSSES = am.losses.Stochastic(losses_of(DENSE, 0))
EAGER = {"log_scale": 0.05, "eta_scale": 4.0}
COUNTING = (am.UOBREPS, am.UOBREPSL1, am.UCOREPSBox, am.BanditUCOREPS, am.UOBLogBarrier)


def made(kind: type[MirrorDescent] = am.UOBREPS, n_contexts: int = 2) -> am.PerContext:
    return am.PerContext(kind, DENSE.layout, n_contexts, n_episodes=N, **EAGER)


def played(learner: am.PerContext, **given: Any) -> am.Run:
    return am.play(DENSE, LOSSES, learner, N, seed=3, contexts=CONTEXTS, **given)


@pytest.mark.parametrize("kind", COUNTING)
def test_the_learner_of_every_context_knows_all_visits(kind: type[MirrorDescent]) -> None:
    learner = made(kind)
    played(learner)
    for context in (0, 1):
        learner.enter(context)
        visits = learner.learners[context].visits
        assert [part.sum() for part in visits] == [N] * DENSE.layout.n_layers
    assert sum(part.episodes for part in learner.learners) == N


def test_the_set_is_that_of_all_counts_and_the_iterate_its_projection() -> None:
    learner = made()
    played(learner)
    other = learner.learners[1 - learner.context]
    before = other.occupancy()
    log_term = other.log_term
    visits, triples = learner.learners[learner.context].visits, None
    learner.enter(1 - learner.context)
    triples = other.transitions_seen
    box = am.BoxSet.from_counts(DENSE.layout, visits, triples, log_term)
    found = other.confidence_set()
    for ours, theirs in zip((*found.lower, *found.upper), (*box.lower, *box.upper), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-15)
    projected = am.project(before, box).occupancy
    moved = 0.0
    for ours, theirs, old in zip(other.occupancy(), projected, before, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-9)
        moved = max(moved, float(np.abs(ours - old).max()))
    assert moved > 1e-4  # its own set was another one


def test_both_loops_and_a_resumed_run_agree() -> None:
    learners, snapshots = [made() for _ in range(3)], {}

    def keep(episodes: int, snapshot: Any) -> None:
        snapshots[episodes] = snapshot()

    fast = played(learners[0])
    slow = played(learners[1], compiled=False, keep=keep)
    again = played(learners[2], resume=snapshots[202])
    assert fast.compiled
    for run in (slow, again):
        assert np.array_equal(run.expected_loss, fast.expected_loss)
    assert_same_state(learners[0], learners[1])
    assert_same_state(learners[0], learners[2])


def test_one_context_is_the_learner_itself() -> None:
    alone = am.UOBREPS(DENSE.layout, n_episodes=N, **EAGER)
    am.play(DENSE, LOSSES, alone, N, seed=3)
    learner = made(n_contexts=3)
    am.play(DENSE, LOSSES, learner, N, seed=3, contexts=np.full(N, 2))
    assert np.array_equal(flat(learner.policy()), flat(alone.policy()))


def test_leaders_and_known_transitions_count_for_themselves() -> None:
    leaders = am.PerContext(am.UOBFTRL, DENSE.layout, 2, n_episodes=N)
    played(leaders)
    assert [part.visits[0].sum() for part in leaders.learners] == [
        np.sum(c == CONTEXTS) for c in (0, 1)
    ]
    known = am.PerContext(
        am.OREPSBandit, DENSE.layout, 2, n_episodes=N, transitions=DENSE.transitions
    )
    played(known)
    assert known.episodes == N


def test_where_no_measure_is_certified_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = made()
    played(learner)
    context, states = learner.context, [part.state() for part in learner.learners]
    monkeypatch.setattr(common_counts, "solve_pending", lambda *_: False)
    with pytest.raises(am.UncertifiedStep, match="set of all visits"):
        learner.enter(1 - context)
    assert learner.context == context
    for part, state in zip(learner.learners, states, strict=True):
        assert all(np.array_equal(value, state[name]) for name, value in part.state().items())
