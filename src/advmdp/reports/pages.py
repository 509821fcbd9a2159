"""Pages that hold their data, their style and their script, and ask nobody for more."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.reports.panels import Panel, Series

DIGITS = 6  # of the numbers in the page: more than a screen can show


def self_contained(title: str, data: Any, *, body: str, style: str, script: str) -> str:
    """A whole page; ``data`` is JSON in the element of that id."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    return Template(part("advmdp.reports", "shell.html")).substitute(
        title=escape(title),
        body=Template(body).substitute(title=escape(title)),
        style=style,
        script=script,
        data=text.replace("<", "\\u003c"),  # no label can end the script element
    )


def part(package: str, name: str) -> str:
    """A file that lies beside the code of a package."""
    return (files(package) / name).read_text("utf-8")


def panel_data(panels: Sequence[Panel]) -> list[dict[str, Any]]:
    """Panels as ``chart.js`` takes them."""
    return [{**vars(panel), "series": [_series(s) for s in panel.series]} for panel in panels]


def _series(series: Series) -> dict[str, Any]:
    arrays = {
        name: None if values is None else _numbers(values)
        for name in ("x", "y", "low", "high")
        for values in (getattr(series, name),)
    }
    return {"key": series.key, "label": series.label, "dots": series.dots, **arrays}


def _numbers(values: NDArray[np.float64]) -> list[float | None]:
    """Rounded, with null for what is not a number; whole numbers without a point."""
    return [
        None
        if value != value
        else int(value)
        if value == int(value)
        else float(f"{value:.{DIGITS}g}")
        for value in values.tolist()
    ]
