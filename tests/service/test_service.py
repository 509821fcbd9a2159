"""The learner as a service: which feedback is learnt from, and which is refused."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

import advmdp as am
from advmdp.learners.catalogue import LEARNERS
from advmdp.service.feedback_io import plain_feedback
from tests.reference.contract import (
    DENSE,
    N_EPISODES,
    assert_same_state,
    doubling,
    feedback_of,
    flat,
    follow,
    losses_of,
    made,
)
from tests.reference.plain_hedge import sample_path


def played(learner: Any, ticket: am.Ticket, t: int) -> Any:
    """Feedback of an episode played with the ticket's policy, as ``follow`` plays episode t."""
    rng = np.random.default_rng([11, t])
    states, actions = sample_path(rng, DENSE.transitions, ticket.policy)
    return feedback_of(learner, states, actions, losses_of(DENSE, t))


def serve(service: am.Service, start: int, stop: int) -> None:
    for t in range(start, stop):
        ticket = service.begin()
        service.finish(ticket, played(service.learner, ticket, t))


# ---------------------------------------------------------------------- which feedback counts


@pytest.mark.parametrize("name", LEARNERS)
def test_a_service_learns_what_its_learner_would(name: str) -> None:
    service, plain = am.Service(made(name, DENSE)), made(name, DENSE)
    serve(service, 0, 20)
    follow(plain, DENSE, 0, 20)
    assert_same_state(service.learner, plain)
    assert (service.finished, service.abandoned, service.open) == (20, 0, [])


