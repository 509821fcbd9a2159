"""The report as one self-contained web page.

The charts are drawn by a few hundred lines of script: a plotting library would add megabytes to
every page, and these charts follow the width and the colours of the page, light or dark, and print.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from advmdp.evaluation.schema import FINISHED
from advmdp.files.atomic import write_atomically
from advmdp.reports.cells import Cell, cells_of
from advmdp.reports.comparisons import usual_baseline
from advmdp.reports.figures.cell_panels import FIGURES, rate_panels
from advmdp.reports.figures.forests import baseline_forest, ranking_forest
from advmdp.reports.figures.line_styles import styles_of
from advmdp.reports.html.self_contained import (
    ASSETS,
    CHART_SCRIPTS,
    PALETTES,
    forest_data,
    package_text,
    panel_data,
    self_contained,
)
from advmdp.reports.learner_names import label_of
from advmdp.reports.output_path import checked_path
from advmdp.reports.rates import families_of
from advmdp.reports.results import Results
from advmdp.reports.settings import Setting, setting_of
from advmdp.reports.tables.cell_tables import (
    certificate_table,
    overview_table,
    rate_table,
    reward_table,
    summary_table,
)
from advmdp.reports.tables.glossary import TERMS

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


def write_report(
    results: Results,
    path: str | os.PathLike[str],
    title: str | None = None,
    baseline: str | None = None,
) -> Path:
    """Write the report and return its path.

    Parameters
    ----------
    results
        Runs and curves; only finished runs are shown, the others are counted on the page.
    path
        Ends in .html; missing folders are created, an old report is replaced in one step.
    title
        The heading of the page.
    baseline
        The label of the learner that all others are compared with, until the reader chooses
        another one; UOB-REPS by default, or else the one with the least regret.
    """
    target = checked_path(path, (".html",))
    page = report_page(results, title or TITLE, baseline)
    write_atomically(target, [page.encode()])
    return target


def report_page(results: Results, title: str = TITLE, baseline: str | None = None) -> str:
    """The text of the page."""
    if baseline is not None:
        baseline = label_of(baseline, results.learners, "baseline")
    scripts = (*CHART_SCRIPTS, "forest.js", "multiples.js", "page.js")
    return self_contained(
        title,
        _data(results, baseline),
        body=package_text(ASSETS, "page.html"),
        style=package_text(ASSETS, "page.css"),
        script="".join(package_text(ASSETS, script) for script in scripts),
    )


def _data(results: Results, baseline: str | None) -> dict[str, Any]:
    cells = _longest_first(cells_of(results))
    families = families_of(cells)
    family_of = {cell: i for i, family in enumerate(families) for cell in family.cells}
    return {
        "counts": _counts(results, cells),
        "look": {
            **PALETTES,
            "styles": styles_of(results.learners),
            "settings": {learner: setting_of(learner).words for learner in results.learners},
            "told": {learner: setting_of(learner).told for learner in results.learners},
            "order": [setting.words for setting in Setting],
        },
        "terms": TERMS,
        "baseline": baseline,
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
        "ranking": forest_data(ranking_forest(cell)),
        "baseline": usual_baseline(cell.groups),
        "comparisons": {
            group.learner: forest_data(baseline_forest(cell, group.learner))
            for group in cell.groups
        },
        "panels": {kind: panel_data(make(cell)) for kind, make in FIGURES.items()},
        "sheets": {
            "summary": asdict(summary_table(cell)),
            "certificates": asdict(certificates) if certificates else None,
            "rewards": asdict(rewards) if rewards else None,
        },
        "runs": cell.all_runs.select(*RUN_FACTS).to_dicts(),
    }


def _longest_first(cells: Sequence[Cell]) -> list[Cell]:
    """The longest runs say the most; cells of one world and its losses stay side by side."""
    longest: dict[tuple[str, str], int] = {}
    for cell in cells:
        world = cell.mdp, cell.losses
        longest[world] = max(cell.n_episodes, longest.get(world, 0))

    def place(cell: Cell) -> tuple[int, str, str, int]:
        return -longest[cell.mdp, cell.losses], cell.mdp, cell.losses, -cell.n_episodes

    return sorted(cells, key=place)


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
