"""Web pages that contain their data, style and script and load nothing else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.plain_text import plain_lines, plain_text
from advmdp.reports.figures.forests import Forest
from advmdp.reports.figures.line_styles import COLOURS, COLOURS_ON_DARK, DASHES
from advmdp.reports.figures.panels import Panel, Series

ASSETS = "advmdp.reports.html"
"""The package that holds the style and the scripts that pages share."""
CHART_SCRIPTS = ("chart.js", "export.js", "sideways.js")
"""What pages with charts and tables need."""
PALETTES = {"colours": COLOURS, "colours_on_dark": COLOURS_ON_DARK, "dashes": DASHES}
DIGITS = 6  # significant digits of the numbers in a page: more than a screen can show


def self_contained(title: str, data: Any, *, body: str, style: str, script: str) -> str:
    """The text of a page; ``data`` becomes the JSON content of the element with the id "data"."""
    title = plain_text(title)
    text = json.dumps(_plain(data), allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    return Template(package_text(ASSETS, "shell.html")).substitute(
        title=escape(title),
        body=Template(body).substitute(title=escape(title)),
        style=style,
        script=script,
        data=text.replace("<", "\\u003c"),  # so that no label can close the script element
    )


def _plain(data: Any) -> Any:
    """The data with all texts, names of columns and keys as signs."""
    if isinstance(data, str):
        return plain_lines(data)
    if isinstance(data, dict):
        return {_plain(key): _plain(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_plain(value) for value in data]
    if isinstance(data, tuple):
        return tuple(_plain(value) for value in data)
    return data


def package_text(package: str, name: str) -> str:
    """The text of a file that belongs to a package."""
    return (files(package) / name).read_text("utf-8")


def panel_data(panels: Sequence[Panel]) -> list[dict[str, Any]]:
    """Panels in the form that ``chart.js`` expects."""
    return [{**vars(panel), "series": [_series(s) for s in panel.series]} for panel in panels]


def forest_data(forest: Forest) -> dict[str, Any]:
    """A forest in the form that ``forest.js`` expects."""
    rows = []
    for row in forest.rows:
        estimate, low, high = _numbers(np.array(row.interval[:3]))
        names: dict[str, Any] = {"learner": row.learner, "group": row.group, "marked": row.marked}
        interval = {"estimate": estimate, "low": low, "high": high, "n": row.interval.n}
        rows.append(names | interval | {"p_value": row.p_value, "adjusted": row.adjusted})
    return {**vars(forest), "rows": rows}


def _series(series: Series) -> dict[str, Any]:
    arrays = {
        name: None if values is None else _numbers(values)
        for name in ("x", "y", "low", "high")
        for values in (getattr(series, name),)
    }
    return {"key": series.key, "label": series.label, "dots": series.dots, **arrays}


def _numbers(values: NDArray[np.float64]) -> list[float | None]:
    """Rounded numbers, null for NaN; whole numbers become integers."""
    return [
        None
        if value != value
        else int(value)
        if value == int(value)
        else float(f"{value:.{DIGITS}g}")
        for value in values.tolist()
    ]
