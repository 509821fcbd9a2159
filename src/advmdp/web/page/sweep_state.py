"""The state of a store's view: counts, runs, and the curves of one cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from advmdp.evaluation.schema import FINISHED, RUNNING
from advmdp.reports.figures.line_styles import styles_of
from advmdp.reports.html.self_contained import PALETTES
from advmdp.reports.settings import setting_of
from advmdp.reports.statistics import mean_interval
from advmdp.store.progress.live_store import LiveStore
from advmdp.web.page.states import State
from advmdp.web.page.sweep_counts import (
    ORDER,
    WatchedCell,
    WatchedRun,
    seconds_left,
    tally,
    watched_cells,
)
from advmdp.web.page.sweep_panels import FAINT, SeriesCache, cell_panels

MOST_RUNS, MOST_CELLS = 300, 200  # that are listed
LONGEST_TEXT = 600  # signs of a reason


def store_summary(store: LiveStore, cells: Sequence[WatchedCell]) -> dict[str, Any]:
    """A store at a glance."""
    runs = [run for cell in cells for run in cell.runs]
    return {
        "path": str(store.path),
        "name": store.path.resolve().name or str(store.path),
        "problem": store.problem,
        "unread": store.unread,
        "damaged": [_cut(text) for text in list(store.damaged.values())[:5]],
        "n_damaged": len(store.damaged),
        "n_runs": len(runs),
        "n_cells": len(cells),
        "left": _seconds(seconds_left(runs)),
        **tally(runs),
    }


def store_state(store: LiveStore, wanted: str, cache: SeriesCache | None = None) -> State:
    """Everything that the view of a store shows; ``wanted`` is the key of a cell or ``-``."""
    cells = watched_cells(store)
    state: State = {
        "summary": {"store": store_summary(store, cells)},
        "cells": {},
        "runs": {},
        "learners": {},
        "panels": {},
    }
    for place, cell in enumerate(cells[:MOST_CELLS]):
        state["cells"][cell.key] = {"name": cell.name, "place": place, **tally(cell.runs)}
    chosen = _chosen(cells, wanted)
    if chosen is None:
        return state
    learners = sorted({run.learner for run in chosen.runs})
    state["summary"]["cell"] = {
        "key": chosen.key,
        "mdp": chosen.mdp,
        "losses": chosen.losses,
        "n_episodes": chosen.n_episodes,
        "units": chosen.units.name,
        "n_runs": len(chosen.runs),
    }
    state["summary"]["look"] = look_of(learners)
    for place, learner in enumerate(learners):
        runs = [run for run in chosen.runs if run.learner == learner]
        state["learners"][learner] = {"place": place, **_learner(runs)}
    for place, run in enumerate(sorted(chosen.runs, key=_rank)[:MOST_RUNS]):
        state["runs"][run.name] = {"place": place, **_row(run)}
    state["panels"] = cell_panels(chosen, cache or SeriesCache())
    return state


def look_of(learners: Sequence[str]) -> dict[str, Any]:
    """Colours and line styles, as ``chart.js`` expects them; single runs are thin and grey."""
    styles = styles_of(list(learners))
    thin = {FAINT + name: styles[name] for name in learners}
    return {**PALETTES, "styles": {**styles, **thin}, "thin": list(thin)}


def _chosen(cells: Sequence[WatchedCell], wanted: str) -> WatchedCell | None:
    """The cell with this key, or the one with the most runs under way, or the first."""
    for cell in cells:
        if cell.key == wanted:
            return cell

    def liveliness(cell: WatchedCell) -> int:
        return sum(run.status == RUNNING for run in cell.runs)

    return max(cells, key=liveliness, default=None)


def _learner(runs: Sequence[WatchedRun]) -> dict[str, Any]:
    regrets = [run.regret for run in runs if run.status == FINISHED and run.regret is not None]
    interval = mean_interval(regrets) if regrets else None
    spent = [(run.seconds, run.share * run.n_episodes) for run in runs if run.seconds]
    return {
        "setting": setting_of(runs[0].learner).words,
        "regret": None if interval is None else [_number(value) for value in interval[:3]],
        "rate": _number(sum(e for _, e in spent) / sum(s for s, _ in spent)) if spent else None,
        "left": _seconds(seconds_left(runs)),
        **tally(runs),
    }


def _row(run: WatchedRun) -> dict[str, Any]:
    rate = run.share * run.n_episodes / run.seconds if run.seconds else None
    return {
        "status": run.status,
        "learner": run.learner,
        "seed": run.seed,
        "replicate": run.replicate,
        "share": round(run.share, 4),
        "left": _seconds(run.left),
        "regret": _number(run.regret),
        "rate": _number(rate),
        "reason": None if run.reason is None else _cut(run.reason),
    }


def _rank(run: WatchedRun) -> tuple[Any, ...]:
    return ORDER.index(run.status), run.learner, run.seed, run.replicate, run.name


def _number(value: float | None) -> float | None:
    """Four digits, which is what a page shows; None for what is not a number."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.4g}")


def _seconds(value: float | None) -> int | None:
    return None if value is None or not math.isfinite(value) else round(value)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"
