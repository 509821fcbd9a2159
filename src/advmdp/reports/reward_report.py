"""A report of rewards alone: runs in environments, in which nobody knows the best policy."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from advmdp.checks.arguments import instance
from advmdp.errors import InvalidInput
from advmdp.evaluation.reward_run import EnvironmentRun
from advmdp.files.atomic import write_atomically
from advmdp.layout import Floats
from advmdp.reports.figures.line_styles import styles_of
from advmdp.reports.figures.panels import Panel, Series
from advmdp.reports.html.self_contained import (
    ASSETS,
    CHART_SCRIPTS,
    PALETTES,
    package_text,
    panel_data,
    self_contained,
)
from advmdp.reports.output_path import checked_path
from advmdp.reports.statistics import mean_band, mean_interval
from advmdp.reports.tables.table_data import (
    TableData,
    TableEntry,
    TableRow,
    interval_entry,
    number_entry,
)

TITLE = "Rewards in an environment"
POINTS = 200  # of the curve of the mean so far
BLOCKS = (
    25  # of the curve of recent rewards: long enough that rare rewards do not make needles of it
)
NOTE = (
    "Mean reward of an episode, over the whole run and over its second half, with 95% bootstrap "
    "intervals over runs. An environment shows rewards only: the best policy is not known, and "
    "there is no regret."
)
Runs = Mapping[str, EnvironmentRun | Sequence[EnvironmentRun]]


def write_reward_report(runs: Runs, path: str | os.PathLike[str], title: str | None = None) -> Path:
    """Write one HTML page about runs of ``advmdp.gym.play``, which opens offline; returns its path.

    Parameters
    ----------
    runs
        For the label of every learner its runs, or the only one.  All are shown up to the length
        of the shortest.
    path
        Ends in .html; an old report is replaced in one step.
    title
        The heading of the page.
    """
    target = checked_path(path, (".html",))
    write_atomically(target, [reward_page(runs, title or TITLE).encode()])
    return target


def reward_page(runs: Runs, title: str = TITLE) -> str:
    """The text of the page."""
    groups = _checked(runs)
    length = min(len(run.reward) for group in groups.values() for run in group)
    rewards = {
        name: np.array([run.reward[:length] for run in group]) for name, group in groups.items()
    }
    data = {
        "counts": _counts(groups, length),
        "learners": list(groups),
        "look": {
            **PALETTES,
            "styles": styles_of(list(groups)),
            "settings": dict.fromkeys(groups, ""),  # one group: what each is told is not known
            "order": [""],
        },
        "panels": panel_data([_so_far(rewards, length), _recent(rewards, length)]),
        "sheet": asdict(_table(groups, rewards, length)),
    }
    scripts = (*CHART_SCRIPTS, "multiples.js", "rewards.js")
    return self_contained(
        title,
        data,
        body=package_text(ASSETS, "rewards.html"),
        style=package_text(ASSETS, "page.css"),
        script="".join(package_text(ASSETS, name) for name in scripts),
    )


def _checked(runs: Any) -> dict[str, list[EnvironmentRun]]:
    """The runs of every learner, in a list."""
    if not isinstance(runs, Mapping) or not runs:
        raise InvalidInput(
            "give runs by the label of their learner, {'ucbvi': [run, ...]}", field="runs"
        )
    groups = {}
    for name, given in runs.items():
        group = [given] if isinstance(given, EnvironmentRun) else list(given)
        groups[str(name)] = [instance(run, EnvironmentRun, f"runs[{name!r}]") for run in group]
        if not group or not all(len(run.reward) for run in group):
            raise InvalidInput(f"no episode of {name!r} was played; leave it out", field="runs")
    return groups


def _counts(groups: Mapping[str, Sequence[EnvironmentRun]], length: int) -> str:
    every = [run for group in groups.values() for run in group]
    longer = sum(len(run.reward) > length for run in every)
    cut = f" Of {longer} longer runs the first {length:,} are shown." if longer else ""
    clipped = sum(run.clipped for run in every)
    moved = f" {clipped:,} rewards were outside their range and clipped." if clipped else ""
    return f"{len(every)} runs of {len(groups)} learners, {length:,} episodes each.{cut}{moved}"


def _panel(title: str, y_label: str, x: Any, curves: Mapping[str, Floats]) -> Panel:
    series = []
    for name, values in curves.items():
        band = mean_band(values)
        has_band = band.n > 1
        ends = (band.low, band.high) if has_band else (None, None)
        series.append(Series(name, name, np.asarray(x, dtype=np.float64), band.mean, *ends))
    return Panel(title, "episodes", y_label, tuple(series))


def _so_far(rewards: Mapping[str, Floats], length: int) -> Panel:
    points = np.unique(np.linspace(1, length, min(length, POINTS)).astype(np.int64))
    means = {name: np.cumsum(r, axis=1)[:, points - 1] / points for name, r in rewards.items()}
    return _panel("Mean reward so far", "mean reward an episode", points, means)


def _recent(rewards: Mapping[str, Floats], length: int) -> Panel:
    edges = np.unique(np.linspace(0, length, min(length, BLOCKS) + 1).astype(np.int64))
    sizes = np.diff(edges)
    means = {name: np.add.reduceat(r, edges[:-1], axis=1) / sizes for name, r in rewards.items()}
    title = f"Mean reward of {int(sizes.max()):,} episodes"
    return _panel(title, "mean reward an episode", edges[1:], means)


def _table(
    groups: Mapping[str, Sequence[EnvironmentRun]], rewards: Mapping[str, Floats], length: int
) -> TableData:
    rows = []
    for name, group in groups.items():
        whole = mean_interval(rewards[name].mean(axis=1))
        last = mean_interval(rewards[name][:, length // 2 :].mean(axis=1))
        steps = float(np.mean([run.steps[:length].mean() for run in group]))
        speed = float(np.mean([len(run.reward) / max(run.seconds, 1e-9) for run in group]))
        entries = (
            TableEntry(name),
            number_entry(len(group)),
            number_entry(whole.estimate),
            interval_entry(whole, ".3g"),
            number_entry(last.estimate),
            interval_entry(last, ".3g"),
            number_entry(steps),
            number_entry(speed),
        )
        rows.append(TableRow(entries, learners=(name,)))
    columns = (
        *("Learner", "Runs", "Mean reward", "95%", "Second half", "95%"),
        *("Steps an episode", "Episodes a second"),
    )
    return TableData("Rewards", columns, tuple(rows), NOTE)
