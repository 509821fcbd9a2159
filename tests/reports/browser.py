"""A real browser for tests, without a window and without a network."""

from __future__ import annotations

import os
import shutil

import pytest

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
