"""The HTML page of ``advmdp verify``: a table of all claims, then each with figures and runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import advmdp
from advmdp.claims.finding import Finding, Findings
from advmdp.claims.output.findings_json import as_data
from advmdp.claims.output.findings_table import summary_line, texts_of
from advmdp.claims.playing.run_grids import UOB_REPS
from advmdp.claims.references.regret_bounds import LOWER, UPPER
from advmdp.files.atomic import replacing
from advmdp.reports.figures.line_styles import Style, styles_of
from advmdp.reports.html.self_contained import (
    ASSETS,
    CHART_SCRIPTS,
    PALETTES,
    package_text,
    self_contained,
)
from advmdp.reports.output_path import checked_path

TITLE = "The paper's claims, measured"
INK_STYLES = {  # uniform play, bounds and limits
    "uniform": Style(-1, 3),
    "bound": Style(-1, 1),
    UPPER: Style(-1, 0),
    LOWER: Style(-1, 2),
}


def write_page(
    findings: Findings, path: str | os.PathLike[str], *, command: str, store: str
) -> Path:
    """Write the page and return its path.

    Parameters
    ----------
    command
        The command line that produced the findings; the page shows it.
    store
        The folder of the runs.
    """
    target = checked_path(path, (".html",))
    page = findings_page(findings, command=command, store=store)
    with replacing(target) as draft:
        draft.write_text(page, encoding="utf-8")
    return target


def findings_page(findings: Findings, *, command: str, store: str) -> str:
    """The text of the page."""
    here = "advmdp.claims.output"
    data = {
        "summary": f"{summary_line(findings)}. Measured by advmdp {advmdp.__version__} with:",
        "command": command,
        "store": store,
        "look": PALETTES,
        "findings": [_finding(name, found) for name, found in findings.items()],
    }
    return self_contained(
        TITLE,
        data,
        body=package_text(here, "verify.html"),
        style=package_text(ASSETS, "page.css") + package_text(here, "verify.css"),
        script="".join(package_text(ASSETS, name) for name in CHART_SCRIPTS)
        + package_text(here, "verify.js"),
    )


def _finding(name: str, found: Finding) -> dict[str, Any]:
    return {
        **as_data(found),
        "name": name,
        "texts": texts_of(found),
        "styles": styles_in(found),
    }


def styles_in(found: Finding) -> dict[str, Style]:
    """Colours and dashes of a finding's series: UOB-REPS has the first colour."""
    keys = dict.fromkeys(series.key for panel in found.panels for series in panel.series)
    coloured = [key for key in keys if key not in INK_STYLES]
    return {**styles_of(sorted(coloured, key=lambda key: key != UOB_REPS)), **INK_STYLES}
