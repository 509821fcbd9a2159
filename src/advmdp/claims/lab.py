"""Where claims are measured: how much effort, which seed, and a store for the long runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from advmdp.errors import AdvMDPError
from advmdp.experiments.engines import LocalEngine
from advmdp.experiments.execute import Saving
from advmdp.experiments.runner import Watcher, run_all
from advmdp.experiments.spec import RunSpec
from advmdp.store import Store

if TYPE_CHECKING:
    import polars as pl


class Incomplete(AdvMDPError):
    """Runs that a claim needs are missing."""


@dataclass(frozen=True)
class Lab:
    """What a claim is given.

    ``quick`` asks for minutes, otherwise hours are fine.  Runs that go through ``play`` are kept in
    the store: they are not played again, and survive an interruption.
    """

    store: Store
    quick: bool = True
    workers: int = 2
    seed: int = 0
    watcher: Watcher | None = None
    say: Callable[[str], None] = print

    def rng(self, claim: str) -> np.random.Generator:
        """Random numbers of a claim's own."""
        return np.random.default_rng([self.seed, *claim.encode()])

    def play(self, specs: Sequence[RunSpec]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """``runs`` and ``curves`` of these specs, played as far as the store lacks them."""
        missing = [spec for spec in specs if not self.store.is_finished(spec.identity())]
        if missing:
            engine = LocalEngine(self.store.path, self.workers, Saving())
            summary = run_all(missing, self.store, engine, self.watcher)
            if summary.interrupted:
                raise KeyboardInterrupt
            if summary.failures:
                run, reason = next(iter(summary.failures.items()))
                raise Incomplete(f"verify: {run} could not be played: {reason}")
        wanted = [spec.id for spec in specs]
        import polars as pl

        runs = self.store.runs().filter(pl.col("run").is_in(wanted))
        return runs, self.store.curves(wanted)
