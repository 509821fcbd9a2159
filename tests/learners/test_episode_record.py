"""What is fixed when a policy is issued travels with the episode; feedback may come later."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.layout import Table
from tests.reference.contract import DENSE, assert_same_state, losses_of, made
from tests.reference.linear_programs import upper_occupancy_lp
from tests.reference.plain_hedge import sample_path

MIRROR = ("uob-reps", "uob-reps-l1", "o-reps-bandit", "uc-o-reps", "bandit-uc-o-reps")


def feedback(learner: Any, policy: Table, t: int) -> Any:
    states, actions = sample_path(np.random.default_rng([3, t]), DENSE.transitions, policy)
    losses = losses_of(DENSE, t)
    if learner.feedback == "full":
        return am.FullInformation(states, actions, losses)
    return am.Trajectory(states, actions, [losses[k][states[k], a] for k, a in enumerate(actions)])


@pytest.mark.parametrize("name", MIRROR)
def test_a_record_that_is_used_at_once_changes_no_bit(name: str) -> None:
    learner, twin = made(name, DENSE), made(name, DENSE)
    for t in range(30):
        seen = feedback(twin, twin.policy(), t)
        record = learner.issue()
        assert record.number == t + 1
        learner.update(seen, record)
        twin.update(seen)
        assert_same_state(learner, twin)


def eager() -> am.UOBREPS:
    return am.UOBREPS(DENSE.layout, 200, log_scale=0.002, eta_scale=4.0)


def test_late_feedback_is_divided_by_the_bounds_of_its_own_time() -> None:
    learner = eager()
    for t in range(60):
        learner.update(feedback(learner, learner.policy(), t))
    record, box, policy = learner.issue(), learner.confidence_set(), learner.policy()
    late = feedback(learner, record.policy, 1000)
    own = upper_occupancy_lp(policy, box.lower, box.upper)  # type: ignore[attr-defined]
    for t in range(60, 160):
        learner.update(feedback(learner, learner.policy(), t))
    now = am.upper_occupancy(learner.policy(), learner.confidence_set())
    learner.update(late, record)
    used = learner.upper_occupancy_of_last
    steps = list(zip(late.states, late.actions, strict=False))
    at_issue = [own[k][x, a] for k, (x, a) in enumerate(steps)]
    today = [now[k][x, a] for k, (x, a) in enumerate(steps)]
    assert np.allclose(used, at_issue, rtol=0, atol=1e-9)
    assert not np.allclose(used, today, rtol=0, atol=1e-3)  # the two are different things here
    assert learner.episodes == 161
    assert sum(table.sum() for table in learner.visits) == 161 * DENSE.layout.n_layers


def test_several_open_episodes_finish_in_any_order() -> None:
    """Counts do not depend on the order; every iterate is a measure of the set."""
    one, other = eager(), eager()
    for t in range(0, 80, 4):
        records = {learner: [learner.issue() for _ in range(4)] for learner in (one, other)}
        seen = [feedback(one, records[one][0].policy, t + i) for i in range(4)]
        for learner, order in ((one, (0, 1, 2, 3)), (other, (2, 0, 3, 1))):
            for i in order:
                learner.update(seen[i], records[learner][i])
            q = learner.occupancy()
            assert all(abs(table.sum() - 1.0) < 1e-9 for table in q)
    for mine, theirs in zip(one.visits, other.visits, strict=True):
        assert np.array_equal(mine, theirs)


def test_a_record_is_a_copy() -> None:
    learner = eager()
    record = learner.issue()
    before = [table.copy() for table in record.policy]
    for t in range(20):
        learner.update(feedback(learner, learner.policy(), t))
    assert all(np.array_equal(a, b) for a, b in zip(record.policy, before, strict=True))
    for table in record.policy:
        table[...] = 0.0
    learner.update(feedback(learner, before, 99), record)  # the kernels have their own copy
    assert np.isfinite(learner.estimate_of_last).all()
    assert (learner.upper_occupancy_of_last > 0.0).all()


def test_records_of_others_are_refused_without_a_trace() -> None:
    learner, twin = eager(), eager()
    seen = feedback(learner, learner.policy(), 0)
    for other in (
        am.UOBREPSL1(DENSE.layout, 10).issue(),  # another set
        am.UOBREPS(am.Layout((1, 2, 1), 2), 10).issue(),  # another layout
    ):
        with pytest.raises(am.InvalidInput, match="record is of another learner"):
            learner.update(seen, other)
    assert_same_state(learner, twin)
