"""The documentation as a site: it builds, loads nothing from elsewhere, and fits a phone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.reports.browser import launched

ROOT = Path(__file__).parents[1]
PAGES = (
    "",
    "tutorial/",
    "which_learner/",
    "learners/",
    "learners/uob-reps/",
    "api/world/",
    "watch/",
)
CONTRASTS = """() => {
  const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
  const over = ([r, g, b, a = 1], below) => [r, g, b].map((v, i) => a * v + (1 - a) * below[i]);
  const light = (rgb) => rgb.map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + [0.2126, 0.7152, 0.0722][i] * v, 0);
  const ground = (node) => (node === null ? [255, 255, 255]
    : over(numbers(getComputedStyle(node).backgroundColor), ground(node.parentElement)));
  const walk = document.createTreeWalker(document.querySelector("article"), NodeFilter.SHOW_TEXT);
  const faint = [];
  while (walk.nextNode()) {
    const within = walk.currentNode.parentElement, style = getComputedStyle(within);
    const hidden = style.visibility !== "visible" || !within.getClientRects().length;
    if (!walk.currentNode.textContent.trim() || hidden) continue;
    if (within.closest("svg, .headerlink")) continue;  // links beside headings wait for the pointer
    const below = ground(within);
    const [one, other] = [light(below), light(over(numbers(style.color), below))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast < 4.5) faint.push(`${walk.currentNode.textContent} ${contrast.toFixed(2)}`);
  }
  return faint;
}"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, built without a warning."""
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    return folder


def test_pages_hold_what_they_should(site: Path) -> None:
    learner = (site / "learners" / "uob-reps" / "index.html").read_text()
    assert "UOBREPS" in learner
    assert "eta_scale" in learner
    assert 'class="gp"' in learner  # prompts, which the copy button leaves out
    concepts = (site / "concepts" / "index.html").read_text()
    assert concepts.count('<div class="formula"><div><svg role="img"') == 5
    assert "```math" not in concepts
    for page in site.rglob("*.html"):  # nothing is loaded from elsewhere
        assert not re.search(r'(src|href)="(https?:)?//[^"]+\.(js|css|woff2?)"', page.read_text())
    assert not [*site.rglob("*.py"), *site.rglob("*.pyc")]
    for example in (ROOT / "examples" / "pictures").glob("*.png"):
        assert (site / "gallery" / "pictures" / example.name).is_file()


class Quiet(SimpleHTTPRequestHandler):
    """A server that writes no log."""

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from launched()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_can_be_read_on_a_phone(browser: Browser, address: str, scheme: Any) -> None:
    viewport: Any = {"width": 390, "height": 844}
    context = browser.new_context(viewport=viewport, color_scheme=scheme)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    for name in PAGES:
        page.goto(address + name)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
        assert page.evaluate(CONTRASTS) == [], name
        assert page.locator(".headerlink:visible").count() == 0, name  # a line for nothing
    page.goto(address + "which_learner/")
    wide = page.locator(".md-typeset__scrollwrap").first  # goes on behind the edge, and says so
    assert wide.evaluate("(box) => box.scrollWidth > box.clientWidth")
    assert wide.evaluate("(box) => getComputedStyle(box).backgroundImage").count("gradient") == 4
    assert complaints == []
    context.close()
