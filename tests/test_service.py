"""The learner as a service: which feedback is learnt from, which is refused, what a file keeps."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

import advmdp as am
from advmdp.archive import read_archive, write_archive
from advmdp.learners.catalogue import LEARNERS
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
    assert (service.finished, service.abandoned, service.open) == (20, 0, None)


class Mailbox(RuleBasedStateMachine):
    """Any order of calls: a plain learner is told exactly the episodes that were finished."""

    def __init__(self) -> None:
        super().__init__()
        self.service, self.plain = am.Service(made("uob-reps", DENSE)), made("uob-reps", DENSE)
        self.past: list[am.Ticket] = []
        self.awaited: am.Ticket | None = None

    @precondition(lambda self: self.awaited is None and self.plain.episodes < N_EPISODES)
    @rule()
    def begin(self) -> None:
        self.awaited = self.service.begin()
        assert self.awaited.number == len(self.past) + 1
        assert np.array_equal(flat(self.awaited.policy), flat(self.plain.policy()))

    @precondition(lambda self: self.awaited is not None)
    @rule()
    def begin_again(self) -> None:
        with pytest.raises(am.InvalidInput, match=rf"begin: episode {self.awaited.number} is stil"):
            self.service.begin()

    @precondition(lambda self: self.awaited is not None)
    @rule(seed=st.integers(0, 99))
    def finish(self, seed: int) -> None:
        feedback = played(self.plain, self.awaited, seed)
        self.plain.update(feedback)
        self.service.finish(self.awaited, feedback)
        self.close()

    @precondition(lambda self: self.awaited is not None)
    @rule()
    def abandon(self) -> None:
        self.service.abandon(self.awaited)
        self.close()

    def close(self) -> None:
        self.past.append(self.awaited)
        self.awaited = None

    @precondition(lambda self: self.past)
    @rule(data=st.data(), seed=st.integers(0, 99), call=st.sampled_from(["finish", "abandon"]))
    def late(self, data: Any, seed: int, call: str) -> None:
        ticket = data.draw(st.sampled_from(self.past))
        rest = (played(self.plain, ticket, seed),) if call == "finish" else ()
        with pytest.raises(am.InvalidInput, match=f"{call}: episode {ticket.number} is not open"):
            getattr(self.service, call)(ticket, *rest)

    @precondition(lambda self: self.awaited is not None)
    @rule()
    def incomplete(self) -> None:
        good = played(self.plain, self.awaited, 0)
        bad = am.Trajectory(good.states, good.actions, [np.nan, *good.losses[1:]])
        with pytest.raises(am.InvalidInput, match="trajectory: loss nan"):
            self.service.finish(self.awaited, bad)

    def teardown(self) -> None:
        assert_same_state(self.service.learner, self.plain)
        assert self.service.finished == self.plain.episodes
        assert self.service.finished + self.service.abandoned == len(self.past)
        assert (self.service.open is None) == (self.awaited is None)


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
    assert service.open is not None
    service.finish(ticket, played(service.learner, ticket, 0))
    assert service.finished == 1


def test_the_horizon_ends_the_service_and_doubling_does_not() -> None:
    service = am.Service(made("uob-reps", DENSE, 3))
    serve(service, 0, 3)
    with pytest.raises(am.InvalidInput, match=r"begin: .*n_episodes=3, .* use advmdp.Doubling"):
        service.begin()
    assert service.open is None
    endless = am.Service(doubling("uob-reps", DENSE, 3))
    serve(endless, 0, 15)
    assert endless.finished == 15


def test_what_is_no_ticket_is_refused() -> None:
    service = am.Service(made("uob-reps", DENSE))
    ticket = service.begin()
    for other in (1, None, (1, ticket.policy)):
        with pytest.raises(am.InvalidInput, match="abandon: give the ticket of begin"):
            service.abandon(other)  # type: ignore[arg-type]
    ticket.policy[0][0] = [0.9, 0.1]
    with pytest.raises(am.InvalidInput, match="finish: episode 1 was played with another policy"):
        service.finish(ticket, played(service.learner, ticket, 0))
    unchanged = service.open
    assert unchanged is not None
    service.finish(unchanged, played(service.learner, unchanged, 0))


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


# ---------------------------------------------------------------------- what a file keeps


@pytest.mark.parametrize("every", [1, 3])
def test_a_restart_continues_with_the_same_bits(every: int, tmp_path: Path) -> None:
    """A service that is thrown away and loaded at every stop, beside one that lives on."""
    path = tmp_path / "service"
    lasting = am.Service(doubling("uob-reps", DENSE))
    service = am.Service(doubling("uob-reps", DENSE), path, every)
    assert not path.exists()
    for start in range(0, 18, 3):
        for each in (lasting, service):
            serve(each, start, start + 2)
            each.abandon(each.begin())
        del service
        service = am.Service.load(path)
        assert (service.finished, service.abandoned) == (lasting.finished, lasting.abandoned)
        assert (service.every, service.path) == (every, path)
        assert_same_state(service.learner, lasting.learner)


def test_a_crash_loses_what_was_not_yet_written_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "service"
    service = am.Service(made("uob-reps", DENSE), path, every=4)
    serve(service, 0, 7)
    lost = service.begin()
    again = am.Service.load(path)
    assert (again.finished, again.open) == (4, None)
    serve(again, 20, 23)
    ticket = again.begin()
    assert ticket.number == lost.number == 8
    with pytest.raises(am.InvalidInput, match="episode 8 was played with another policy"):
        again.finish(lost, played(again.learner, lost, 7))
    again.abandon(ticket)


def test_feedback_may_come_after_a_restart(tmp_path: Path) -> None:
    """Begun before a crash: the same number has the same policy again, so the feedback fits."""
    path = tmp_path / "service"
    service = am.Service(made("uob-reps", DENSE), path)
    serve(service, 0, 5)
    ticket = service.begin()
    again = am.Service.load(path)
    with pytest.raises(am.InvalidInput, match="finish: episode 6 is not open, none is"):
        again.finish(ticket, played(service.learner, ticket, 5))
    again.begin()
    service.save()  # with the episode open, it is open when loaded
    kept = am.Service.load(path)
    assert kept.open is not None
    assert kept.open.number == 6
    for each in (service, again, kept):
        each.finish(ticket, played(each.learner, ticket, 5))
        assert_same_state(each.learner, service.learner)


def test_a_full_disk_is_told_and_the_episode_stays_finished(tmp_path: Path) -> None:
    path = tmp_path / "service"
    service = am.Service(made("uob-reps", DENSE), path)
    serve(service, 0, 2)
    ticket = service.begin()
    feedback = played(service.learner, ticket, 2)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(am.StorageFailure, match=r"service: cannot be written .*untouched"):
            service.finish(ticket, feedback)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    assert (service.finished, service.open) == (3, None)
    assert am.Service.load(path).finished == 2
    with pytest.raises(am.InvalidInput, match="episode 3 is not open"):
        service.finish(ticket, feedback)
    service.save()
    assert am.Service.load(path).finished == 3


def test_files_of_other_kinds_and_broken_headers_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "service"
    made("uob-reps", DENSE).save(path)
    with pytest.raises(am.InvalidInput, match="holds a learner, not a service"):
        am.Service.load(path)
    am.Service(made("uob-reps", DENSE)).save(path)
    header, arrays = read_archive(path, "service")
    for part in header:
        broken = {key: value for key, value in header.items() if key != part}
        write_archive(path, "service", broken, arrays)
        with pytest.raises(am.DamagedFile, match=f"do not make a service .'{part}'."):
            am.Service.load(path)
