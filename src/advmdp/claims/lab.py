"""The laboratory of the claims: effort, seed, workers, and a store for the long runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from advmdp.batch import card_name
from advmdp.claims.playing.process_pool import map_in_processes
from advmdp.claims.playing.run_grids import workload
from advmdp.errors import AdvMDPError
from advmdp.experiments.engines.batch_selection import worth_a_batch
from advmdp.experiments.engines.interface import Engine, EngineOptions
from advmdp.experiments.engines.local import LocalEngine
from advmdp.experiments.runner import Watcher, run_all
from advmdp.experiments.spec import RunSpec
from advmdp.store import Store

if TYPE_CHECKING:
    import polars as pl

EngineFactory = Callable[[Path], Engine]
Item = TypeVar("Item")
Result = TypeVar("Result")


class MissingRuns(AdvMDPError):
    """Stored runs that a claim needs could not be played."""


def silent(message: str) -> None:
    """Print nothing."""


@dataclass(frozen=True)
class Lab:
    """What a claim is given to measure with.

    ``quick`` asks for minutes of computation; otherwise hours are allowed.  Runs that go through
    ``play`` are kept in the store: they are played once, and an interrupted command continues.
    """

    store: Store
    quick: bool = True
    workers: int = 2
    seed: int = 0
    watcher: Watcher | None = None
    say: Callable[[str], None] = print
    engine: EngineFactory | None = None
    """Plays stored runs, given the store's folder; ``workers`` local processes if None."""
    gpu_engine: EngineFactory | None = None
    """Plays the stored runs that fill a batch on a GPU; ``engine`` plays them if None."""
    on_gpu: bool = False
    """Whether claims play the runs beside the store as batches on a GPU, where they can."""

    def rng(self, claim: str) -> np.random.Generator:
        """The random numbers of a claim: a stream of its own for each seed."""
        return np.random.default_rng([self.seed, *claim.encode()])

    def origin(self, *, on_gpu: bool) -> str:
        """The seed of the runs beside the store, and the GPU that played them if one did.

        A GPU's trajectories differ from a CPU's after some thousand episodes (docs/gpu.md).
        """
        where = f", played on {card_name()}" if on_gpu and self.on_gpu else ""
        return f"seed {self.seed}{where}"

    def for_worker(self) -> Lab:
        """The lab of a worker process: one worker, no output, no engines for stored runs."""
        quiet = replace(self, workers=1, watcher=None, say=silent, engine=None, gpu_engine=None)
        return replace(quiet, on_gpu=self.gpu_engine is not None)

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Apply ``function`` to every item, on all workers."""
        return map_in_processes(function, items, self.workers)

    def missing(self, specs: Sequence[RunSpec]) -> list[RunSpec]:
        """The runs that the store lacks."""
        return [spec for spec in specs if not self.store.is_finished(spec.identity())]

    def prepare(self, specs: Sequence[RunSpec]) -> None:
        """Play the runs that the store lacks, longest first, so that all workers end together."""
        missing = sorted(self.missing(specs), key=workload, reverse=True)
        batch = worth_a_batch(missing, self.workers) if self.gpu_engine else []
        single = set(missing) - set(batch)
        if self.gpu_engine and batch:
            self._run(batch, self.gpu_engine(self.store.path))
        if single:
            self._run([spec for spec in missing if spec in single], self._engine())

    def runs(self, specs: Sequence[RunSpec]) -> pl.DataFrame:
        """The frame ``runs`` of these specs; plays those that the store lacks."""
        import polars as pl

        self.prepare(specs)
        return self.store.runs().filter(pl.col("run").is_in([spec.id for spec in specs]))

    def play(self, specs: Sequence[RunSpec]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The frames ``runs`` and ``curves`` of these specs; plays those that the store lacks."""
        return self.runs(specs), self.store.curves([spec.id for spec in specs])

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
            raise MissingRuns(f"verify: {run} could not be played: {reason}")
