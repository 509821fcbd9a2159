"""Runs in processes of this machine, one thread each."""

from __future__ import annotations

import multiprocessing as mp
import os
import warnings
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path
from typing import Any

from advmdp.errors import AdvMDPError, UnsafeChoice
from advmdp.experiments.engines import worker_process
from advmdp.experiments.engines.interface import DEFAULT_OPTIONS, Engine, EngineOptions
from advmdp.experiments.engines.results import CompletedRun, OnProgress, RunResult, result_of
from advmdp.experiments.own.registry import own_parts
from advmdp.experiments.spec import RunSpec

POLL_SECONDS = 0.1
DIED = "its process died"


class LocalEngine(Engine):
    """A process pool, started with spawn.

    The processes start at once, while the caller is still reading its specs.
    """

    def __init__(self, store: Path, options: EngineOptions = DEFAULT_OPTIONS) -> None:
        super().__init__(store, options)
        self.workers = options.workers or os.cpu_count() or 1
        self.capacity = 2 * self.workers  # some runs wait, so that no worker does
        self._context = mp.get_context("spawn")
        self._runs: dict[Future[CompletedRun], RunSpec] = {}
        self._under_way: set[str] = set()  # runs that a worker has taken up
        self._stopping = False
        self._start_pool()

    @classmethod
    def require(cls) -> None:
        """Available everywhere."""

    def _start_pool(self) -> None:
        # Every pool has its own event and queue: a killed worker may hold the locks of the old.
        self._stop = self._context.Event()
        self._progress: Any = self._context.SimpleQueue()
        if self._stopping:
            self._stop.set()
        self._pool = ProcessPoolExecutor(
            self.workers,
            mp_context=self._context,
            initializer=worker_process.initialise,
            initargs=(self.store, self._stop, self._progress, own_parts()),
        )
        # A worker that dies at once breaks the pool: ``check`` and ``poll`` find out.
        with worker_process.worker_environment(), suppress(BrokenProcessPool):
            for _ in range(self.workers):
                self._pool.submit(worker_process.warm_up)

    def check(self, specs: Sequence[RunSpec]) -> None:
        """In every worker: each has to load the kernels anyway."""
        texts = [spec.to_json() for spec in specs]
        check = worker_process.check_specs
        try:
            checks = [self._pool.submit(check, texts) for _ in range(self.workers)]
            for warning in sorted(set().union(*(future.result() for future in checks))):
                warnings.warn(warning, UnsafeChoice, stacklevel=2)
        except BrokenProcessPool:
            raise AdvMDPError(
                "a worker died while it started; is there enough memory? try fewer --workers",
                field="engine",
            ) from None

    def submit(self, spec: RunSpec) -> None:
        task = (spec.to_json(), self.store, self.options.schedule)
        try:
            with worker_process.worker_environment():
                future = self._pool.submit(worker_process.play_spec, *task)
        except BrokenProcessPool as problem:  # broken since the last poll: the next replaces it
            future = Future()
            future.set_exception(problem)
        self._runs[future] = spec

    def poll(self, on_progress: OnProgress) -> list[RunResult]:
        done, _ = wait(self._runs, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
        while not self._progress.empty():
            run, progress = self._progress.get()
            if progress is None:
                self._under_way.add(run)
            else:
                on_progress(run, progress)
        results = [_result(self._runs.pop(future), future) for future in done]
        lost = [result.spec for result in results if result.lost]
        if lost:
            results = [result for result in results if not result.lost]
            results += self._replace_pool([*lost, *self._runs.values()])
        self._under_way.difference_update(result.spec.id for result in results)
        return results

    def _replace_pool(self, runs: Sequence[RunSpec]) -> list[RunResult]:
        """Start a new pool; runs under way in the broken one are lost, the others wait."""
        for process in list(self._pool._processes.values()):
            process.kill()  # SIGTERM is blocked, and a survivor would play on beside the new pool
            process.join()
        self.close()
        self._start_pool()
        self._runs.clear()
        lost = [spec for spec in runs if spec.id in self._under_way] or runs
        for spec in runs:
            if spec not in lost:
                self.submit(spec)
        return [RunResult(spec, lost=DIED) for spec in lost]

    def stop(self) -> None:
        self._stopping = True
        self._stop.set()
        for future in list(self._runs):
            future.cancel()

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)  # the interpreter waits at its end


def _result(spec: RunSpec, future: Future[CompletedRun]) -> RunResult:
    """How a run ended whose future is done."""
    if future.cancelled():
        return RunResult(spec)
    if isinstance(future.exception(), BrokenProcessPool):
        return RunResult(spec, lost=DIED)
    return result_of(spec, future.result)
