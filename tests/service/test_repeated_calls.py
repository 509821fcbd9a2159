"""Calls that come again: recognised before and after a restart, and never learnt from twice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import advmdp as am
from advmdp.service import receipts
from advmdp.service.refusals import Conflict, TooManyOpen, UnknownEpisode
from tests.reference.contract import DENSE, assert_same_state, made
from tests.service.test_service import played

NAMED = am.Layout(
    (1, 2, 1),
    [[2], [3, 1]],
    state_names=[["depot"], ["north", "south"]],
    action_names=[[["car", "train"]], [["a", "b", "c"], ["only"]]],
)


def statuses(service: am.Service, *closings: tuple[object, object]) -> list[str]:
    return [answer.status for answer in service.finish_many(closings)]  # type: ignore[arg-type]


@pytest.mark.parametrize("every", [1, 1000])
def test_receipts_outlive_the_process(every: int, tmp_path: Path) -> None:
    """From the snapshot, and from the journal."""
    service = am.Service(made("uob-reps", DENSE), tmp_path / "service", every)
    tickets = [service.begin(key=f"visit {i}") for i in range(4)]
    feedback = [played(service.learner, ticket, 0) for ticket in tickets]
    first = (tickets[0], feedback[0]), (tickets[1], feedback[1]), (tickets[2], None)
    assert statuses(service, *first) == ["learnt", "learnt", "given up"]
    asked = [service.act(tickets[3], k, 0) for k in range(4)]
    for _ in range(2):
        service.close()
        service = am.Service.load(tmp_path / "service")
        other = am.Trajectory(feedback[0].states, feedback[0].actions, [0.25] * 4)
        again = statuses(service, *first, (1, other), (3, feedback[2]), (2, None), (9, None))
        assert again == ["already"] * 3 + ["conflict"] * 3 + ["unknown"]
        assert service.begin(key="visit 3").to_dict() == tickets[3].to_dict()
        with pytest.raises(Conflict, match=r"key: episode 1 was begun with it and is closed"):
            service.begin(key="visit 0")
        assert [service.act(4, k, 0) for k in range(4)] == asked
        counts = service.finished, service.abandoned, service.n_open, service.learner.episodes
        assert counts == (2, 1, 1, 2)
    service.close()


def test_each_is_judged_alone() -> None:
    service, twin = am.Service(made("uob-reps", DENSE)), made("uob-reps", DENSE)
    one, two = service.begin(), service.begin()
    records = twin.issue(), twin.issue()
    good = played(twin, one, 0)
    bad = am.Trajectory(good.states, good.actions, [np.nan] * 4)
    forged = am.Ticket(1, [np.full_like(table, 0.25) for table in one.policy])
    answers = service.finish_many([(one, bad), (forged, good), (two, good), (one, good)])
    assert [answer.status for answer in answers] == ["invalid", "conflict", "learnt", "learnt"]
    assert "loss nan at step 0" in answers[0].error
    twin.update(good, records[1])
    twin.update(good, records[0])
    assert_same_state(service.learner, twin)
    assert service.finish_many([]) == []


def test_what_is_forgotten_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receipts, "REMEMBERED", 2)
    service = am.Service(made("uob-reps", DENSE))
    for i in range(3):
        ticket = service.begin(key=f"{i}")
        service.finish(ticket, played(service.learner, ticket, 0))
    answers = service.finish_many([(1, played(service.learner, ticket, 0))])
    assert answers[0] == (
        1,
        "conflict",
        "finish: episode 1 was closed long ago; drop what comes now",
    )
    assert service.begin(key="0").number == 4  # the key is free again
    assert service.finished == 3


def test_clipped_feedback_is_recognised() -> None:
    service = am.Service(made("uob-reps", DENSE), losses_outside="clip")
    ticket = service.begin()
    path = played(service.learner, ticket, 0)
    far = am.Trajectory(path.states, path.actions, [2.0, -1.0, 0.5, 0.5])
    assert statuses(service, (ticket, far), (ticket, far)) == ["learnt", "already"]
    assert service.clipped == 2


def test_limits_and_unknown_tickets() -> None:
    service = am.Service(made("uob-reps", DENSE))
    service.most_open = 1
    ticket = service.begin(key="a")
    with pytest.raises(TooManyOpen, match="1 episodes are open, the most that are allowed"):
        service.begin(key="b")
    assert service.begin(key="a").number == ticket.number
    with pytest.raises(UnknownEpisode, match="act: episode 2 was never handed out"):
        service.act(2, 0, 0)
    for layer, state in ((4, 0), (-1, 0), (0, 1), (1, "nobody"), (True, 0)):
        with pytest.raises(am.InvalidInput):
            service.act(ticket, layer, state)
    for key in ("", "x" * 201, "two\nlines", 7):
        with pytest.raises(am.InvalidInput, match="key: "):
            service.begin(key=key)  # type: ignore[arg-type]


def test_names_in_place_of_numbers() -> None:
    service, twin = am.Service(am.UOBREPS(NAMED, 10)), am.UOBREPS(NAMED, 10)
    ticket = service.begin()
    for states, actions, said in (
        (["depot", "nort", 0], ["car", "a"], "'nort' is no state of layer 1; did you mean 'north'"),
        (["depot", "south", 0], ["car", "a"], "'a' is no action of layer 1, state 1"),
        (["depot"], ["car", "a"], "give a state for every action"),
    ):
        given = {"states": states, "actions": actions, "losses": [0.5, 1.0]}
        with pytest.raises(am.InvalidInput, match=said):
            service.finish(ticket, given)
    named = {"states": ["depot", "north", 0], "actions": ["train", "c"], "losses": [0.5, 1.0]}
    numbers = {"states": [0, 0, 0], "actions": [1, 2], "losses": [0.5, 1.0]}
    assert statuses(service, (ticket, named), (ticket, numbers)) == ["learnt", "already"]
    twin.update(am.Trajectory(**numbers))
    assert_same_state(service.learner, twin)
    assert service.act(service.begin(), 1, "south") == 0  # its only action


def test_after_a_failed_sync_everything_is_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second fsync of the same file may succeed although the first one lost the pages."""
    service = am.Service(made("uob-reps", DENSE), tmp_path / "service")
    ticket = service.begin()
    feedback = played(service.learner, ticket, 0)
    assert service._keeper is not None
    number = service._keeper._number
    with monkeypatch.context() as patch:

        def fail(position: int) -> None:
            raise am.StorageFailure("disk")

        patch.setattr(service._keeper, "sync", fail)
        with pytest.raises(am.StorageFailure):
            service.finish_many([(ticket, feedback)])
    assert statuses(service, (ticket, feedback)) == ["already"]
    assert service._keeper._number == number + 1  # a snapshot, with a new journal
    service.close()
    assert am.Service.load(tmp_path / "service").finished == 1