class Mailbox(RuleBasedStateMachine):
    """Any order of calls, many open at once: a learner with records is told the same, by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.service, self.plain = am.Service(made("uob-reps", DENSE)), made("uob-reps", DENSE)
        self.open: list[tuple[am.Ticket, Any]] = []
        self.past: list[am.Ticket] = []

    @precondition(lambda self: self.plain.episodes + len(self.open) < N_EPISODES)
    @rule()
    def begin(self) -> None:
        ticket, record = self.service.begin(), self.plain.issue()
        assert ticket.number == len(self.past) + len(self.open) + 1
        assert np.array_equal(flat(ticket.policy), flat(record.policy))
        self.open.append((ticket, record))

    @precondition(lambda self: self.open)
    @rule(data=st.data(), seed=st.integers(0, 99), as_json=st.booleans())
    def finish(self, data: Any, seed: int, as_json: bool) -> None:
        ticket, record = self.take(data)
        feedback = played(self.plain, ticket, seed)
        self.plain.update(feedback, record)
        if as_json:
            text = json.dumps(plain_feedback(feedback))
            self.service.finish(ticket.number, json.loads(text))
        else:
            self.service.finish(ticket, feedback)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def abandon(self, data: Any) -> None:
        self.service.abandon(self.take(data)[0])

    def take(self, data: Any) -> tuple[am.Ticket, Any]:
        ticket, record = self.open.pop(data.draw(st.integers(0, len(self.open) - 1)))
        self.past.append(ticket)
        return ticket, record

    @precondition(lambda self: self.past)
    @rule(data=st.data(), seed=st.integers(0, 99), call=st.sampled_from(["finish", "abandon"]))
    def late(self, data: Any, seed: int, call: str) -> None:
        ticket = data.draw(st.sampled_from(self.past))
        rest = (played(self.plain, ticket, seed),) if call == "finish" else ()
        with pytest.raises(am.InvalidInput, match=f"{call}: episode {ticket.number} is not open"):
            getattr(self.service, call)(ticket, *rest)

    @precondition(lambda self: self.open)
    @rule()
    def incomplete(self) -> None:
        ticket = self.open[0][0]
        good = played(self.plain, ticket, 0)
        bad = am.Trajectory(good.states, good.actions, [np.nan, *good.losses[1:]])
        with pytest.raises(am.InvalidInput, match="trajectory: loss nan"):
            self.service.finish(ticket, bad)
        with pytest.raises(am.InvalidInput, match="give states, actions, losses"):
            self.service.finish(ticket, {"states": good.states})

    def teardown(self) -> None:
        assert_same_state(self.service.learner, self.plain)
        assert self.service.finished == self.plain.episodes
        assert self.service.finished + self.service.abandoned == len(self.past)
        assert [ticket.number for ticket in self.service.open] == [t.number for t, _ in self.open]


Mailbox.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
test_any_order_of_calls = Mailbox.TestCase


def test_an_uncertified_step_leaves_the_episode_open(monkeypatch: pytest.MonkeyPatch) -> None:
    service = am.Service(made("uob-reps", DENSE))
    ticket = service.begin()
    with monkeypatch.context() as patch:

        def refuse(feedback: Any) -> None:
            raise am.UncertifiedStep("no")

        patch.setattr(service.learner, "update", refuse)
        with pytest.raises(am.UncertifiedStep):
            service.finish(ticket, None)
    assert len(service.open) == 1
    service.finish(ticket, played(service.learner, ticket, 0))
    assert service.finished == 1


def test_the_horizon_ends_the_service_and_doubling_does_not() -> None:
    service = am.Service(made("uob-reps", DENSE, 3))
    serve(service, 0, 3)
    with pytest.raises(am.InvalidInput, match=r"begin: .*n_episodes=3, .* use advmdp.Doubling"):
        service.begin()
    assert service.open == []
    endless = am.Service(doubling("uob-reps", DENSE, 3))
    serve(endless, 0, 15)
    assert endless.finished == 15


def test_what_is_no_ticket_is_refused() -> None:
    service = am.Service(made("uob-reps", DENSE))
    ticket = service.begin()
    for other in ("1", None, (1, ticket.policy)):
        with pytest.raises(am.InvalidInput, match="abandon: number of the ticket"):
            service.abandon(other)  # type: ignore[arg-type]
    ticket.policy[0][0] = [0.9, 0.1]
    with pytest.raises(am.InvalidInput, match="finish: episode 1 was handed out with another"):
        service.finish(ticket, played(service.learner, ticket, 0))
    (unchanged,) = service.open
    service.finish(unchanged, played(service.learner, unchanged, 0))


def test_learners_without_records_serve_one_at_a_time() -> None:
    service = am.Service(made("exp3-ix", DENSE))
    first = service.begin()
    with pytest.raises(
        am.InvalidInput, match="episode 1 is still open, and Exp3IX learns from one"
    ):
        service.begin()
    service.finish(first, played(service.learner, first, 0))
    many = am.Service(made("mdp-e", DENSE))  # sees all losses, and divides by nothing
    tickets = [many.begin() for _ in range(3)]
    for ticket in reversed(tickets):
        many.finish(ticket, played(many.learner, ticket, ticket.number))
    assert many.finished == 3


def test_threads_share_a_service() -> None:
    service = am.Service(made("uob-reps", DENSE, 400))

    def customer(seed: int) -> None:
        for t in range(25):
            ticket = service.begin()
            service.finish(ticket, played(service.learner, ticket, 100 * seed + t))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(customer, range(8)))
    assert service.finished == service.learner.episodes == 200  # type: ignore[attr-defined]
    assert all(np.allclose(table.sum(axis=1), 1.0) for table in service.learner.policy())


def test_any_learner_will_do_as_long_as_nothing_is_written() -> None:
    class Own:
        def policy(self) -> Any:
            return made("uniform", DENSE).policy()

        def update(self, feedback: Any) -> None:
            self.seen = feedback

    service = am.Service(Own())
    ticket = service.begin()
    service.finish(ticket, "anything")
    assert service.learner.seen == "anything"  # type: ignore[attr-defined]
    with pytest.raises(am.InvalidInput, match="path: a Own cannot be kept in a file"):
        am.Service(Own(), "somewhere")
    with pytest.raises(am.InvalidInput, match="save: give a path"):
        service.save()
    with pytest.raises(am.InvalidInput, match="every: 0 is not"):
        am.Service(Own(), every=0)
