"""The report in a real browser: what is drawn, what clicks do, and that it asks for no more."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from advmdp.errors import InvalidInput, StorageFailure
from advmdp.plain_text import plain_text
from advmdp.reports.html.report_page import report_page, write_report
from advmdp.reports.results import Results
from tests.reports.browser import launched, opened
from tests.reports.frames import LAWS, changed, in_rewards, made_up_results

NASTY = "</script><script>alert(1)</script><b>$x & \u2028"
TABS = ("overview", "regret", "rate", "terms", "epochs", "realised", "comparisons", "specs")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from launched()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = made_up_results(mdps=("grid", "river"), n_replicates=4)
    results = changed(results, 24, status="failed")  # of the longest
    return write_report(results, tmp_path_factory.mktemp("report") / "report.html", "Made up")


@pytest.fixture
def page(browser: Browser, report: Path) -> Iterator[Page]:
    yield from opened(browser, report)


def shown_keys(page: Page, tab: str) -> set[str]:
    """Keys of the lines drawn in the charts of a tab."""
    lines = page.locator(f"#{tab} figure > svg path.line")
    return set(lines.evaluate_all("lines => lines.map(line => line.dataset.key)"))


def test_every_tab_shows_something_when_clicked(page: Page) -> None:
    expect(page.locator("h1")).to_have_text("Made up")
    expect(page.locator("#counts")).to_contain_text("71 finished runs (1 failed: not in any")
    for tab, least_charts in zip(TABS, (0, 1, 1, 1, 2, 2, 0, 0), strict=True):
        assert page.locator(f"#{tab}").inner_html() == "" or tab == "overview"  # drawn when seen
        page.click(f"#tab-{tab}")
        expect(page.locator(f"#tab-{tab}")).to_have_attribute("aria-selected", "true")
        expect(page.locator("section:visible")).to_have_count(1)
        charts = page.locator(f"#{tab} figure > svg")
        assert charts.count() >= least_charts
        for chart in charts.all():
            assert chart.bounding_box()["width"] > 300
            assert chart.locator("path.line, circle.dot").count() > 0
            assert chart.locator("text").count() > 6


def test_lines_are_where_the_numbers_are(page: Page) -> None:
    page.click("#tab-regret")
    data = json.loads(page.locator("#data").text_content() or "")
    series = data["cells"][0]["panels"]["regret"][0]["series"]
    for one in series:
        path = page.locator(f"#regret path.line[data-key='{one['key']}']").first
        points = re.findall(r"[\d.]+ [\d.]+", path.get_attribute("d") or "")
        assert len(points) == len(one["x"])
        heights = [float(point.split()[1]) for point in points]
        # Linear axes: drawn heights are an affine function of the regret, zero at the bottom.
        scale = (heights[0] - heights[-1]) / one["y"][-1]
        for height, value in zip(heights, one["y"], strict=True):
            assert heights[0] - height == pytest.approx(scale * value, abs=0.11)
    assert shown_keys(page, "regret") == set(LAWS)
    assert page.locator("#regret path.band").count() == len(LAWS)


def test_a_legend_click_hides_a_learner_everywhere(page: Page) -> None:
    page.click("#tab-regret")
    entry = page.locator("#legend button[data-key='uniform']")
    entry.click()
    expect(entry).to_have_attribute("aria-pressed", "false")
    assert shown_keys(page, "regret") == set(LAWS) - {"uniform"}
    page.click("#tab-comparisons")
    expect(page.locator("#comparisons tbody tr")).to_have_count(1)
    page.click("#tab-rate")
    assert shown_keys(page, "rate") == set(LAWS) - {"uniform"}
    page.locator("#legend button[data-key='uniform']").click()
    assert shown_keys(page, "rate") == set(LAWS)
    page.locator("#legend button[data-key='exp3-ix']").dblclick()
    assert shown_keys(page, "rate") == {"exp3-ix"}
    page.locator("#legend button[data-key='exp3-ix']").dblclick()
    assert shown_keys(page, "rate") == set(LAWS)
    for learner in LAWS:
        page.locator(f"#legend button[data-key='{learner}']").click()
    expect(page.locator("#rate svg")).to_contain_text("everything is hidden")


def test_terms_have_a_legend_of_their_own(page: Page) -> None:
    page.click("#tab-terms")
    terms = {"regret", "ERROR", "BIAS1", "REG", "BIAS2"}
    assert shown_keys(page, "terms") == terms
    page.locator("#legend button[data-key='REG']").click()
    assert shown_keys(page, "terms") == terms - {"REG"}


def test_another_cell(page: Page) -> None:
    page.click("#tab-regret")
    before = page.locator("#regret path.line").first.get_attribute("d")
    page.select_option("#cell", label="river | majority period=100 | T = 16,000")
    assert page.locator("#regret path.line").first.get_attribute("d") != before
    expect(page.locator("#regret")).to_contain_text("After 16,000 episodes")
    page.click("#tab-overview")
    page.locator("tr.choice").first.click()
    expect(page.locator("#overview")).to_contain_text("After 16,000 episodes")  # the longest first
    assert page.url.endswith("#overview.0")
    page.reload()
    expect(page.locator("#tab-overview")).to_have_attribute("aria-selected", "true")


def test_columns_sort_as_numbers(page: Page) -> None:
    page.click("#tab-comparisons")
    column = page.locator("#comparisons th", has_text="difference")
    values = page.locator("#comparisons tbody td:nth-child(3)")  # the name is a heading
    column.click()
    up = [float(text.replace(",", "")) for text in values.all_text_contents()]
    assert up == sorted(up)
    column.click()
    assert [float(t.replace(",", "")) for t in values.all_text_contents()] == up[::-1]
    expect(column).to_have_attribute("aria-sort", "descending")


def test_hovering_reads_the_curves(page: Page) -> None:
    page.click("#tab-regret")
    page.locator("#regret rect.area").hover()
    tip = page.locator("#regret .tip")
    expect(tip).to_be_visible()
    expect(tip).to_contain_text("episodes")
    for learner in LAWS:
        expect(tip).to_contain_text(learner)
    page.locator("h1").hover()
    expect(tip).to_be_hidden()


def test_logarithmic_axes_can_be_switched(page: Page) -> None:
    page.click("#tab-regret")
    page.get_by_role("button", name="log y").click()
    page.get_by_role("button", name="log x").click()
    expect(page.get_by_role("button", name="log x")).to_have_attribute("aria-pressed", "true")
    path = page.locator("#regret path.line[data-key='uob-reps']").get_attribute("d") or ""
    points = [tuple(map(float, p.split())) for p in re.findall(r"[\d.]+ [\d.]+", path)]
    (x0, y0), (x1, y1), (x2, y2) = points[0], points[len(points) // 2], points[-1]
    assert (y1 - y0) / (x1 - x0) == pytest.approx((y2 - y0) / (x2 - x0), rel=0.01)  # a power law


def test_specs_are_readable(page: Page) -> None:
    page.click("#tab-specs")
    page.locator("#specs > div > details > summary").first.click()
    page.locator("#specs details details summary").first.click()
    spec = json.loads(page.locator("#specs pre").text_content() or "")
    assert spec["mdp"] == "grid"
    assert page.locator("#specs details details").count() == 12  # the failed one too
    expect(page.locator("#specs")).to_contain_text("failed")


def test_everything_is_drawn_before_printing(page: Page) -> None:
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    for tab in TABS:
        assert page.locator(f"#{tab}").is_visible()
    assert page.locator("figure > svg").count() == 9


def test_a_page_in_rewards(browser: Browser, tmp_path: Path) -> None:
    results = in_rewards(made_up_results(n_episodes=(100, 400), n_replicates=3), -1.0, 1.0, "EUR")
    for page in opened(browser, write_report(results, tmp_path / "rewards.html")):
        expect(page.locator("#overview")).to_contain_text("Rewards per episode")
        expect(page.locator("#cell")).to_contain_text("rewards from -1 to 1 EUR")
        for tab, label in (
            ("regret", "regret (EUR)"),
            ("rate", "regret (EUR)"),
            ("terms", "regret (EUR) and its terms"),
            ("realised", "reward per episode (EUR)"),
        ):
            page.click(f"#tab-{tab}")
            expect(page.locator(f"#{tab} figure > svg").first).to_contain_text(label)
        expect(page.locator("#realised table")).to_contain_text("best fixed policy")


def test_names_are_never_markup(browser: Browser, tmp_path: Path) -> None:
    results = made_up_results({NASTY: (1.0, 0.5)}, [100], 2, mdps=(NASTY,), losses=(NASTY,))
    path = write_report(results, tmp_path / "nasty.html", NASTY)
    for page in opened(browser, path):
        assert page.locator("h1").text_content() == plain_text(NASTY)
        for tab in TABS:
            page.click(f"#tab-{tab}")
        assert page.locator("b").count() == 0
        assert plain_text(NASTY) in page.locator("#legend button").all_text_contents()


def test_one_replicate_one_episode_and_negative_regret(browser: Browser, tmp_path: Path) -> None:
    results = made_up_results({"lucky": (-1.0, 0.5), "flat": (0.0, 1.0)}, [1, 5], 1)
    for page in opened(browser, write_report(results, tmp_path / "few.html")):
        for tab in TABS:
            page.click(f"#tab-{tab}")
        page.click("#tab-rate")
        expect(page.locator("#rate")).to_contain_text("no exponent")
        for cell in ("0", "1"):
            page.select_option("#cell", cell)
            page.click("#tab-regret")
            assert shown_keys(page, "regret") == {"lucky", "flat"}


def test_the_same_results_give_the_same_page() -> None:
    results = made_up_results(n_replicates=3)
    shuffled = Results(results.runs.reverse(), results.curves.reverse())
    assert report_page(results) == report_page(shuffled)


def test_refusals_and_replacement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = made_up_results(n_replicates=2)
    with pytest.raises(InvalidInput, match=r"should end in \.html"):
        write_report(results, tmp_path / "report.pdf")
    with pytest.raises(InvalidInput, match="cannot write"):
        write_report(results, "/proc/no-such-folder/report.html")
    path = write_report(results, tmp_path / "new" / "report.html")
    old = path.read_text("utf-8")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(StorageFailure, match="disk full"):
        write_report(results, path, "another")
    assert path.read_text("utf-8") == old
    assert list(path.parent.iterdir()) == [path]
