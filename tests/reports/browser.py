"""A real browser for tests, without a window and without a network."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def launched() -> Iterator[Browser]:
    """A browser, closed afterwards."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_path(), args=list(ARGUMENTS))
        yield browser
        browser.close()


def opened(browser: Browser, path: Path) -> Iterator[Page]:
    """The page in a file; afterwards, whether it complained or requested anything but itself."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    page.on("request", lambda request: requests.append(request.url.partition("#")[0]))
    page.goto(path.as_uri())
    yield page
    page.close()
    assert complaints == []
    assert {url for url in requests if not url.startswith("data:")} == {path.as_uri()}


def browser_path() -> str:
    """An installed Chromium; without one a test fails, for a page nobody opened is untested."""
    found = os.environ.get("ADVMDP_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.fail(
            "no browser to open the report with: install Chromium (for instance with "
            "'apt-get install chromium', or 'python -m playwright install chromium'), and set "
            "ADVMDP_BROWSER to its executable if it is not on the path"
        )
    return found
