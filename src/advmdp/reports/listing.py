"""Runs of a store on a screen: a list of all, a page for one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import polars as pl
from rich import box
from rich.console import RenderableType
from rich.table import Table

STYLES = {"finished": None, "running": "green", "cut": "yellow", "failed": "red"}
SHOWN = 12  # checkpoints of a curve on the page of a run
SHOWN_CURVES = (
    *("episodes", "regret", "expected_loss", "realised_loss", "best_loss"),
    *("epoch", "mean_width"),
)


def runs_table(frame: pl.DataFrame) -> Table:
    """One line per run."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("run", no_wrap=True)
    table.add_column("parameters", overflow="fold")  # of the learner; its name begins the id
    for heading in ("status", "regret", "episodes/s"):
        table.add_column(heading, justify="left" if heading == "status" else "right", no_wrap=True)
    for row in frame.iter_rows(named=True):
        table.add_row(
            row["run"],
            row["learner"].partition(" ")[2],
            row["status"],
            _number(row["regret"]),
            _number(row["episodes_per_second"]),
            style=STYLES[row["status"]],
        )
    counts = frame["status"].value_counts().sort("status").iter_rows()
    table.caption = ", ".join(f"{n:,} {status}" for status, n in counts) or "no runs"
    table.caption_justify = "left"
    return table


def run_page(manifest: dict[str, Any], curves: pl.DataFrame) -> Iterator[RenderableType]:
    """Everything about one run."""
    facts = Table(box=None, show_header=False, pad_edge=False)
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column(overflow="fold")
    for name in ("run", "status", "reason", "learner", "mdp", "losses", "n_episodes", "seed"):
        if manifest.get(name) is not None:
            facts.add_row(name, str(manifest[name]))
    facts.add_row("replicate", str(manifest["replicate"]))
    for name in ("started", "finished", "seconds", "sittings", "hash"):
        if manifest.get(name) is not None:
            facts.add_row(name, str(manifest[name]))
    for name in ("versions", "machine"):
        facts.add_row(name, ", ".join(f"{k} {v}" for k, v in manifest[name].items()))
    solver = (manifest.get("figures") or {}).get("solver")
    if solver:
        facts.add_row("projections", ", ".join(f"{k} {v:.3g}" for k, v in solver.items()))
    yield facts
    if curves.height:
        yield _curve_table(curves)
    yield "spec: " + json.dumps(manifest["spec"], sort_keys=True)


def _curve_table(curves: pl.DataFrame) -> Table:
    columns = [name for name in SHOWN_CURVES if curves[name].null_count() == 0]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(name.replace("_", "\n"), justify="right")
    step = max(1, -(-curves.height // SHOWN))
    for row in curves.select(columns)[::-1][::step][::-1].iter_rows():
        table.add_row(*(_number(value) for value in row))
    return table


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:z,.0f}" if abs(value) >= 100 else f"{value:z.3g}"
