"""The report as one self-contained web page.

The charts are drawn by ``chart.js``, about two hundred lines: a plotting library would add
megabytes to every page, and these charts follow the colours of the page, light or dark, and print.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from advmdp.atomic_files import write_atomically
from advmdp.evaluation.schema import FINISHED
from advmdp.reports.cells import Cell, cells_of
from advmdp.reports.figures.cell_panels import FIGURES, rate_panels
from advmdp.reports.figures.line_styles import COLOURS, DASHES, styles_of
from advmdp.reports.html.self_contained import ASSETS, package_text, panel_data, self_contained
from advmdp.reports.output_path import checked_path
from advmdp.reports.rates import families_of
from advmdp.reports.results import Results
from advmdp.reports.tables.cell_tables import (
    certificate_table,
    comparison_table,
    overview_table,
    rate_table,
    reward_table,
    summary_table,
)

TITLE = "Learning in adversarial MDPs"
RUN_FACTS = (
    "run",
    "status",
    "learner",
    "seed",
    "replicate",
    "version",
    "machine",
    "started",
    "spec",
)


def write_report(results: Results, path: str | os.PathLike[str], title: str | None = None) -> Path:
    """Write the report and return its path.

    Parameters
    ----------
    results
        Runs and curves; only finished runs are shown, the others are counted on the page.
    path
        Ends in .html; missing folders are created, an old report is replaced in one step.
    title
        The heading of the page.
    """
    target = checked_path(path, (".html",))
    page = report_page(results, title or TITLE)
    write_atomically(target, [page.encode()])
    return target


def report_page(results: Results, title: str = TITLE) -> str:
    """The text of the page."""
    return self_contained(
        title,
        _data(results),
        body=package_text(ASSETS, "page.html"),
        style=package_text(ASSETS, "page.css"),
        script=package_text(ASSETS, "chart.js") + package_text(ASSETS, "page.js"),
    )


def _data(results: Results) -> dict[str, Any]:
    cells = cells_of(results)
    families = families_of(cells)
    family_of = {cell: i for i, family in enumerate(families) for cell in family.cells}
    return {
        "counts": _counts(results, cells),
        "look": {"colours": COLOURS, "dashes": DASHES, "styles": styles_of(results.learners)},
        "overview": asdict(overview_table(cells)),
        "cells": [{**_cell(cell), "family": family_of[cell]} for cell in cells],
        "families": [
            {"panels": panel_data(rate_panels(family)), "sheet": asdict(rate_table(family))}
            for family in families
        ],
    }


def _cell(cell: Cell) -> dict[str, Any]:
    certificates, rewards = certificate_table(cell), reward_table(cell)
    return {
        "name": cell.name,
        "panels": {kind: panel_data(make(cell)) for kind, make in FIGURES.items()},
        "sheets": {
            "summary": asdict(summary_table(cell)),
            "comparisons": asdict(comparison_table(cell)),
            "certificates": asdict(certificates) if certificates else None,
            "rewards": asdict(rewards) if rewards else None,
        },
        "runs": cell.all_runs.select(*RUN_FACTS).to_dicts(),
    }


def _counts(results: Results, cells: Sequence[Cell]) -> str:
    counts = results.counts()
    others = [f"{number:,} {status}" for status, number in counts.items() if status != FINISHED]
    left_out = f" ({', '.join(others)}: not in any figure)" if others else ""
    versions = ", ".join(results.finished["version"].drop_nulls().unique().sort().to_list())
    by = f" Played by advmdp {versions}." if versions else ""
    has_rewards = any(cell.units.in_rewards for cell in cells)
    units = " Cells with a range of rewards are in rewards." if has_rewards else ""
    several = "cell" if len(cells) == 1 else "cells"
    return (
        f"{counts[FINISHED]:,} finished runs{left_out} in {len(cells)} {several}: learners that "
        f"met the same MDP, losses and number of episodes T, replicate by replicate.{units}{by}"
    )
