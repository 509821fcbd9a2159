"""Where claims are measured: how much effort, which seed, and a store for the long runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from advmdp.claims.aside import spread
from advmdp.claims.designs import size_of
from advmdp.errors import AdvMDPError
from advmdp.experiments.engines.batch_selection import worth_a_batch
from advmdp.experiments.engines.interface import Engine, EngineOptions
from advmdp.experiments.engines.local import LocalEngine
from advmdp.experiments.runner import Watcher, run_all
from advmdp.experiments.spec import RunSpec
from advmdp.store import Store

if TYPE_CHECKING:
    import polars as pl

MakeEngine = Callable[[Path], Engine]
Item = TypeVar("Item")
Result = TypeVar("Result")


class Incomplete(AdvMDPError):
    """Runs that a claim needs are missing."""


def nothing(message: str) -> None:
    """Say nothing."""


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
    engine: MakeEngine | None = None
    """Where runs are played, given the store's folder; by ``workers`` processes if None."""
    card: MakeEngine | None = None
    """Where runs are played that are many enough for a batch on a GPU; as the others if None."""
    on_card: bool = False
    """Whether a claim that plays runs of its own, beside the store, has them played on a GPU."""

    def rng(self, claim: str) -> np.random.Generator:
        """Random numbers of a claim's own."""
        return np.random.default_rng([self.seed, *claim.encode()])

    def alone(self) -> Lab:
        """For a process of its own: one worker, which says nothing and plays no stored runs."""
        quiet = replace(self, workers=1, watcher=None, say=nothing, engine=None, card=None)
        return replace(quiet, on_card=self.card is not None)

    def spread(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """``function`` of every item, by all workers."""
        return spread(function, items, self.workers)

    def missing(self, specs: Sequence[RunSpec]) -> list[RunSpec]:
        """Those that the store lacks."""
        return [spec for spec in specs if not self.store.is_finished(spec.identity())]

    def prepare(self, specs: Sequence[RunSpec]) -> None:
        """Play what the store lacks, the longest runs first: the last ones end close together."""
        missing = sorted(self.missing(specs), key=size_of, reverse=True)
        batch = worth_a_batch(missing, self.workers) if self.card else []
        single = set(missing) - set(batch)
        if self.card and batch:
            self._run(batch, self.card(self.store.path))
        if single:
            self._run([spec for spec in missing if spec in single], self._engine())

    def play(self, specs: Sequence[RunSpec]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """``runs`` and ``curves`` of these specs, played as far as the store lacks them."""
        import polars as pl

        self.prepare(specs)
        wanted = [spec.id for spec in specs]
        runs = self.store.runs().filter(pl.col("run").is_in(wanted))
        return runs, self.store.curves(wanted)

    def _engine(self) -> Engine:
        if self.engine is not None:
            return self.engine(self.store.path)
        return LocalEngine(self.store.path, EngineOptions(workers=self.workers))

    def _run(self, specs: Sequence[RunSpec], engine: Engine) -> None:
        summary = run_all(specs, self.store, engine, self.watcher)
        if summary.interrupted:
            raise KeyboardInterrupt
        if summary.failures:
            run, reason = next(iter(summary.failures.items()))
            raise Incomplete(f"verify: {run} could not be played: {reason}")
