"""The runs of a store on a terminal: a line for each, or a page for one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl
from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from advmdp.display.counted import counted
from advmdp.display.durations import duration
from advmdp.evaluation.schema import RUNNING, Level, reward_columns
from advmdp.experiments.planning import PlannedGroup
from advmdp.plain_text import plain_text
from advmdp.reports.units import Units
from advmdp.store.progress.under_way import RunPosition

SHOWN = 12  # points of a curve on the page of a run


def runs_lines(
    frame: pl.DataFrame, positions: Mapping[str, RunPosition] | None = None
) -> Iterator[str]:
    """A line per run, aligned: plain text, since a store may hold many thousands.

    ``positions`` are those of unfinished runs, by their ids.
    """
    reached = positions or {}
    in_units = frame["reward_unit"].is_not_null().any()  # losses need no unit
    cells = [("run", "status", "regret", "in", "episodes/s", "learner's parameters")]
    for row in frame.iter_rows(named=True):
        now = reached.get(row["run"])
        cells.append(
            (
                row["run"],
                _status(row["status"], now),
                _number(_regret(row, now)),
                row["reward_unit"] or "losses",
                _number(now.episodes_per_second if now else row["episodes_per_second"]),
                row["learner"].partition(" ")[2],  # its name begins the id
            )
        )
    cells = [tuple(map(plain_text, row)) for row in cells]  # type: ignore[misc]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for run, status, regret, unit, rate, parameters in cells:
        line = (
            f"{run:<{widths[0]}}  {status:<{widths[1]}}  {regret:>{widths[2]}}"
            f"{f'  {unit:<{widths[3]}}' if in_units else ''}"
            f"  {rate:>{widths[4]}}  {parameters}"
        )
        yield line.rstrip()
    counts = frame["status"].value_counts().sort("status").iter_rows()
    yield ", ".join(f"{n:,} {status}" for status, n in counts) or "no runs"


def _status(status: str, position: RunPosition | None) -> str:
    """The status, how far an unfinished run is, and how long one that is played will take."""
    if position is None:
        return status
    left = f", {duration(position.seconds_left)} left" if status == RUNNING else ""
    return f"{status} at {position.share:.0%}{left}"


def _regret(row: Mapping[str, Any], now: RunPosition | None) -> float | None:
    """In the units of the run: at its end, or so far."""
    in_rewards = row["reward_unit"] is not None
    at_the_end: float | None = row["reward_regret" if in_rewards else "regret"]
    if now is None or now.regret is None:
        return at_the_end
    span: float = row["reward_high"] - row["reward_low"] if in_rewards else 1.0
    return span * now.regret


def totals_lines(
    frame: pl.DataFrame, positions: Mapping[str, RunPosition] | None = None
) -> Iterator[str]:
    """A line per learner: its runs by status, the episodes played and the time they took.

    ``positions`` are those of unfinished runs, by their ids.
    """
    reached = positions or {}
    by_learner = frame.partition_by("learner", as_dict=True, maintain_order=True)
    for (learner,), runs in sorted(by_learner.items()):
        yield plain_text(f"{learner}: {_totals(runs, reached)}")
    yield f"all: {_totals(frame, reached)}" if len(frame) else "no runs"


def _totals(runs: pl.DataFrame, reached: Mapping[str, RunPosition]) -> str:
    counts = runs["status"].value_counts().sort("status").iter_rows()
    listed = ", ".join(f"{n:,} {status}" for status, n in counts)
    played, seconds = int(runs["episodes"].sum()), float(runs["seconds"].sum())
    for run, n_episodes in runs.select("run", "n_episodes").iter_rows():
        now = reached.get(run)
        if now is not None:
            episodes = round(now.share * n_episodes)
            played += episodes
            seconds += episodes / now.episodes_per_second if now.episodes_per_second else 0.0
    wanted = int(runs["n_episodes"].sum())
    sums = f"{played:,} episodes"
    if played < wanted:
        sums = f"{played:,} of {wanted:,} episodes ({played / wanted:.0%})"
    return f"{listed}; {sums} in {duration(seconds)}"


def plan_lines(groups: Sequence[PlannedGroup], workers: int) -> Iterator[str]:
    """A line per group of a plan, and the sums."""
    for group in groups:
        where = f"{group.learner} | {group.mdp} | {group.losses} | T = {group.n_episodes:,}"
        yield plain_text(f"{group.left:,} of {group.runs:,} to play: {where}")
    left, runs = sum(g.left for g in groups), sum(g.runs for g in groups)
    episodes = sum(g.left * g.n_episodes for g in groups)
    yield f"{left:,} of {runs:,} runs to play, {episodes:,} episodes"
    known = [g for g in groups if g.left and g.seconds is not None]
    unknown = sum(g.left for g in groups if g.left and g.seconds is None)
    if known:
        seconds = sum(g.seconds or 0.0 for g in known) / workers
        cores = f"{workers} core{'s' if workers > 1 else ''}"
        bases = " and ".join(dict.fromkeys(g.basis or "" for g in known))
        yield f"about {duration(seconds)} on {cores}, by {bases}"
    if unknown:
        told = counted(unknown, "run")
        yield f"{told} without an estimate; --measure plays a moment of each kind"


def run_page(manifest: dict[str, Any], curves: pl.DataFrame) -> Iterator[RenderableType]:
    """Everything about one run."""
    facts = Table(box=None, show_header=False, pad_edge=False)
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column(overflow="fold")
    for name in ("run", "status", "reason", "learner", "mdp", "losses", "n_episodes", "seed"):
        if manifest.get(name) is not None:
            facts.add_row(name, _text(manifest[name]))
    facts.add_row("replicate", str(manifest["replicate"]))
    units = Units(**(manifest["spec"].get("rewards") or {}))
    if units.in_rewards:
        facts.add_row("told in", _text(f"{units.name} a step"))
    for name in ("started", "finished", "seconds", "sittings", "hash"):
        if manifest.get(name) is not None:
            facts.add_row(name, _text(manifest[name]))
    for name in ("versions", "machine"):
        facts.add_row(name, _text(", ".join(f"{k} {v}" for k, v in manifest[name].items())))
    solver = (manifest.get("figures") or {}).get("solver")
    if solver:
        facts.add_row("projections", _text(", ".join(f"{k} {v:.3g}" for k, v in solver.items())))
    yield facts
    if curves.height:
        yield _curve_table(curves, units)
    yield _text("spec: " + json.dumps(manifest["spec"], sort_keys=True))


def _text(value: object) -> Text:
    """A value of a manifest: neither markup nor commands for the terminal."""
    return Text(plain_text(str(value)))


def _curve_table(curves: pl.DataFrame, units: Units) -> Table:
    pairs = reward_columns(Level.POINT)
    totals = [(reward if units.in_rewards else loss).name for reward, loss in pairs]
    wanted = ("episodes", *totals, "regret_bound", "epoch", "mean_width")
    there = [name for name in wanted if name in curves.columns]  # older runs lack the newest
    columns = [name for name in there if curves[name].null_count() == 0]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(name.removeprefix("reward_").replace("_", "\n"), justify="right")
    step = max(1, -(-curves.height // SHOWN))
    for row in curves.select(columns)[::-1][::step][::-1].iter_rows(named=True):
        told = {total: units.without_rounding(row[total]) for total in totals if total in row}
        table.add_row(*(_number(value) for value in {**row, **told}.values()))
    return table


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:z,.0f}" if abs(value) >= 100 else f"{value:z.3g}"
