"""The figures of the findings as SVG files in a paper's style."""

from __future__ import annotations

from pathlib import Path

from advmdp.claims.finding import Findings
from advmdp.claims.output.findings_page import styles_in
from advmdp.reports.figures.paper_figure import save_panels
from advmdp.reports.output_path import checked_figure_path


def write_figures(findings: Findings, folder: Path) -> list[Path]:
    """One SVG file for each finding that has panels, named after the claim."""
    return [
        save_panels(found.panels, styles_in(found), checked_figure_path(folder / f"{name}.svg"))
        for name, found in findings.items()
        if found.panels
    ]
