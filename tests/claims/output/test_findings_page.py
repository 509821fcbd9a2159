"""The page of the claims in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from advmdp.claims.output.findings_page import findings_page, write_page
from advmdp.errors import InvalidInput
from advmdp.plain_text import plain_text
from advmdp.reports.figures.panels import Panel, Series
from tests.claims.fake_claims import finding
from tests.claims.test_verify import VERDICTS
from tests.reports.browser import launched, opened

NASTY = "</script><script>alert(1)</script><b>$x & \u2028"
HOW = {"command": "advmdp verify --store here", "store": "here"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from launched()


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    findings = {name: finding(verdict, f"Claim {name}") for name, verdict in VERDICTS.items()}
    yield from opened(browser, write_page(findings, tmp_path / "verify.html", **HOW))


def test_a_row_and_a_section_for_every_claim(page: Page) -> None:
    expect(page.locator("#summary")).to_contain_text("4 claims: 1 hold, 2 fail, 1 vacuous")
    expect(page.locator("#command")).to_have_text("advmdp verify --store here")
    rows = page.locator("#overview tbody tr")
    assert rows.locator(".verdict").all_text_contents() == list(VERDICTS.values())
    rows.nth(2).locator("a").click()
    assert page.url.endswith("#third")
    section = page.locator("section#third")
    expect(section.locator("h2")).to_contain_text("Claim third")
    expect(section).to_contain_text("advmdp verify --claim third")
    for name in ("checked", "instances", "measured", "bound", "margin", "error rate"):
        expect(section.locator("dt", has_text=name).first).to_be_visible()
    assert page.locator("figure > svg").count() == len(VERDICTS)


def test_numbers_and_runs_unfold(page: Page) -> None:
    section = page.locator("section#first")
    section.locator("summary", has_text="Numbers").click()
    numbers = json.loads(section.locator("pre").first.text_content() or "")
    assert numbers["slope"]["estimate"] == 0.5
    section.locator("summary", has_text="Runs behind it: 2").click()
    expect(section).to_contain_text("advmdp show run-1 --store here")
    assert section.locator(".ids div").all_text_contents() == ["run-1", "run-2"]


def test_keys_hide_and_axes_switch(page: Page) -> None:
    section = page.locator("section#first")
    drawn = section.locator("figure path.line")
    assert drawn.evaluate_all("lines => lines.map(l => l.dataset.key)") == ["uob-reps", "bound"]
    key = section.locator(".keys button[data-key='bound']")
    expect(key).to_have_text("the bound")
    key.click()
    assert drawn.evaluate_all("lines => lines.map(l => l.dataset.key)") == ["uob-reps"]
    section.get_by_role("button", name="log y").click()
    assert drawn.count() == 1  # a switch of the axes keeps what is hidden
    key.click()
    assert drawn.count() == 2
    section.locator("rect.area").hover()
    expect(section.locator(".tip")).to_contain_text("T (episodes): ")


def test_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 375, "height": 800})
    expect(page.locator(".sign")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 375


def test_a_narrow_logarithmic_axis_has_ticks(browser: Browser, tmp_path: Path) -> None:
    flat = Series("uob-reps", "UOB-REPS", np.array([11.0, 12.0]), np.array([110.0, 140.0]))
    panel = Panel("Narrow", "|X|", "regret", (flat,), x_log=True, y_log=True)
    found = {"x": replace(finding(), panels=(panel,))}
    for page in opened(browser, write_page(found, tmp_path / "narrow.html", **HOW)):
        assert page.locator("figure svg text").count() >= 6


def test_texts_are_never_markup(browser: Browser, tmp_path: Path) -> None:
    found = {"x": finding(statement=NASTY, measured=NASTY, runs=(NASTY,), data={NASTY: NASTY})}
    path = write_page(found, tmp_path / "nasty.html", command=NASTY, store=NASTY)
    for page in opened(browser, path):
        assert plain_text(NASTY) in (page.locator("#x h2").text_content() or "")
        page.locator("#x summary").nth(1).click()
        assert page.locator("#claims b").count() == 0


def test_the_same_findings_give_the_same_page_and_bad_paths_are_refused(tmp_path: Path) -> None:
    found = {"x": finding()}
    assert findings_page(found, **HOW) == findings_page(found, **HOW)
    with pytest.raises(InvalidInput, match=r"should end in \.html"):
        write_page(found, tmp_path / "page.txt", **HOW)
