"""The routes of the page: what they refuse, and that one reading serves all who watch."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from advmdp.errors import InvalidInput, MissingExtra
from advmdp.learners.catalogue import LEARNERS
from advmdp.store import Store
from advmdp.web.page.assets import OWN_FILES, SHARED, asset
from advmdp.web.page.guard import page_cookie
from advmdp.web.page.playground_request import MOST_EPISODES, catalogue, checked_request, runs_of
from advmdp.web.page.states import event
from advmdp.web.page.topics import KEPT, PolledTopic, Topic
from tests.web.steps import Served, served

USUAL: dict[str, Any] = catalogue()["usual"]
NASTY = "</script>\u2028\x1b[31m\n\ndata: {}"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    store = Store(tmp_path_factory.mktemp("page") / "store", create=True)
    with served([store.path]) as made:
        yield made


def test_every_answer_forbids_foreign_code(page: Served) -> None:
    for path in ("", "static/live.js", "live/catalogue", "nothing", "live/store/7/-"):
        _, headers, _ = page.ask(path)
        policy = {
            part.split()[0]: part.split()[1:]
            for part in headers["content-security-policy"].split(";")
        }
        assert policy["default-src"] == ["'none'"]
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == ["'self'"]
        assert policy["frame-ancestors"] == ["'none'"]
        assert headers["x-content-type-options"] == "nosniff"
    text = page.ask("")[2].decode()
    assert "http:" not in text
    assert "https:" not in text
    for name in (*OWN_FILES, *SHARED):
        status, headers, body = page.ask(f"static/{name}")
        found = asset(name)
        assert found is not None
        assert (status, body) == (200, found.text)
        assert page.ask(f"static/{name}", If_None_Match=headers["etag"])[0] == 304


@pytest.mark.parametrize("path", ["static/routes.py", "static/..%2froutes.py", "live/service/x"])
def test_there_is_nothing_else(page: Served, path: str) -> None:
    assert page.ask(path)[0] == 404


def test_other_names_of_this_machine_are_not_answered(page: Served) -> None:
    for host in (f"evil.example:{page.port}", "evil.example", "127.0.0.1.evil.example"):
        status, _, body = page.ask("live/catalogue", Host=host)
        assert status == 421
        assert "open the address told" in json.loads(body)["error"]
    assert page.ask("live/catalogue", Host=f"localhost:{page.port}")[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Content_Type": "text/plain"},
        {"Content_Type": "application/x-www-form-urlencoded"},
        {"Sec_Fetch_Site": "cross-site"},
    ],
)
def test_only_the_page_itself_may_post(page: Served, headers: dict[str, str]) -> None:
    assert page.post("live/play", json.dumps(USUAL).encode(), **headers)[0] == 403


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"[" * 9000, b'"' + b"x" * 20_000 + b'"', b'{"layers": [3]}']
)
def test_bodies_that_are_no_request(page: Served, body: bytes) -> None:
    status, _, answer = page.post("live/play", body)
    assert status == 400
    assert "\n" not in json.loads(answer)["error"]


@pytest.mark.parametrize(
    "change",
    [
        {"layers": []},
        {"layers": [3] * 6},
        {"layers": [8]},
        {"layers": [0]},
        {"layers": [True]},
        {"layers": "33"},
        {"actions": 6},
        {"actions": 2.5},
        {"losses": "nothing"},
        {"losses": "os:system"},
        {"learners": []},
        {"learners": ["uniform"] * 2},
        {"learners": ["uniform", "uob-reps", "exp3-ix", "ucrl2"]},
        {"learners": ["os:system"]},
        {"episodes": MOST_EPISODES + 1},
        {"episodes": 10**30},
        {"seed": -1},
        {"practical": "yes"},
        {"more": 1},
    ],
)
def test_requests_beyond_the_limits(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        checked_request(USUAL | change)


def test_every_learner_of_the_catalogue_is_offered_and_explained() -> None:
    offered = catalogue()
    assert {n for group in offered["learners"] for n in group["names"]} == set(LEARNERS)
    assert all(offered["explanations"].values())
    for name in offered["losses"]:
        (run,) = runs_of(checked_request(USUAL | {"losses": name, "learners": ["uniform"]}))
        assert run.spec.losses.name == name


def test_a_token_opens_the_data(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", create=True)
    with served([store.path], token="open sesame") as page:
        assert page.ask("")[0] == 200  # the page itself has no data
        assert page.ask("", Host="lab.example")[0] == 200
        assert page.ask("live/overview")[0] == page.ask("live/catalogue")[0] == 401
        assert page.ask("live/catalogue?token=open%20sesame")[0] == 401
        assert page.ask("live/catalogue", Authorization="Bearer open sesame")[0] == 200
        assert page.ask("live/catalogue", Authorization="Bearer open")[0] == 401
        status, headers, _ = page.post("live/token", b'{"token": "open sesame"}')
        assert status == 200
        cookie, *flags = headers["set-cookie"].split("; ")
        assert {"HttpOnly", "SameSite=strict"} <= set(flags)
        assert "sesame" not in cookie
        assert page.ask("live/catalogue", Cookie=cookie)[0] == 200
        name = page_cookie("open sesame")[0]
        assert page.ask("live/catalogue", Cookie=f"{name}={page_cookie('x')[1]}")[0] == 401
        assert page.post("live/token", b'{"token": "no"}')[0] == 401
        assert page.post("live/token", b'{"token": 1}')[0] == 401


def test_streams_begin_with_everything(page: Served) -> None:
    retry, _, number, name, data = page.lines("live/overview", 5)
    assert retry.startswith("retry: ")
    assert (number, name) == ("id: 1\n", "event: whole\n")
    state = json.loads(data.removeprefix("data: "))
    assert state["stores"]["0"]["n_runs"] == 0
    assert state["page"] == {"playground": True}


def test_no_text_can_end_an_event() -> None:
    sent = event("whole", {"runs": {NASTY: NASTY}}, 1).decode()
    assert sent.count("\n") == 4
    (section,) = json.loads(sent.split("data: ", 1)[1]).values()
    for text in (*section.keys(), *section.values()):  # nor command a terminal, nor turn a line
        assert text.replace("\n", "").isprintable()


def test_one_reading_for_all_who_watch() -> None:
    async def scenario() -> None:
        readings = []

        def compute() -> dict[str, dict[str, int]]:
            readings.append(threading.get_ident())
            return {"section": {"n": len(readings)}}

        topic = PolledTopic(compute)
        streams = [topic.events() for _ in range(50)]
        for stream in streams:
            assert (await anext(stream)).startswith(b"retry")
        wholes = [await anext(stream) for stream in streams]
        assert len(set(wholes)) == 1
        assert len(readings) == 1
        assert readings[0] != threading.get_ident()  # the loop was free meanwhile
        assert topic.watchers == 50
        await topic.close()
        for stream in streams:
            with pytest.raises(StopAsyncIteration):
                await anext(stream)
        assert topic.watchers == 0

    asyncio.run(scenario())


def test_a_slow_watcher_gets_the_whole_state() -> None:
    async def scenario() -> None:
        topic = Topic()
        slow, quick = topic.events(), topic.events()
        for stream in (slow, quick):
            await anext(stream)
        await topic.publish({"section": {"n": 0}})
        assert await anext(slow) == await anext(quick)
        for n in range(1, KEPT + 2):
            await topic.publish({"section": {"n": n}})
            assert b"event: change" in await anext(quick)
        late = await anext(slow)
        assert late.startswith(f"id: {KEPT + 2}\nevent: whole".encode())
        await topic.publish({"section": {"n": 99}})
        await topic.publish({"section": {"n": 100}})
        two = await anext(slow)
        assert two.count(b"event: change") == 2
        for stream in (slow, quick):
            await stream.aclose()

    asyncio.run(scenario())


def test_a_server_stops_although_streams_are_open(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", create=True)
    with served([store.path]) as page:
        stream = urllib.request.urlopen(page.address + "live/overview", timeout=10)
        stream.readline()
    with stream:
        stream.read()  # it came to its end


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from advmdp.cli.watching import watch

    Store(tmp_path / "store", create=True)
    for name in [name for name in sys.modules if name.startswith("advmdp.web.page.r")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    with pytest.raises(MissingExtra, match=r"pip install 'advmdp\[web\]'"):
        watch([tmp_path / "store"])


def test_the_libraries_are_imported_only_on_demand() -> None:
    code = (
        "import sys, advmdp, advmdp.cli, advmdp.cli.terminal.store_screen; "
        "print(*sorted({'starlette', 'fastapi', 'uvicorn'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
