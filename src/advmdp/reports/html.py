"""The report: one page that holds its data, its style and its script, and asks nobody for more.

The charts are drawn by ``chart.js``, some two hundred lines of our own: a plotting library would
add megabytes to every page, while these charts follow the page's colours, light or dark, and print.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from advmdp.reports.files import checked_path, replacing
from advmdp.reports.pages import panel_data, part, self_contained
from advmdp.reports.panels import FIGURES, rate_panels
from advmdp.reports.rates import families_of
from advmdp.reports.regret_plot import COLOURS
from advmdp.reports.results import FINISHED, Results
from advmdp.reports.sheets import (
    certificate_sheet,
    comparison_sheet,
    overview_sheet,
    rate_sheet,
    reward_sheet,
    summary_sheet,
)
from advmdp.reports.styles import DASHES, styles_of
from advmdp.reports.summary import Cell, cells_of

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
    """Write the report and return where it is.

    Parameters
    ----------
    results
        Runs and curves; only finished runs enter, the others are counted on the page.
    path
        Ends in .html; missing folders are made, an old report is replaced in one step.
    title
        The heading of the page.
    """
    target = checked_path(path, (".html",))
    page = report_page(results, title or TITLE)
    with replacing(target) as draft:
        draft.write_text(page, encoding="utf-8")
    return target


def report_page(results: Results, title: str = TITLE) -> str:
    """The text of the page."""
    here = "advmdp.reports"
    return self_contained(
        title,
        _data(results),
        body=part(here, "page.html"),
        style=part(here, "page.css"),
        script=part(here, "chart.js") + part(here, "page.js"),
    )


def _data(results: Results) -> dict[str, Any]:
    cells = cells_of(results)
    families = families_of(cells)
    family_of = {cell: i for i, family in enumerate(families) for cell in family.cells}
    return {
        "counts": _counts(results, cells),
        "look": {"colours": COLOURS, "dashes": DASHES, "styles": styles_of(results.learners)},
        "overview": asdict(overview_sheet(cells)),
        "cells": [{**_cell(cell), "family": family_of[cell]} for cell in cells],
        "families": [
            {"panels": panel_data(rate_panels(family)), "sheet": asdict(rate_sheet(family))}
            for family in families
        ],
    }


def _cell(cell: Cell) -> dict[str, Any]:
    certificates, rewards = certificate_sheet(cell), reward_sheet(cell)
    return {
        "name": cell.name,
        "panels": {kind: panel_data(make(cell)) for kind, make in FIGURES.items()},
        "sheets": {
            "summary": asdict(summary_sheet(cell)),
            "comparisons": asdict(comparison_sheet(cell)),
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
    told = " Cells with a range of rewards are told in rewards." if has_rewards else ""
    several = "cell" if len(cells) == 1 else "cells"
    return (
        f"{counts[FINISHED]:,} finished runs{left_out} in {len(cells)} {several}: learners that "
        f"met the same MDP, losses and number of episodes T, replicate by replicate.{told}{by}"
    )
