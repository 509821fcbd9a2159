"""The calls of a server, over real connections: what they answer, and what they leave behind."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from benchmarks.serve_kills import feedback

import advmdp as am
from advmdp.checks.range_policy import LossRange
from advmdp.service.draws import uniform
from advmdp.web import grouping
from advmdp.web.limits import Limits
from tests.reference.contract import assert_same_state
from tests.web.running import LAYOUT, Asker, contents_of, learner, serving


@pytest.fixture
def service(tmp_path: Path) -> am.Service:
    return am.open_service(tmp_path / "pump", learner())


@pytest.fixture
def ask(service: am.Service) -> Iterator[Asker]:
    with serving({"pump": service}) as asker:
        yield asker


def test_an_episode(ask: Asker, service: am.Service) -> None:
    status, ticket = ask.call("begin", {"key": "one"})
    assert (status, ticket["number"], ticket["policy"][0]) == (200, 1, [[0.5, 0.5]])
    status, drawn = ask.call("act", {"number": 1, "layer": 1, "state": "b"})
    assert status == 200
    assert drawn["name"] == ["left", "right"][drawn["action"]]
    played = {"states": ["gate", "b", "f", "end"], "actions": ["left", "right", 0]}
    sent = {"number": 1, "stamp": ticket["stamp"], **played, "losses": [0.5, 0, 1]}
    assert ask.call("finish", sent) == (200, {"number": 1, "status": "learnt"})
    twin = learner()
    twin.update(am.Trajectory([0, 1, 2, 0], [0, 1, 0], [0.5, 0.0, 1.0]))
    assert_same_state(service.learner, twin)
    status, policy = ask("GET", "/api/v1/services/pump/policy")
    assert status == 200
    assert policy["policy"] == [table.tolist() for table in twin.policy()]


def test_many_at_once_in_one_request(ask: Asker, service: am.Service) -> None:
    _, begun = ask.call("begin_many", {"episodes": [{"key": f"{i}"} for i in range(5)]})
    numbers = [ticket["number"] for ticket in begun["tickets"]]
    assert numbers == [1, 2, 3, 4, 5]
    episodes = [{"number": n, **feedback(n)} for n in (4, 2, 2, 9)]
    episodes += [{"number": 3, **feedback(3), "losses": [2.0, 0.0, 0.0]}]
    status, answer = ask.call("finish_many", {"episodes": episodes})
    told = [(one["number"], one["status"]) for one in answer["results"]]
    assert status == 200
    assert told == [(4, "learnt"), (2, "learnt"), (2, "already"), (9, "unknown"), (3, "invalid")]
    assert "outside [0, 1]" in answer["results"][4]["error"]
    _, still = ask("GET", "/api/v1/services/pump/open")
    assert [ticket["number"] for ticket in still["tickets"]] == [1, 3, 5]
    assert still["tickets"] == [begun["tickets"][i] for i in (0, 2, 4)]


def test_what_comes_again_changes_nothing(ask: Asker, service: am.Service) -> None:
    first = ask.call("begin", {"key": "one"})
    assert ask.call("begin", {"key": "one"}) == first
    asked = {"number": 1, "layer": 0, "state": 0}
    assert ask.call("act", asked) == ask.call("act", asked)
    sent = {"number": 1, **feedback(1)}
    assert ask.call("finish", sent)[1]["status"] == "learnt"
    ask.call("begin", {"key": "two"})
    assert ask.call("abandon", {"number": 2})[1]["status"] == "given up"
    before = contents_of(service)
    assert ask.call("finish", sent) == (200, {"number": 1, "status": "already"})
    assert ask.call("abandon", {"number": 2}) == (200, {"number": 2, "status": "already"})
    other = {**sent, "losses": [0.0, 0.0, 0.0]}
    for verb, wrong, code in (
        ("finish", other, 409),
        ("finish", {**sent, "number": 2}, 409),  # it was given up
        ("finish", {**sent, "number": 3}, 404),
        ("abandon", {"number": 1}, 409),
        ("begin", {"key": "one"}, 409),  # closed: the caller has had its ticket
        ("act", asked, 409),
        ("act", {**asked, "number": 7}, 404),
    ):
        status, answer = ask.call(verb, wrong)
        assert (status, list(answer)) == (code, ["error"]), (verb, wrong, answer)
        assert "\n" not in answer["error"]
    assert contents_of(service) == before


def test_a_ticket_of_another_policy_is_noticed(ask: Asker, service: am.Service) -> None:
    ask.call("begin", {})
    sent = {"number": 1, "stamp": "0" * 16, **feedback(1)}
    assert ask.call("finish", sent)[0] == 409
    assert service.n_open == 1


def test_actions_have_the_distribution_of_the_policy(service: am.Service) -> None:
    """Numbers behind the draws: uniform and uncorrelated, by 4.5 standard deviations (1e-5)."""
    key = bytes(range(32))
    numbers = np.array([uniform(key, t, k, 0) for t in range(4000) for k in range(2)])
    counts = np.bincount((numbers * 10).astype(int), minlength=10)
    assert np.abs(counts - 800).max() < 4.5 * np.sqrt(8000 * 0.1 * 0.9)
    pairs = numbers.reshape(-1, 2) - 0.5
    assert abs((pairs[:, 0] * pairs[:, 1]).sum()) < 4.5 * np.sqrt(4000) / 12
    ticket = service.begin()
    assert {service.act(ticket, 1, x) for x in range(3)} <= {0, 1}
    service.close()
    again = am.Service.load(service.path)  # type: ignore[arg-type]
    assert again._desk.draw_key == service._desk.draw_key


def test_concurrent_clients_are_learnt_from_once_each(ask: Asker, service: am.Service) -> None:
    """The journal tells the order; a learner that is told the same in that order has the bits."""

    def play(t: int) -> None:
        client = am.connect(f"http://127.0.0.1:{ask.port}/pump")
        ticket = client.begin()
        client.finish(ticket, feedback(t))
        client.close()

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(play, range(120)))
    assert (service.finished, service.n_open) == (120, 0)
    assert service._keeper is not None
    journal = am.service.journal.Journal(service._keeper._path(service._keeper._number))
    twin = am.Service(learner())
    for event in journal.events:
        twin._desk.repeat(event)
    assert_same_state(service.learner, twin.learner)
    status, text = ask("GET", "/metrics")
    assert status == 200
    told = text["text"]
    assert 'advmdp_episodes_total{how="finished",service="pump"} 120.0' in told
    groups = next(line for line in told.splitlines() if line.startswith("advmdp_group_episodes_c"))
    assert float(groups.split()[1]) < 120  # fewer waits for the disk than episodes


def test_the_client_has_the_methods_and_results_of_a_service(
    ask: Asker, service: am.Service
) -> None:
    client, plain = am.connect(f"http://127.0.0.1:{ask.port}"), am.Service(learner())
    for each in (client, plain):
        one, two, three = each.begin(), each.begin(), each.begin()
        assert each.act(one, 0, "gate") in (0, 1)
        each.finish(two, am.Trajectory([0, 1, 0, 0], np.array([1, 0, 1]), [0.3, 0.0, 0.9]))
        each.abandon(three.number)
        answers = each.finish_many([(two, feedback(1)), (three, None), (one, feedback(2))])
        assert [a.status for a in answers] == ["conflict", "already", "learnt"]
        with pytest.raises(am.InvalidInput, match=r"episode 2 (is not open|was learnt)"):
            each.finish(two, feedback(1))
        each.begin()
        counts = each.finished, each.abandoned, each.n_open, each.clipped, each.losses_outside
        assert counts == (2, 1, 1, 0, "refuse")
    assert_same_state(service.learner, plain.learner)
    assert client.open[0].to_dict() == plain.open[0].to_dict()
    for mine, own in zip(client.policy(), plain.policy(), strict=True):
        assert np.array_equal(mine, own)
    assert [t.number for t in client.begin_many(2)] == [5, 6]
    with pytest.raises(am.InvalidInput, match="takes none; serve PerContext"):
        client.begin(context=1)
    with pytest.raises(am.NoConnection, match="cannot be reached"):
        am.connect("http://127.0.0.1:9", patience=0.01)


def test_a_range_that_follows_the_losses_is_shown() -> None:
    services = {
        "pump": am.Service(learner(), losses_outside="adapt"),
        "shop": am.Service(learner(), losses_outside="clip"),
    }
    with serving(services) as ask:
        client = am.connect(f"http://127.0.0.1:{ask.port}/pump")
        assert client.loss_range == LossRange(0.0, 1.0, 0, 0)
        client.finish(client.begin(), am.Trajectory([0, 1, 0, 0], [1, 0, 1], [3.5, 0.0, 0.9]))
        assert client.loss_range == services["pump"].loss_range == LossRange(0.0, 4.0, 2, 1)
        status, state = ask("GET", "/api/v1/services/pump")
        assert (status, state["loss_range"]["doublings"]) == (200, 2)
        assert ask("GET", "/api/v1/services/shop")[1]["loss_range"] is None


def test_several_services_and_contexts() -> None:
    weekdays = am.PerContext(am.UOBREPS, LAYOUT, n_contexts=2, n_episodes=100)
    services = {"pump": am.Service(learner()), "shop": am.Service(weekdays)}
    with serving(services) as ask:
        _, listed = ask("GET", "/api/v1/services")
        assert [one["name"] for one in listed["services"]] == ["pump", "shop"]
        with pytest.raises(am.InvalidInput, match="the services pump, shop; add the name"):
            am.connect(f"http://127.0.0.1:{ask.port}")
        shop = am.connect(f"http://127.0.0.1:{ask.port}/shop")
        ticket = shop.begin(context=1)
        assert ticket.context == 1
        shop.finish(ticket, feedback(9))
        assert [each.episodes for each in weekdays.learners] == [0, 1]
        asked = [shop.policy(context) for context in (0, 1, None)]
        assert not np.array_equal(asked[0][0], asked[1][0])
        assert np.array_equal(asked[2][0], asked[1][0])
        status, answer = ask.call("begin", {"context": 5}, "shop")
        assert (status, answer["error"]) == (422, "context: 5 is not in 0..1")
        _, state = ask("GET", "/api/v1/services/shop")
        assert state["layout"]["state_names"][1] == ["a", "b", "c"]


def test_limits_are_told_in_one_line() -> None:
    services = {"pump": am.Service(learner())}
    with serving(services, limits=Limits(max_open=2, max_body=200)) as ask:
        assert [ask.call("begin", {"key": f"{i}"})[0] for i in range(3)] == [200, 200, 429]
        assert ask.call("begin", {"key": "1"})[0] == 200  # not a new one
        answer = ask.call("begin_many", {"episodes": [{"key": "0"}, {"key": "9"}]})
        assert [ticket["number"] for ticket in answer[1]["tickets"]] == [
            1
        ]  # what there is room for
        status, answer = ask.call("begin", {"key": "x" * 190})
        assert (status, answer["error"][:33]) == (413, "the body has more than 200 bytes;")
        with socket.create_connection(("127.0.0.1", ask.port), timeout=20) as chunked:
            head = "POST /api/v1/services/pump/begin HTTP/1.1\r\nHost: localhost\r\n"
            head += "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
            chunked.sendall(head.encode() + b"ff\r\n" + b" " * 255 + b"\r\n")
            assert chunked.recv(1000).startswith(b"HTTP/1.1 413 ")
    with serving({"pump": am.Service(learner())}, limits=Limits(rate=2.0)) as ask:
        statuses = [ask("GET", "/health")[0] for _ in range(4)]
        assert statuses[:2] == [200, 200]
        assert 429 in statuses


TOKEN = "a-token-of-32-letters-0123456789"


def test_the_token_is_asked_for_and_never_told() -> None:
    with serving({"pump": am.Service(learner())}, token=TOKEN) as ask:
        paths = ["/api/v1/services", "/metrics", "/api/v1/openapi.json"]
        for path in paths:
            for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": f"Basic {TOKEN}"}):
                status, answer = ask("GET", path, **headers)
                assert status == 401
                assert TOKEN not in str(answer)
            assert ask("GET", path, Authorization=f"Bearer {TOKEN}")[0] == 200
        assert ask.call("begin", {})[0] == 401
        assert ask("GET", "/health") == (200, {"status": "ok", "version": am.__version__})
        client = am.connect(f"http://127.0.0.1:{ask.port}/pump", TOKEN)
        assert client.begin().number == 1
        assert TOKEN not in repr(client)
        with pytest.raises(am.InvalidInput, match="give the server's token"):
            am.connect(f"http://127.0.0.1:{ask.port}/pump", TOKEN[::-1]).begin()


def test_pages_of_other_sites_cannot_call(ask: Asker, service: am.Service) -> None:
    """What a browser sends for a foreign page: a form, or this address under another name."""
    path = "/api/v1/services/pump/begin"
    connection = ask.connection
    connection.request("POST", path, b"{}", {"Content-Type": "text/plain"})
    answer = connection.getresponse()
    assert (answer.status, list(json.loads(answer.read()))) == (415, ["error"])
    with serving({"other": am.Service(learner())}, hosts=("127.0.0.1", "localhost")) as guarded:
        assert guarded("GET", "/api/v1/services", Host="evil.example:80")[0] == 421
        assert guarded("GET", "/api/v1/services", Host="localhost:1")[0] == 200
    assert service.n_open == 0


def test_a_defect_is_one_line_for_the_client(
    ask: Asker, service: am.Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: Any) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(service, "begin", fail)
    assert ask.call("begin", {}) == (500, {"error": "the server failed; its log says why"})


def test_a_disk_that_refuses_is_told_and_the_answer_waits(
    ask: Asker, service: am.Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask.call("begin", {})
    sent = {"number": 1, **feedback(1)}
    with monkeypatch.context() as patch:

        def refuse(position: int) -> None:
            raise am.StorageFailure("disk: no space left")

        patch.setattr(service._keeper, "sync", refuse)
        assert ask.call("finish", sent)[0] == 503
        patch.setattr(service._keeper, "snapshot", lambda *given: refuse(0))
        assert ask.call("finish", sent)[0] == 503  # not "already": it is on no disk yet
    assert ask.call("finish", sent) == (200, {"number": 1, "status": "already"})
    service.close()
    assert am.Service.load(service.path).finished == 1  # type: ignore[arg-type]


def test_what_is_under_way_is_answered_before_the_end(
    ask: Asker, service: am.Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask.call("begin", {})
    assert service._keeper is not None
    entered, released, sync = Event(), Event(), service._keeper.sync

    def slow(position: int) -> None:
        entered.set()
        released.wait(20)
        sync(position)

    monkeypatch.setattr(service._keeper, "sync", slow)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(ask.call, "finish", {"number": 1, **feedback(1)})
        assert entered.wait(20)
        ask.server.should_exit = True
        released.set()
        assert answer.result() == (200, {"number": 1, "status": "learnt"})


def test_what_cannot_be_read_is_one_line(ask: Asker) -> None:
    for path, code in (
        ("/api/v2/services", 404),
        ("/api/v1/services/nobody", 404),
        ("/api/v1/services/nobody/policy", 404),
        ("/api/v1/services/%00%0a<b>/open", 404),
        ("/api/v1/services/pump/policy?context=-1", 422),
        ("/api/v1/services/pump/policy?context=x", 422),
        ("/api/v1/services/pump/policy?context=1", 422),
        ("/api/v1/services/pump/begin", 404),
    ):
        status, answer = ask("GET", path)
        assert (status, list(answer)) == (code, ["error"]), path
        assert answer["error"].isprintable()
    status, answer = ask("DELETE", "/api/v1/services/pump", {})
    assert (status, list(answer)) == (404, ["error"])


def test_a_slow_learner_does_not_hold_the_server_up(
    ask: Asker, service: am.Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With every call in a thread, as for a learner that takes its time."""
    monkeypatch.setattr(grouping, "QUICK", -1.0)
    entered, released, update = Event(), Event(), service.learner.update

    def slow(*given: Any) -> None:
        entered.set()
        assert released.wait(20)
        update(*given)

    monkeypatch.setattr(service.learner, "update", slow)
    others = [Asker(ask.port, ask.server) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        assert [ask.call("begin", {"key": f"{i}"})[1]["number"] for i in range(2)] == [1, 2]
        finished = pool.submit(others[0].call, "finish", {"number": 1, **feedback(1)})
        assert entered.wait(20)
        begun = pool.submit(others[1].call, "begin", {"key": "late"})
        assert ask("GET", "/health")[0] == 200
        assert not finished.done()
        assert not begun.done()
        released.set()
        assert finished.result() == (200, {"number": 1, "status": "learnt"})
        assert begun.result()[1]["number"] == 3
    for other in others:
        other.connection.close()
    twin = learner()
    twin.update(am.Trajectory(**feedback(1)))
    assert_same_state(service.learner, twin)
