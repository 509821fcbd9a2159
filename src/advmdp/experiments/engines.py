"""Where runs are played: here, or in processes of this machine.

An engine takes specs whose runs the caller has claimed, plays them with ``execute``, and reports
how each ended.  It knows nothing of queues, retries or results on disk; see ``runner``.
"""

from __future__ import annotations

import logging
import multiprocessing as mp
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Future,
    ProcessPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from advmdp.errors import AdvMDPError, StorageFailure
from advmdp.experiments import worker
from advmdp.experiments.build import build
from advmdp.experiments.execute import Played, Saving, Stopped, execute
from advmdp.experiments.spec import RunSpec
from advmdp.play import Progress
from advmdp.store import Store

log = logging.getLogger(__name__)

OnProgress = Callable[[str, Progress], None]
THREADS = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
    *("NUMBA_NUM_THREADS", "POLARS_MAX_THREADS"),
)


class Ended(NamedTuple):
    """How a run ended: with a result, a ``reason`` (the run's own fault), or neither of them.

    With nothing set it was asked to stop, and a checkpoint is written.
    """

    spec: RunSpec
    played: Played | None = None
    reason: str | None = None
    lost: bool = False
    """The process that played it died."""
    storage: StorageFailure | None = None
    """The disk refused a checkpoint."""


class Engine(Protocol):
    """What ``runner`` needs."""

    capacity: int
    """How many runs may be under way or waiting inside the engine."""

    def check(self, specs: Sequence[RunSpec]) -> None:
        """Refuse values that no learner, MDP or loss process can be made of."""

    def submit(self, spec: RunSpec) -> None:
        """Take a run that is not finished and that nobody else plays."""

    def poll(self, on_progress: OnProgress) -> list[Ended]:
        """Wait a moment; the runs that ended meanwhile."""

    def stop(self) -> None:
        """Ask all runs to write a checkpoint and end."""

    def close(self) -> None:
        """Free what the engine holds."""


def ended(spec: RunSpec, result: Callable[[], Played]) -> Ended:
    """Sort out how a run ended."""
    try:
        return Ended(spec, played=result())
    except (Stopped, CancelledError):
        return Ended(spec)
    except StorageFailure as problem:
        return Ended(spec, storage=problem)
    except AdvMDPError as problem:
        return Ended(spec, reason=str(problem))
    except BrokenProcessPool:
        return Ended(spec, lost=True)
    except Exception as problem:  # a bug shows in the log; the other runs go on
        log.exception("%s failed", spec.id)
        return Ended(spec, reason=f"{type(problem).__name__}: {problem}")


class InlineEngine:
    """One run at a time, in this process."""

    capacity = 1

    def __init__(self, store: Path, saving: Saving) -> None:
        self._store, self._saving = store, saving
        self._waiting: list[RunSpec] = []
        self._stop = False

    def check(self, specs: Sequence[RunSpec]) -> None:
        for spec in specs:
            build(spec)

    def submit(self, spec: RunSpec) -> None:
        self._waiting.append(spec)

    def poll(self, on_progress: OnProgress) -> list[Ended]:
        if not self._waiting:
            return []
        spec = self._waiting.pop()
        return [
            ended(
                spec,
                lambda: execute(
                    spec,
                    Store(self._store).checkpoints(spec.identity()),
                    saving=self._saving,
                    progress=lambda progress: on_progress(spec.id, progress),
                    should_stop=lambda: self._stop,
                ),
            )
        ]

    def stop(self) -> None:
        self._stop = True

    def close(self) -> None:
        """Nothing is held."""


@dataclass
class LocalEngine:
    """Processes of this machine, started with spawn, one thread each.

    They start at once, while the caller is still reading its specs.
    """

    store: Path
    workers: int
    saving: Saving

    def __post_init__(self) -> None:
        self.capacity = 2 * self.workers  # some runs wait, so that no worker does
        self._context = mp.get_context("spawn")
        self._runs: dict[Future[Played], RunSpec] = {}
        self._begun: set[str] = set()  # runs that a worker has taken up
        self._stopping = False
        self._start_pool()

    def _start_pool(self) -> None:
        # Every pool has its own: a worker that was killed may have held their locks.
        self._stop = self._context.Event()
        self._progress: Any = self._context.SimpleQueue()
        if self._stopping:
            self._stop.set()
        self._pool = ProcessPoolExecutor(
            self.workers,
            mp_context=self._context,
            initializer=worker.prepare,
            initargs=(self.store, self._stop, self._progress),
        )
        with as_workers_should_start():
            for _ in range(self.workers):
                self._pool.submit(worker.nothing)

    def check(self, specs: Sequence[RunSpec]) -> None:
        """By the workers, who have to load the kernels anyway."""
        texts = [spec.to_json() for spec in specs]
        for future in [self._pool.submit(worker.check, texts) for _ in range(self.workers)]:
            future.result()

    def submit(self, spec: RunSpec) -> None:
        try:
            with as_workers_should_start():
                future = self._pool.submit(worker.task, spec.to_json(), self.store, self.saving)
        except BrokenProcessPool as problem:  # a moment ago: the next poll replaces it
            future = Future()
            future.set_exception(problem)
        self._runs[future] = spec

    def poll(self, on_progress: OnProgress) -> list[Ended]:
        done, _ = wait(self._runs, timeout=0.1, return_when=FIRST_COMPLETED)
        while not self._progress.empty():
            run, progress = self._progress.get()
            if progress is None:
                self._begun.add(run)
            else:
                on_progress(run, progress)
        results = [ended(self._runs.pop(future), future.result) for future in done]
        lost = [result.spec for result in results if result.lost]
        if lost:
            results = [result for result in results if not result.lost]
            results += self._replace_pool([*lost, *self._runs.values()])
        self._begun.difference_update(result.spec.id for result in results)
        return results

    def _replace_pool(self, runs: Sequence[RunSpec]) -> list[Ended]:
        """The pool is broken: runs under way are lost, the others wait for the new one."""
        for process in list(self._pool._processes.values()):
            process.kill()  # they block SIGTERM, and would play on beside the new ones
            process.join()
        self.close()
        self._start_pool()
        self._runs.clear()
        lost = [spec for spec in runs if spec.id in self._begun] or runs
        for spec in runs:
            if spec not in lost:
                self.submit(spec)
        return [Ended(spec, lost=True) for spec in lost]

    def stop(self) -> None:
        self._stopping = True
        self._stop.set()
        for future in list(self._runs):
            future.cancel()

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)  # the interpreter waits at its end


@contextmanager
def as_workers_should_start() -> Iterator[None]:
    """Workers inherit this: one thread each, and Ctrl-C is the parent's business alone."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
