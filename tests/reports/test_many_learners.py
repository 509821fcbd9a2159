"""The report with more learners than one chart can show, in a browser, and figures of them."""

from __future__ import annotations

import csv
import io
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from playwright.sync_api import Browser, Page, expect

from advmdp.errors import InvalidInput
from advmdp.evaluation.reward_run import EnvironmentRun
from advmdp.learners.catalogue import BUILT_IN
from advmdp.reports.cells import cells_of
from advmdp.reports.figures.cell_panels import regret_panels
from advmdp.reports.figures.figure_look import FigureLook
from advmdp.reports.figures.forests import baseline_forest, ranking_forest
from advmdp.reports.figures.line_styles import styles_of
from advmdp.reports.figures.panels import Panel, Series
from advmdp.reports.figures.paper_figure import CUT_OFF, paper_figure, write_figure
from advmdp.reports.html.report_page import report_page, write_report
from advmdp.reports.results import Results
from advmdp.reports.reward_report import write_reward_report
from advmdp.reports.settings import Setting, by_setting, setting_of
from tests.reports.browser import launched, opened
from tests.reports.frames import made_up_results

MANY = {name: (1.0 + i, 0.5) for i, name in enumerate((*list(BUILT_IN)[:17], "mine:Own@12345678"))}
RESULTS = made_up_results(MANY, [100, 400], 7)
SMALLEST_TEXT = """() => {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), sizes = [];
  while (walk.nextNode()) {
    const within = walk.currentNode.parentElement, drawing = within.closest("svg");
    if (!walk.currentNode.textContent.trim() || !within.getClientRects().length) continue;
    const box = drawing && drawing.viewBox.baseVal;
    const scale = box ? drawing.getBoundingClientRect().width / box.width : 1;
    sizes.push(scale * parseFloat(getComputedStyle(within).fontSize));
  }
  return Math.min(...sizes);
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from launched()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    return write_report(RESULTS, folder / "many.html", baseline="uc-o-reps")


@pytest.fixture
def page(browser: Browser, report: Path) -> Iterator[Page]:
    yield from opened(browser, report)


def test_a_small_chart_for_each_under_what_it_knows(page: Page) -> None:
    expect(page.locator("#cell option").first).to_contain_text("T = 400")  # the longest first
    page.click("#tab-regret")
    charts = page.locator("#regret .small")
    assert charts.count() == 18
    places = [chart.bounding_box() or {} for chart in charts.all()]
    assert len({place["x"] for place in places}) >= 4  # beside each other, over the whole width
    headings = page.locator("#regret h3").all_text_contents()
    assert headings == [setting.words for setting in by_setting(MANY)]
    for chart, name in zip(
        charts.all(), page.locator("#regret h4").all_text_contents(), strict=True
    ):
        own = chart.locator("path.line:not(.ghost)")
        assert own.count() == 1
        assert own.get_attribute("data-key") == name
        assert chart.locator("path.band").count() == 1
        assert chart.locator("path.ghost").count() == 17
    page.get_by_role("button", name="together").click()
    expect(page.locator("#regret figure > svg path.line")).to_have_count(18)


def test_the_longest_runs_open_the_page(browser: Browser, tmp_path: Path) -> None:
    """Of all worlds; the others of their world follow, and then the next one."""
    parts = [
        made_up_results({"fpl": (1.0, 0.5)}, lengths, 3, mdps=[mdp])
        for mdp, lengths in (("a world", [200]), ("one more", [100, 400]))
    ]
    both = Results(
        pl.concat([part.runs for part in parts]), pl.concat([part.curves for part in parts])
    )
    path = write_report(both, tmp_path / "two.html")
    for page in opened(browser, path):
        cells = page.locator("#cell option").all_text_contents()
        assert [(cell[0], cell.rpartition(" ")[2]) for cell in cells] == [
            ("o", "400"),
            ("o", "100"),
            ("a", "200"),
        ]


def test_no_axis_has_one_or_two_numbers(page: Page) -> None:
    """Of all ranges, in drawings of all sizes: -1,900 to 1,400 in a small one had a zero alone."""
    ranges = [
        [-1900, 1400, 2.6],
        *(
            [low, low + 10 ** (k / 7), n]
            for low in (-3.3, -0.2, 0, 17)
            for k in range(-14, 40)
            for n in (2, 2.6, 7)
        ),
    ]
    ticks = page.evaluate("(ranges) => ranges.map((one) => roundTicks(...one))", ranges)
    for (low, high, _), found in zip(ranges, ticks, strict=True):
        assert 3 <= len(found) <= 15
        assert min(found) >= low - 1e-6 * (high - low)
        assert max(found) <= high + 1e-6 * (high - low)


def test_bands_that_are_cut_at_the_edge_are_mentioned(browser: Browser, tmp_path: Path) -> None:
    for spread, said in ((0.02, False), (5.0, True)):
        made_up = made_up_results({"uob-reps": (1.0, 0.5)}, [100], 3, common=spread)
        path = write_report(made_up, tmp_path / f"{said}.html")
        for page in opened(browser, path):
            page.click("#tab-regret")
            note = page.locator("#regret figcaption").inner_text()
            assert ("go on beyond it" in note) == said, spread


def test_wide_bands_of_a_few_wait_for_the_pointer_too(browser: Browser, tmp_path: Path) -> None:
    """Five that fill the chart would be one grey ground; five narrow ones tell the lines apart."""
    laws = {name: (1.0 + i / 10, 0.5) for i, name in enumerate(list(BUILT_IN)[:5])}
    for spread, opacity in ((0.02, "0.14"), (5.0, "0")):
        path = write_report(made_up_results(laws, [100], 3, common=spread), tmp_path / "five.html")
        for page in opened(browser, path):
            page.click("#tab-regret")
            bands = page.locator("#regret path.band")
            expect(bands).to_have_count(5)
            expect(bands.first).to_have_css("opacity", opacity)
            note = page.locator("#regret figcaption").inner_text()
            assert ("where the pointer rests" in note) == (opacity == "0")


def test_the_legend_of_eighteen_is_whole(page: Page) -> None:
    page.locator("#tab-realised").click()  # a row more: the best fixed policy
    assert page.evaluate("at('legend').scrollHeight <= at('legend').clientHeight")


def test_the_tooltip_leaves_nobody_out(page: Page) -> None:
    page.click("#tab-regret")
    page.get_by_role("button", name="together").click()
    page.locator("#regret rect.area").hover()
    tip = page.locator("#regret .tip")
    for learner in MANY:
        expect(tip).to_contain_text(learner)


def test_bands_of_many_wait_for_the_pointer(page: Page) -> None:
    page.click("#tab-regret")
    page.get_by_role("button", name="together").click()
    band = page.locator("#regret path.band[data-key='fpop']")
    expect(band).to_have_css("opacity", "0")  # waits: a chart is drawn anew after the click
    page.locator("#legend button[data-key='fpop']").hover()
    expect(band).to_have_css("opacity", re.compile(r"0\.[1-9]"))
    expect(page.locator("#regret path.band[data-key='uob-reps']")).to_have_css("opacity", "0")


def test_one_row_for_each_against_the_chosen_one(page: Page) -> None:
    page.click("#tab-comparisons")
    (_, cell) = cells_of(RESULTS)
    for baseline in ("uc-o-reps", "fpl"):  # the one of the call; then a reader's choice
        page.select_option("#baseline", baseline)
        expect(page.locator("#comparisons tbody tr")).to_have_count(17)
        # Seven replicates, all with the same sign: p = 2/2^7 is adjusted to itself, hence filled.
        expected = sum(row.marked for row in baseline_forest(cell, baseline).rows)
        assert expected > 10
        expect(page.locator("#comparisons circle.dot:not(.open)")).to_have_count(expected)
        expect(page.locator("#comparisons td", has_text="significant")).to_have_count(expected)
    expect(page.locator("#comparisons figure")).to_contain_text("regret minus that of fpl")


def test_terms_are_explained_where_the_pointer_rests(page: Page) -> None:
    page.locator("#overview th", has_text="told").first.hover()
    expect(page.locator("#hint")).to_contain_text("full information")
    page.locator("h1").hover()
    expect(page.locator("#hint")).to_be_hidden()


def test_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 375, "height": 800})
    assert page.evaluate("at('legend').scrollHeight <= at('legend').clientHeight")  # all is seen
    for tab in ("overview", "regret", "rate", "terms", "epochs", "realised", "comparisons"):
        page.locator(f"#tab-{tab}").click()
        page.wait_for_function(
            "() => [...document.querySelectorAll('section:not([hidden]) svg')]"
            ".every((one) => one.getBoundingClientRect().width <= 375)"
        )
        page.wait_for_function(f"() => ({SMALLEST_TEXT})() >= 12")
        assert page.evaluate("document.documentElement.scrollWidth") <= 375
    for tab in ("specs", "overview"):
        page.evaluate(f"choose(0, '{tab}')")  # as if the address had named it
        box = page.locator(f"#tab-{tab}").bounding_box()
        assert 0 <= box["x"] <= 375 - box["width"]
    expect(page.locator("#overview .sign").first).to_be_visible()
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(page.locator("#overview .sign").first).to_be_hidden()


def test_a_page_of_rewards_on_a_phone(browser: Browser, tmp_path: Path) -> None:
    run = EnvironmentRun(np.arange(40) / 40, np.full(40, 7), seconds=2.0)
    path = write_reward_report({"a learner of a long name": [run, run]}, tmp_path / "r.html")
    for page in opened(browser, path):
        page.set_viewport_size({"width": 375, "height": 800})
        expect(page.locator(".sign")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 375


def test_a_page_of_many_rewards(browser: Browser, tmp_path: Path) -> None:
    run = EnvironmentRun(np.arange(40) / 40, np.full(40, 7), seconds=2.0)
    path = write_reward_report(dict.fromkeys(MANY, run), tmp_path / "r.html")
    for page in opened(browser, path):
        keys = [key.bounding_box() or {} for key in page.locator("#legend button").all()]
        assert len({key["y"] for key in keys}) < len(keys) / 3  # several in a line
        assert page.evaluate("at('legend').scrollHeight <= at('legend').clientHeight")
        expect(page.locator("#charts .small")).to_have_count(2 * len(MANY))
        page.locator("#legend button").first.click()
        expect(page.locator("#charts .small")).to_have_count(2 * len(MANY) - 2)


def test_downloads_hold_what_is_shown(page: Page) -> None:
    page.click("#tab-comparisons")
    (_, cell) = cells_of(RESULTS)
    with page.expect_download() as pending:
        page.locator("#comparisons figure").get_by_role("button", name="CSV").click()
    rows = list(csv.reader(io.StringIO(pending.value.path().read_text("utf-8"))))
    forest = baseline_forest(cell, "uc-o-reps")
    assert [row[0] for row in rows[1:]] == [row.learner for row in forest.rows]
    for row, written in zip(forest.rows, rows[1:], strict=True):
        assert float(written[2]) == pytest.approx(row.interval.estimate, rel=1e-5)
    page.click("#tab-regret")
    with page.expect_download() as pending:
        page.locator("#regret figure").get_by_role("button", name="SVG").click()
    drawing = ElementTree.fromstring(pending.value.path().read_text("utf-8"))
    assert drawing.tag.endswith("svg")
    inner = [one for one in drawing if one.tag.endswith("svg")]
    assert len(inner) == 18
    lines = [one for one in drawing.iter() if one.get("data-key") == "fpop" and one.get("stroke")]
    assert any(one.get("stroke", "").startswith("rgb") for one in lines)  # needs no style sheet


def test_settings_are_those_of_the_catalogue() -> None:
    for name, maker in BUILT_IN.items():
        setting = setting_of(f"{name} eta_scale=2")
        assert ("known P" in setting.words.split(", ")) == maker.knows_transition
        assert ("all losses" in setting.words) == ("full information" in maker.setting)
    assert setting_of("mine:Own@12345678") is Setting.UNSAID


def test_a_ranking_says_what_each_is_told() -> None:
    (_, cell) = cells_of(RESULTS)
    forest = ranking_forest(cell)
    assert {row.learner: row.group for row in forest.rows} == {
        name: setting_of(name).words for name in MANY
    }
    for group in {row.group for row in forest.rows}:
        values = [row.interval.estimate for row in forest.rows if row.group == group]
        assert values == sorted(values)
    with pytest.raises(InvalidInput, match=r"baseline: no learner 'x'; there are"):
        report_page(RESULTS, baseline="x")


@pytest.mark.parametrize("kind", ["ranking", "comparisons"])
def test_forests_for_papers(kind: str, tmp_path: Path) -> None:
    path = write_figure(RESULTS, kind, tmp_path / "f.svg", n_episodes=400, learners=["o-reps"])
    assert path.read_text("utf-8").startswith("<?xml")
    with pytest.raises(InvalidInput, match="no learner 'x' in this figure"):
        write_figure(RESULTS, kind, tmp_path / "f.svg", n_episodes=400, learners=["x"])


def test_size_axes_and_labels(caplog: pytest.LogCaptureFixture) -> None:
    (_, cell) = cells_of(RESULTS)
    look = FigureLook(5.0, 1.5, "log", "log", "games", "lost", titles=False)
    with caplog.at_level(logging.WARNING):
        figure = paper_figure(regret_panels(cell), styles_of(list(MANY)), look)
    assert "bands of 18 learners" in caplog.text
    (axes,) = figure.axes
    assert figure.get_size_inches()[0] == 5.0
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_title(loc="left")) == (
        "games",
        "lost",
        "",
    )
    assert all(line.get_xdata()[0] > 0 for line in axes.lines)  # the origin has no logarithm
    divided = paper_figure(regret_panels(cell), styles_of(list(MANY)), FigureLook(by_setting=True))
    assert len(divided.axes) == len(by_setting(MANY))
    assert sum(len(axes.lines) for axes in divided.axes) == 18
    with pytest.raises(InvalidInput, match="height: 0 is not from 1 to 40"):
        FigureLook(height=0)


def test_what_a_logarithmic_axis_cannot_show_is_marked() -> None:
    x, y = np.array([0.0, 1.0, 2.0, 3.0, 4.0]), np.array([0.0, 3.0, 2.0, -1.0, 5.0])
    low = np.array([0.0, 1.0, -2.0, -4.0, 1.0])
    series = Series("uob-reps", "uob-reps", x, y, low, y + 1.0)
    assert series.below_zero.tolist() == [2.0, 3.0]  # the origin of a curve is no surprise
    for y_log in (True, False):
        panel = Panel("Regret", "episodes", "regret", (series,), y_log=y_log)
        figure = paper_figure([panel], styles_of(["uob-reps"]))
        marks = [line for line in figure.axes[0].lines if line.get_marker() == "v"]
        assert [mark.get_xdata().tolist() for mark in marks] == ([[2.0, 3.0]] if y_log else [])
        texts = [text.get_text() for text in figure.legends[0].get_texts()]
        assert (CUT_OFF in texts) == y_log
