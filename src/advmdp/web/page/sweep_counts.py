"""How far the runs of a store are: counts, shares and times, by cell and learner."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from advmdp.evaluation.schema import CUT, FAILED, FINISHED, RUNNING
from advmdp.reports.units import Units
from advmdp.store.progress.announcement import AnnouncedRun
from advmdp.store.progress.live_store import LiveRun, LiveStore
from advmdp.store.progress.under_way import position

WAITING, STARTING = "waiting", "starting"
"""Runs that a sweep has not begun, and runs that it has taken up and said nothing of yet."""
ORDER = (RUNNING, STARTING, FAILED, CUT, WAITING, FINISHED)
"""In which runs are listed: what is happening, what needs attention, the rest."""


class WatchedRun(NamedTuple):
    """A run of any status, as views show it."""

    name: str
    status: str
    learner: str
    cell: str
    """The key of its cell."""
    n_episodes: int
    seed: int
    replicate: int
    share: float
    """Of its episodes that are played."""
    seconds: float | None
    """Spent on them."""
    left: float | None
    """Seconds, for a run under way."""
    regret: float | None
    reason: str | None
    live: LiveRun | None


class WatchedCell(NamedTuple):
    """Runs that can be compared."""

    key: str
    mdp: str
    losses: str
    n_episodes: int
    units: Units
    runs: list[WatchedRun]

    @property
    def name(self) -> str:
        """The cell in one line, as reports name it."""
        units = f" | {self.units.name}" if self.units.in_rewards else ""
        return f"{self.mdp} | {self.losses} | T = {self.n_episodes:,}{units}"


def watched_cells(store: LiveStore) -> list[WatchedCell]:
    """All runs by cell, the cells in the order of their names."""
    cells: dict[str, WatchedCell] = {}
    units_of: dict[tuple[str, str, int], Units] = {}

    def cell(mdp: str, losses: str, n_episodes: int, units: Units) -> WatchedCell:
        key = _key(mdp, losses, n_episodes, units)
        return cells.setdefault(key, WatchedCell(key, mdp, losses, n_episodes, units, []))

    for live in store.runs:
        manifest = live.manifest
        units = Units(**(manifest["spec"].get("rewards") or {}))
        parts = manifest["mdp"], manifest["losses"], manifest["n_episodes"]
        units_of[parts] = units
        there = cell(*parts, units)
        there.runs.append(_begun(live, there))
    for planned in store.waiting:  # an announcement does not say the units
        parts = planned.mdp, planned.losses, planned.n_episodes
        there = cell(*parts, units_of.get(parts, Units()))
        there.runs.append(_planned(planned, there.key))
    return sorted(cells.values(), key=lambda one: (one.mdp, one.losses, -one.n_episodes))


def tally(runs: Iterable[WatchedRun]) -> dict[str, Any]:
    """Counts by status, the share of the episodes, and the seconds left if they can be told."""
    counts: Counter[str] = Counter()
    episodes = played = 0.0
    for run in runs:
        counts[run.status] += 1
        episodes += run.n_episodes
        played += run.share * run.n_episodes
    ordered = {status: counts[status] for status in ORDER if counts[status]}
    return {"counts": ordered, "share": round(played / episodes, 4) if episodes else 0.0}


def seconds_left(runs: Sequence[WatchedRun]) -> float | None:
    """Until the runs under way and those that wait are played, at the rates so far.

    A run that waits is taken to need what others of its learner needed for an episode, or else what
    all did.  As many runs are played at once as are under way now.
    """
    unplayed = [run for run in runs if run.status in (RUNNING, STARTING, WAITING)]
    if not unplayed:
        return None
    spent: dict[str | None, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for run in runs:
        if run.seconds is not None and run.share > 0.0:
            for key in (run.learner, None):
                spent[key][0] += run.seconds
                spent[key][1] += run.share * run.n_episodes
    if None not in spent:
        return None
    total = longest = 0.0
    for run in unplayed:
        seconds, episodes = spent[run.learner if run.learner in spent else None]
        own = run.left
        if own is None:
            own = seconds / episodes * run.n_episodes
        total += own
        longest = max(longest, own)
    at_once = max(1, sum(run.status == RUNNING for run in unplayed))
    return max(total / at_once, longest)


def _begun(live: LiveRun, cell: WatchedCell) -> WatchedRun:
    manifest, note = live.manifest, live.note
    status, n_episodes = manifest["status"], manifest["n_episodes"]
    share, seconds, left, regret = 0.0, None, None, None
    if status == FINISHED:
        share, seconds = 1.0, manifest["seconds"]
        regret = (manifest["figures"] or {}).get("regret")
    elif note is not None:
        seconds, regret = note.seconds, note.regret
        share, left, *_ = position(note.episodes, note.seconds, n_episodes)
    elif status == RUNNING:
        status = STARTING
    if regret is not None and cell.units.in_rewards:
        regret *= (cell.units.high or 0.0) - (cell.units.low or 0.0)
    return WatchedRun(
        *(manifest["run"], status, manifest["learner"], cell.key, n_episodes),
        *(manifest["seed"], manifest["replicate"], share, seconds),
        *(left if status == RUNNING else None, regret, manifest.get("reason"), live),
    )


def _planned(run: AnnouncedRun, cell: str) -> WatchedRun:
    return WatchedRun(
        *(run.run, WAITING, run.learner, cell, run.n_episodes, run.seed, run.replicate),
        *(0.0, None, None, None, None, None),
    )


def _key(mdp: str, losses: str, n_episodes: int, units: Units) -> str:
    """A short name of the cell for addresses; it does not change when cells are added."""
    text = json.dumps([mdp, losses, n_episodes, units.low, units.high, units.unit])
    return hashlib.sha256(text.encode()).hexdigest()[:12]
