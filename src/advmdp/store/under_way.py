"""How far unfinished runs are, by their newest checkpoints."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from advmdp.evaluation.schema import FINISHED
from advmdp.store.checkpoints import Checkpoints
from advmdp.store.folder import WORK
from advmdp.store.store import Store


class Position(NamedTuple):
    """Where a run was when its newest checkpoint was written."""

    share: float
    """Of its episodes."""
    seconds_left: float
    """At the rate so far."""


def positions(store: Store, runs: pl.DataFrame) -> dict[str, Position]:
    """The positions of the unfinished runs among ``runs`` that have a checkpoint."""
    found = {}
    unfinished = runs.filter(pl.col("status") != FINISHED)
    for run, run_hash, n_episodes in unfinished.select("run", "hash", "n_episodes").iter_rows():
        saved = Checkpoints(store.path / WORK / run, run_hash).newest()
        if saved is not None and 0 < saved.episodes <= n_episodes:
            left = (n_episodes - saved.episodes) * saved.seconds / saved.episodes
            found[run] = Position(saved.episodes / n_episodes, left)
    return found
