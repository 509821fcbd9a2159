"""The page in a real browser: it opens, follows a sweep, outlives a restart, and plays."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

import advmdp as am
from advmdp.experiments.build import build
from advmdp.store import Store, manifest
from advmdp.web.page.playground_request import checked_request, runs_of
from advmdp.web.page.routes import page_app
from tests.reports.browser import launched
from tests.web.steps import MadeUpSweep, Served, served, spec
from tests.web.test_page_services import served_episodes

NASTY = "<img src=x onerror=alert(1)><script>alert(2)</script>'\"&\u202e__proto__"
PHONE = {"width": 390, "height": 844}
LAYOUT = am.Layout(
    layer_sizes=(1, 3, 3, 1),
    n_actions=2,
    state_names=[["idle"], ["a", "b", "c"], ["d", "e", "<img src=x onerror=alert(3)>"], ["end"]],
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from launched()


@contextmanager
def looked_at(browser: Browser, address: str, told: str = "", **options: Any) -> Iterator[Page]:
    """A page; afterwards, whether it complained or asked anybody else for anything.

    ``told`` is a part of what browsers themselves write into their console about an answer that the
    test provokes: a server that is away, a request that is refused.
    """
    context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(address)
    yield page
    sideways = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(sideways) <= 0
    context.close()
    assert [text for text in complaints if not told or told not in text] == []
    host = address.split("#")[0]
    assert all(url.startswith((host, "data:", "blob:")) for url in requests)


def luminance(page: Page) -> float:
    """Of the ground: 0 black, 1 white."""
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / 765


def test_a_sweep_grows_on_the_page_and_outlives_a_restart(browser: Browser, tmp_path: Path) -> None:
    one, two, other = spec("uob-reps", 0), spec("uob-reps", 1), spec("exp3-ix")
    sweep = MadeUpSweep(tmp_path / "store", [one, two, other])
    server = Served(0, page_app([tmp_path / "store"]))
    with looked_at(browser, server.address, "ERR_") as page:
        expect(page.locator("#connection")).to_have_text("live")
        assert luminance(page) > 0.9
        expect(page.locator(".card").first).to_contain_text("3 waiting")
        page.locator(".card").first.click()
        expect(page.locator(".headline")).to_contain_text("3 waiting")
        expect(page.locator(".runs tbody tr")).to_have_count(3)
        sweep.begin(one)
        sweep.reach(one, 500, 2.0, 0.5)
        row = page.locator(f".runs tr[title='{one.id}']")
        expect(row).to_contain_text("running")
        expect(row).to_contain_text("50%")
        expect(row).to_contain_text("2 s")
        expect(page.locator(".headline")).to_contain_text("10 s left")
        line = page.locator(".chart-regret path.line[data-key='uob-reps']")
        expect(line).to_have_count(1)
        before = line.get_attribute("d")
        port = server.port
        server.stop()
        expect(page.locator("#connection")).to_have_attribute("data-state", "lost")
        sweep.reach(one, 900, 3.6, 0.5)
        sweep.begin(other)
        sweep.fail(other, f"no step: {NASTY}")
        server = Served(port, page_app([tmp_path / "store"]))
        expect(page.locator("#connection")).to_have_attribute("data-state", "live")
        expect(row).to_contain_text("90%")
        expect(page.locator(".reason")).to_contain_text("<img src=x onerror=alert(1)>")
        assert line.get_attribute("d") != before
        sweep.finish(one, 0.5)
        sweep.begin(two)
        sweep.finish(two, 0.3)
        sweep.end()
        expect(page.locator(".headline")).to_contain_text("2 finished, 1 failed")
        expect(page.locator(".chart-regret path.band")).to_have_count(1)
        expect(page.locator(".learners tbody tr").nth(1)).to_contain_text("400")
        page.locator("#legend button[data-key='uob-reps']").click()
        expect(page.locator(".chart-regret svg")).to_contain_text("everything is hidden")
    server.stop()


def test_hostile_names_are_text(browser: Browser, tmp_path: Path) -> None:
    runs = [spec("uniform", 0), spec("uniform", 1), spec("exp3-ix")]
    store = tmp_path / f"store {NASTY[:5]}".replace("/", "")
    sweep = MadeUpSweep(store, runs)
    for run in runs:
        sweep.begin(run)
        sweep.finish(run, 0.1)
        folder = sweep.store.path / "runs" / run.id
        content = manifest.read(folder)
        suffix = "__proto__" if run is runs[2] else NASTY
        content |= dict.fromkeys(("learner", "mdp", "losses"), suffix)
        manifest.write(folder, content)
    sweep.end()
    with (
        served([store], services={NASTY: am.Service(am.Exp3IX(LAYOUT, n_episodes=9))}) as server,
        looked_at(browser, server.address) as page,
    ):
        expect(page.locator(".card strong", has_text="onerror")).to_have_count(1)
        page.locator(".card").first.click()
        expect(page.locator("#cell option")).to_have_count(2)
        for option in page.locator("#cell option").all():
            page.select_option("#cell", option.get_attribute("value"))
            expect(page.locator(".learners tbody tr")).to_have_count(1)
        assert page.locator("main img, main script").count() == 0
        page.goto(server.address)
        page.locator(".card", has_text="onerror").last.click()
        expect(page.locator("h1", has_text="<script>alert(2)</script>")).to_have_count(1)
        expect(page.locator(".graph text", has_text="<img src=x")).to_have_count(1)
        assert page.locator("main img, main script").count() == 0


def test_every_view_on_a_phone_in_the_dark(browser: Browser, tmp_path: Path) -> None:
    store = Store(tmp_path / "empty", create=True)
    service = am.Service(am.UOBREPS(LAYOUT, n_episodes=2000))
    with served([store.path, tmp_path / "gone"], services={"pump": service}) as server:
        served_episodes(service, 150)
        service.begin()
        options: Any = {"viewport": PHONE, "color_scheme": "dark"}
        with looked_at(browser, server.address, **options) as page:
            expect(page.locator(".card")).to_have_count(4)
            expect(page.locator(".problem")).to_contain_text("is not a store")
            assert luminance(page) < 0.2
        with looked_at(browser, f"{server.address}#/store/0", **options) as page:
            expect(page.locator(".empty")).to_contain_text("No run has begun")
        with looked_at(browser, f"{server.address}#/service/pump", **options) as page:
            expect(page.locator(".figure").first).to_contain_text("150")
            expect(page.locator(".ticket")).to_have_text(["151"])
            expect(page.locator("figure > svg")).to_have_count(3)
            expect(page.locator(".change")).to_contain_text("Since the server began")
            served_episodes(service, 50, seed=1)
            expect(page.locator(".figure").first).to_contain_text("200")
            expect(page.locator(".graph path.flow").first).to_be_attached()
        with looked_at(browser, f"{server.address}#/play", **options) as page:
            expect(page.locator("#go")).to_be_visible()


def test_a_token_is_asked_for_once(browser: Browser, tmp_path: Path) -> None:
    store = Store(tmp_path / "store", create=True)
    server = Served(0, page_app([store.path], token="sesame"))
    with looked_at(browser, server.address, "401") as page:
        page.fill("#token", "wrong")
        page.keyboard.press("Enter")
        expect(page.locator(".problem")).to_have_text("that is not the token")
        page.fill("#token", "sesame")
        page.keyboard.press("Enter")
        expect(page.locator(".card").first).to_contain_text("no runs")
        assert "sesame" not in page.url
        port = server.port
        server.stop()
        server = Served(port, page_app([store.path], token="sesame"))
        page.reload()
        expect(page.locator(".card").first).to_contain_text("no runs")
    server.stop()


def test_a_run_of_the_playground_is_that_of_play(browser: Browser) -> None:
    chosen = {"layers": [3, 3], "actions": 2, "losses": "majority", "episodes": 600, "seed": 5}
    chosen |= {"learners": ["uob-reps", "uniform"], "practical": True}
    with served([]) as server, looked_at(browser, f"{server.address}#/play", "400") as page:
        page.locator(".sizes button").first.click()  # one layer less
        page.fill("#actions", "2")
        page.fill("#episodes", "600")
        page.fill("#seed", "99999999999")
        page.evaluate("document.querySelector('form').noValidate = true")
        page.click("#go")
        expect(page.locator(".problem")).to_contain_text("seed")
        page.fill("#seed", "5")
        page.click("#go")
        expect(page.locator(".stage")).to_have_attribute("data-status", "done", timeout=60_000)
        page.select_option(".controls select", "6")
        slider = page.locator("input[type=range]")
        slider.evaluate("s => { s.value = s.max; s.dispatchEvent(new Event('input')); }")
        for run in runs_of(checked_request(chosen)):
            made = build(run.spec)
            played = am.play(made.mdp, made.losses, made.learner, 600, made.seed)
            told = page.evaluate(f"view.state.learners['{run.name}'].regret")
            assert told == played.regret[-1]
            line = page.locator(f".explain li[data-learner='{run.name}']")
            expect(line).to_contain_text("After 600 episodes")
            drawn = (
                page.locator(f".regret path.line[data-key='{run.name}']").get_attribute("d") or ""
            )
            assert drawn.count("L") == len(run.spec.checkpoints)  # type: ignore[arg-type]
        page.locator(".tabs button", has_text="best fixed policy").click()
        best = page.evaluate("view.bestPolicy()")
        shown = page.locator(".graph .state").first.locator("text.end").nth(1)
        expect(shown).to_have_text(f"{100 * best[0]:.0f}%")
        page.click("#present")
        expect(page.locator("form.choices")).to_be_hidden()
        page.click("#present")
        expect(page.locator("details pre")).to_contain_text("advmdp run uob-reps --layers 1,3,3,1")


def test_a_run_of_the_playground_can_be_ended(browser: Browser) -> None:
    with served([]) as server, looked_at(browser, f"{server.address}#/play") as page:
        page.fill("#episodes", "50000")
        page.click("#go")
        page.click("#halt")
        expect(page.locator("#halt")).to_be_disabled()
        page.wait_for_function("['stopped', 'done'].includes(view.now?.status)")
