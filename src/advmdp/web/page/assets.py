"""The files of the page: its own, and those that it shares with the reports."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import NamedTuple

from advmdp.reports.html.self_contained import ASSETS as REPORT_ASSETS
from advmdp.reports.html.self_contained import CHART_SCRIPTS, package_text

OWN = "advmdp.web.page.static"
SHARED = ("page.css", *CHART_SCRIPTS)
OWN_FILES = (
    *("live.css", "stream.js", "graph.js", "sweep.js", "service.js"),
    *("choices.js", "playground.js", "live.js"),
    "icon.svg",
)
TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml", "html": "text/html"}


class Asset(NamedTuple):
    """A file as it is sent."""

    text: bytes
    kind: str
    tag: str
    """Changes with the contents: what a browser asks with whether its copy is still good."""


@cache
def asset(name: str) -> Asset | None:
    """The file of that name, of a fixed list; None if it is not on it."""
    if name not in (*SHARED, *OWN_FILES, "index.html"):
        return None
    package = REPORT_ASSETS if name in SHARED else OWN
    text = package_text(package, name).encode()
    kind = TYPES[name.rpartition(".")[2]]
    return Asset(text, f"{kind}; charset=utf-8", f'"{hashlib.sha256(text).hexdigest()[:16]}"')
