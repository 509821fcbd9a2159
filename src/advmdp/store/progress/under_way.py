"""How far unfinished runs are, by their notes and their newest checkpoints."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from advmdp.evaluation.schema import FINISHED
from advmdp.store.checkpoints import Checkpoints
from advmdp.store.folder import WORK
from advmdp.store.progress.progress_note import read_note
from advmdp.store.store import Store


class RunPosition(NamedTuple):
    """Where a run was when its note, or its newest checkpoint, was written."""

    share: float
    """Of its episodes."""
    seconds_left: float
    """At the rate so far."""
    episodes_per_second: float | None = None
    regret: float | None = None
    """In losses; a checkpoint does not tell it."""


def positions(store: Store, runs: pl.DataFrame) -> dict[str, RunPosition]:
    """The positions of the unfinished runs among ``runs`` that have a note or a checkpoint."""
    found = {}
    unfinished = runs.filter(pl.col("status") != FINISHED)
    for run, run_hash, n_episodes in unfinished.select("run", "hash", "n_episodes").iter_rows():
        folder = store.path / WORK / run
        note = read_note(folder, run_hash)
        reached = note or Checkpoints(folder, run_hash).newest()
        if reached is not None and 0 < reached.episodes <= n_episodes:
            regret = None if note is None else note.regret
            found[run] = position(reached.episodes, reached.seconds, n_episodes, regret)
    return found


def position(
    episodes: int, seconds: float, n_episodes: int, regret: float | None = None
) -> RunPosition:
    """Where a run is that has played some of its episodes, in so many seconds."""
    left = (n_episodes - episodes) * seconds / episodes
    rate = episodes / seconds if seconds else None
    return RunPosition(episodes / n_episodes, left, rate, regret)
